"""What a run is: one dataclass, written to the run's folder as JSON."""

import json
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax.numpy as jnp

from afk.agents.agent import Size
from afk.agents.notebook import NoteTaking, Similarity
from afk.agents.variants import find_variant
from afk.checks import check_counts, check_shares
from afk.envs.base import Environment
from afk.envs.qtextworld.tasks import Task as TextTask
from afk.envs.registry import find_task, make_roomy, task_named
from afk.learn import dqn, ppo
from afk.learn.ppo import Pace
from afk.learn.replay import check_capacity
from afk.learn.rollout import Play

FINAL = 10  # evaluations that the paper's final metric is the mean of


@dataclass(frozen=True)
class Config:
    """A run.

    Attributes:
        tasks: what is trained on, in equal shares; one that is named twice has two. Names, though letters may
            be given.
        agent: the variant that is trained.
        seeds: what everything random is drawn from, once for each; they are trained side by side.
        steps: environment steps to train for, with each seed.
        n_gram: 1 or 2, which n-grams relate two notes.
        alpha: how similar notes must be to be related.
        size: the network.
        settings: of the algorithm that trains it, which they decide: PPO, or DQN with the paper's network for
            text.
        levels: levels in the pool of each seed.
        scattered: the share of training levels where the agent starts elsewhere; see `scatter`.
        told: the share of training levels that begin with some answers known; see `tell_some`.
        misled: the share of training levels with locks that begin with a wrong key in hand; see `mislead`.
        cluttered: the share of training levels without danger that have tiles; see `clutter`.
        chunk: updates between two looks at the run: fresh levels, a line in the log.
        evaluate_every: updates between two evaluations; a multiple of `chunk`. The last ones, which the final
            metric is the mean of, come at the end of training, after every chunk.
        evaluation_episodes: episodes of each.
        first: the digest of the agent that training begins with; empty if with a new one.
    """

    tasks: tuple[str, ...]
    agent: str = "afk"
    seeds: tuple[int, ...] = (24,)
    steps: int = 20_000_000
    n_gram: int = 2
    alpha: float = 0.01
    size: Size = field(default_factory=Size)
    settings: ppo.Settings | dqn.Settings = field(default_factory=ppo.Settings)
    levels: int = 4096
    scattered: float = 0.0
    told: float = 0.0
    misled: float = 0.0
    cluttered: float = 0.0
    chunk: int = 50
    evaluate_every: int = 50
    evaluation_episodes: int = 500
    first: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "tasks", tuple(map(task_named, self.tasks)))
        _make_play(make_roomy(*self.tasks), self.agent, Similarity(self.n_gram, self.alpha))
        different = len(set(self.seeds)) == len(self.seeds) > 0
        if not different or not all(0 <= seed < 2**32 for seed in self.seeds):
            raise ValueError(f"seeds are different numbers from 0 to below 2**32, not {self.seeds}")
        check_counts(self, "steps", "levels", "chunk", "evaluate_every", "evaluation_episodes")
        check_shares(self, "scattered", "told", "misled", "cluttered")
        if self.evaluation_episodes < len(self.tasks):
            raise ValueError(f"evaluation_episodes is at least {len(self.tasks)}, one a task")
        if self.evaluate_every % self.chunk:
            raise ValueError(
                f"evaluate_every ({self.evaluate_every}) must be a multiple of chunk ({self.chunk})"
            )
        for task in map(find_task, self.tasks):
            if (self.misled or self.cluttered) and isinstance(task, TextTask):
                raise ValueError(f"misled and cluttered are for tasks of Q-BabyAI, not for {task.name}")
            if isinstance(self.settings, ppo.Settings):
                if task.max_steps < self.settings.bptt:
                    raise ValueError(f"episodes of {task.name} are shorter than bptt ({self.settings.bptt})")
                continue
            if not isinstance(task, TextTask):
                raise ValueError(f"DQN trains on tasks of Q-TextWorld only, not on {task.name}")
            check_capacity(self.settings.capacity, self.settings.environments, task.max_steps)

    @property
    def updates(self) -> int:
        """Updates until the steps are done, in whole chunks."""
        chunks = -(-self.steps // (self.settings.steps_per_update * self.chunk))
        return chunks * self.chunk

    @property
    def play(self) -> Play:
        """The fixed part of its loops."""
        return _make_play(make_roomy(*self.tasks), self.agent, Similarity(self.n_gram, self.alpha))

    def is_evaluated(self, updates: int) -> bool:
        """Whether there is an evaluation after so many updates."""
        return updates % self.evaluate_every == 0 or updates > self.updates - FINAL * self.chunk

    def pace_at(self, updates: int) -> Pace:
        """What changes as training goes on, after so many updates; no bonus for an agent that gets none."""

        def share(until: float) -> float:
            """1 until a part of training is over, then less and less, 0 in the end."""
            past = (updates / self.updates - until) / max(1e-9, 1 - until)
            return 1 - min(1.0, max(0.0, past))

        settings = self.settings
        bonus = settings.bonus * share(settings.bonus_until) if find_variant(self.agent).bonus else 0.0
        is_ppo = isinstance(settings, ppo.Settings)
        weights = (settings.entropy_weight, settings.switch_entropy_weight) if is_ppo else (0.0, 0.0)
        settled = (each * share(settings.settle_after) for each in (settings.learning_rate, *weights))
        return Pace(*map(jnp.float32, (bonus, *settled)))

    def to_json(self) -> dict[str, Any]:
        """The run as plain JSON."""
        algorithm = next(name for name, kind in ALGORITHMS.items() if isinstance(self.settings, kind))
        return asdict(self) | {"settings": {"algorithm": algorithm, **asdict(self.settings)}}

    @staticmethod
    def from_json(content: dict[str, Any]) -> "Config":
        """The run that `to_json` wrote, now or before there was DQN or what is in `ADDED_LATER`.

        A ValueError if it is not one.
        """
        try:
            settings = {"algorithm": "ppo", **content["settings"]}
            parts: dict[str, Any] = {
                "tasks": tuple(content["tasks"]),
                "seeds": tuple(content["seeds"]),
                "size": Size(**content["size"]),
                "settings": ALGORITHMS[settings.pop("algorithm")](**settings),
            }
            return Config(**(content | parts))
        except (KeyError, TypeError) as error:
            raise ValueError(f"this is not the configuration of a run: {error}") from error


# What a run has where nobody says, in plain numbers.
DEFAULTS = {each.name: each.default for each in fields(Config) if each.default is not MISSING}
# Fields that older runs and records lack, and what they stand for there.
ADDED_LATER = {name: DEFAULTS[name] for name in ("misled", "cluttered")}
# The settings of every algorithm, by its name.
ALGORITHMS: dict[str, type[ppo.Settings] | type[dqn.Settings]] = {"ppo": ppo.Settings, "dqn": dqn.Settings}


@lru_cache(maxsize=32)
def _make_play(env: Environment[Any], agent: str, similarity: Similarity) -> Play:
    """The environment, the agent's equipment, and how notes are taken."""
    rules = NoteTaking(
        env.vocabulary,
        dropped=env.glue,
        unknown=env.no_answer,
        breaks=env.breaks,
        clauses=env.clauses,
        similarity=similarity,
        words=env.sentence_length,
    )
    return Play(env, find_variant(agent), rules)


def places_by_name(content: dict[str, Any], prefix: str = "") -> dict[str, tuple[dict[str, Any], str]]:
    """Where the values of a run stand, an object and a key each, by names such as ``settings.bonus``."""
    found: dict[str, tuple[dict[str, Any], str]] = {}
    for key, value in content.items():
        inner = isinstance(value, dict)
        found |= places_by_name(value, f"{prefix}{key}.") if inner else {prefix + key: (content, key)}
    return found


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """What two runs, as JSON, both have and do not share: both values by names such as ``size.width``."""
    here, there = (
        {name: part[key] for name, (part, key) in places_by_name(each).items()} for each in (ours, theirs)
    )
    pairs = {name: (value, there[name]) for name, value in here.items() if name in there}
    # As JSON, since a file has lists where a run has tuples.
    return {name: pair for name, pair in pairs.items() if json.dumps(pair[0]) != json.dumps(pair[1])}


def first_difference(ours: dict[str, Any], theirs: dict[str, Any], *, but: str = "") -> str:
    """The first of `differences` in words, ``steps is 5, not 4``, but for a name; empty if there is none."""
    found = ((name, pair) for name, pair in differences(ours, theirs).items() if name != but)
    return next((f"{name} is {theirs}, not {ours}" for name, (ours, theirs) in found), "")


def change(config: Config, changes: Mapping[str, Any]) -> Config:
    """A run with other numbers; a ValueError that names the first that it does not have, or cannot have.

    Args:
        config: the run.
        changes: values by name, as in the file of a run: ``scattered``, ``settings.bonus``, ``size.width``.
    """
    content = config.to_json()
    places = places_by_name(content)
    held = {name: (part, key) for name, (part, key) in places.items() if isinstance(part[key], int | float)}
    for name, value in changes.items():
        if name not in held:
            near = get_close_matches(name, held, n=1, cutoff=0.4)
            hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(held)}"
            raise ValueError(f"a run has no number {name!r}; {hint}")
        part, key = held[name]
        kind = type(part[key])
        if isinstance(value, bool) != (kind is bool) or not isinstance(value, kind | int):
            raise ValueError(f"{name} is like {json.dumps(part[key])}, not {json.dumps(value)}")
        part[key] = kind(value)
    return Config.from_json(content)


def read_config(folder: Path) -> Config:
    """The configuration of a run's folder; a ValueError if there is none or it cannot be read."""
    path = folder / "config.json"
    if not path.is_file():
        raise ValueError(f"{folder} is not the folder of a run: it has no config.json")
    try:
        return Config.from_json(json.loads(path.read_text()))
    except ValueError as error:  # what JSON cannot read is one, too
        raise ValueError(f"{path} cannot be read: {error}") from error
