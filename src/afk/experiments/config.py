"""What a run is: one dataclass, written to the run's folder as JSON, and presets of it."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax.numpy as jnp

from afk.agents.agent import Size
from afk.agents.notebook import NoteTaking, Similarity
from afk.agents.variants import find_variant
from afk.envs.base import Environment
from afk.envs.qtextworld.tasks import Task as TextTask
from afk.envs.registry import find_task, make
from afk.learn import dqn, ppo
from afk.learn.ppo import Pace
from afk.learn.replay import check_capacity
from afk.learn.rollout import Play

FINAL = 10  # evaluations that the paper's final metric is the mean of


@dataclass(frozen=True)
class Config:
    """A run.

    Attributes:
        tasks: what is trained on, in equal shares; one that is named twice has two.
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
        chunk: updates between two looks at the run: fresh levels, a line in the log, a checkpoint.
        evaluate_every: updates between two evaluations; a multiple of `chunk`. The last ones, which the final
            metric is the mean of, come at the end of training, after every chunk.
        evaluation_episodes: episodes of each.
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
    chunk: int = 50
    evaluate_every: int = 50
    evaluation_episodes: int = 500

    def __post_init__(self) -> None:
        _make_play(make(*self.tasks), self.agent, Similarity(self.n_gram, self.alpha))
        different = len(set(self.seeds)) == len(self.seeds) > 0
        if not different or not all(0 <= seed < 2**32 for seed in self.seeds):
            raise ValueError(f"seeds are different numbers from 0 to below 2**32, not {self.seeds}")
        for name in ("steps", "levels", "chunk", "evaluate_every", "evaluation_episodes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is at least 1, not {getattr(self, name)}")
        for name in ("scattered", "told"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is a share from 0 to 1, not {getattr(self, name)}")
        if self.evaluate_every % self.chunk:
            raise ValueError(
                f"evaluate_every ({self.evaluate_every}) must be a multiple of chunk ({self.chunk})"
            )
        for task in map(find_task, self.tasks):
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
        return _make_play(make(*self.tasks), self.agent, Similarity(self.n_gram, self.alpha))

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
        return Pace(jnp.float32(bonus), jnp.float32(share(settings.settle_after)))

    def to_json(self) -> dict[str, Any]:
        """The run as plain JSON."""
        algorithm = next(name for name, kind in ALGORITHMS.items() if isinstance(self.settings, kind))
        return asdict(self) | {"settings": {"algorithm": algorithm, **asdict(self.settings)}}

    @staticmethod
    def from_json(content: dict[str, Any]) -> "Config":
        """The run that `to_json` wrote, now or before there was DQN; a ValueError if it is not one."""
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


# The settings of every algorithm, by its name.
ALGORITHMS: dict[str, type[ppo.Settings] | type[dqn.Settings]] = {"ppo": ppo.Settings, "dqn": dqn.Settings}
# What makes learning an order of magnitude faster than with the published settings; see docs/decisions.md.
_OURS: dict[str, Any] = {
    "discount": 0.95,
    "clip_value": False,
    "settle_after": 0.6,
    "reward_scale": 20.0,
}
# Half of the training levels begin elsewhere, and half with some answers known.
_SPREAD: dict[str, Any] = {"scattered": 0.5, "told": 0.5}
_TEXT_SIZE = Size(width=64, head=64, instruction_words=28, notes=8, note_words=6, distinct_notes=0)
# Sizes and settings by name: as published, what fills a GPU, and what two cores can train. The authors train
# with rewards times 20, and relate notes by single words in these tasks, by pairs of words elsewhere.
PRESETS: dict[str, dict[str, Any]] = {
    "paper": {"settings": ppo.Settings(reward_scale=20.0)},
    "fast": {
        "steps": 5_000_000,
        "settings": ppo.Settings(
            environments=512,
            minibatches=8,
            epochs=2,
            learning_rate=3e-4,
            advantage_floor=1.0,
            bonus=0.05,
            bonus_until=0.6,
            half_precision=True,
            **_OURS,
        ),
        "chunk": 5,
        "evaluate_every": 20,
    },
    "laptop": {
        "steps": 800_000,
        "size": Size(
            width=32, head=32, view_layers=1, film_blocks=2, kernel=1, places=True, notes=8, distinct_notes=0
        ),
        "settings": ppo.Settings(
            environments=64,
            minibatches=8,
            epochs=3,
            learning_rate=1e-3,
            advantage_floor=0.3,
            entropy_weight=0.02,
            switch_entropy_weight=0.02,
            bonus=0.03,
            bonus_until=0.5,
            **_OURS,
        ),
        "levels": 4096,
        "chunk": 10,
        "evaluate_every": 10,
        "evaluation_episodes": 200,
    },
}
# The same for the improved agent: a network that looks at cells one by one, and many more episodes at once.
PLUS_PRESETS: dict[str, dict[str, Any]] = {
    "fast": PRESETS["fast"]
    | _SPREAD
    | {
        "steps": 20_000_000,
        "size": Size(kernel=1, notes=12, distinct_notes=0),
        "settings": replace(
            PRESETS["fast"]["settings"], epochs=3, learning_rate=5e-4, discount=0.97, bonus_until=0.5
        ),
        "chunk": 10,
    },
    "laptop": PRESETS["laptop"] | _SPREAD,
}
_EPISODES_A_TASK = 128  # played at once by the improved agent where it learns many tasks
# The same for Q-TextWorld. The paper trains for 500,000 episodes of at most 20 steps. Its tasks have some 800
# different notes, and A_0 hardly ever holds more than a dozen.
_PAPER_TEXT: dict[str, Any] = {
    "steps": 10_000_000,
    "size": Size(
        head=128, view_layers=4, kernel=7, instruction_words=28, notes=16, note_words=12, distinct_notes=1024
    ),
    "settings": dqn.Settings(),
    "levels": 16_384,
    "chunk": 5_000,
    "evaluate_every": 5_000,
}
TEXT_PRESETS: dict[str, dict[str, Any]] = {
    "paper": _PAPER_TEXT,
    # As many samples a step, but enough at once to fill a GPU.
    "paper-wide": _PAPER_TEXT
    | {
        "settings": dqn.Settings(environments=640, batch=512, half_precision=True),
        "chunk": 160,
        "evaluate_every": 160,
    },
    "fast": {
        "steps": 5_000_000,
        "size": _TEXT_SIZE,
        "settings": ppo.Settings(
            environments=256,
            steps=20,
            minibatches=8,
            epochs=3,
            learning_rate=1e-3,
            advantage_floor=1.0,
            bonus=0.0,
            **_OURS,
        ),
        **_SPREAD,
        "chunk": 10,
        "evaluate_every": 20,
    },
    "laptop": {
        "steps": 1_000_000,
        "size": replace(_TEXT_SIZE, width=32, head=32),
        "settings": ppo.Settings(
            environments=128,
            steps=20,
            minibatches=8,
            epochs=3,
            learning_rate=1e-3,
            advantage_floor=1.0,
            bonus=0.0,
            **_OURS,
        ),
        "levels": 2048,
        **_SPREAD,
        "chunk": 10,
        "evaluate_every": 10,
        "evaluation_episodes": 200,
    },
}
UNI_GRAM_TASKS = (
    "qbabyai/open-door",
    "qbabyai/danger+open-door",
    "qbabyai/object-in-box+danger+open-door",
)
# Where the target is many rooms away, and the published agent, too, trains from elsewhere. Where it is near
# that agent learns not to ask: what it gains where the answer is known, or the goal in sight, is too much.
WIDE_TASKS = ("qbabyai/go-to-favorite",)
# Where A_0 has no more than a few notes: reading room for twenty would take a fifth of the time.
SHORT_TASKS = tuple(f"qbabyai/{name}" for name in ("object-in-box", "danger", "go-to-favorite", "open-door"))


def preset(name: str, tasks: Sequence[str], **changes: Any) -> Config:
    """A preset for some tasks with some fields changed; a ValueError if there is none of that name."""
    is_text = any(isinstance(find_task(task), TextTask) for task in tasks)
    is_plus = find_variant(changes.get("agent", Config.agent)).plus
    presets = TEXT_PRESETS if is_text else PLUS_PRESETS if is_plus else PRESETS
    if name not in presets:
        raise ValueError(f"unknown preset {name!r}; it is one of {', '.join(presets)}")
    # Pairs of words relate every good answer to the instruction; the authors use single ones in some tasks.
    is_single = is_text or (not is_plus and set(tasks) & set(UNI_GRAM_TASKS))
    fields: dict[str, Any] = {"n_gram": 1 if is_single else 2}
    if name != "paper" and set(tasks) & set(WIDE_TASKS):
        fields["scattered"] = 0.5
    fields |= presets[name]
    if name == "fast" and set(tasks) <= set(SHORT_TASKS) and not is_plus:
        fields["size"] = Size(notes=8)
    if name == "fast" and is_plus:
        episodes = max(fields["settings"].environments, _EPISODES_A_TASK * len(tasks))
        fields["settings"] = replace(fields["settings"], environments=episodes)
        fields["levels"] = 8 * episodes
    return Config(tuple(tasks), **(fields | changes))


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


def read_config(folder: Path) -> Config:
    """The configuration of a run's folder; a ValueError if there is none or it cannot be read."""
    path = folder / "config.json"
    if not path.is_file():
        raise ValueError(f"{folder} is not the folder of a run: it has no config.json")
    try:
        return Config.from_json(json.loads(path.read_text()))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
