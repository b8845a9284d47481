"""What a run is: one frozen dataclass of plain values, written to the run's folder as JSON.

A configuration is data: to read, compare or name one builds no world. What it describes is built by
`afk.training.build`.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from afk.agents.base import Size
from afk.agents.notebook import Similarity
from afk.agents.variants import find_variant
from afk.checks import check_counts, check_shares, check_types
from afk.envs.registry import WORLDS, find_task, task_named, world_of
from afk.files import read_object
from afk.knowledge.catalogue import ORACLE, find_source
from afk.knowledge.traits import SourceSpec, read_specs
from afk.learning import ppo
from afk.learning.algorithm import algorithm_of, find_algorithm
from afk.training.legacy import upgrade

FINAL = 10  # evaluations that the paper's final metric is the mean of
# What a run is called and how often it is repeated, which does not make it another run.
LABELS = ("preset", "seeds", "held_out")
# Values that were added later, with what runs from before had: at that value they make no other run of it.
ADDED_LATER = {
    "clauses": 2,
    "keep_last_answer": False,
    "sources": [],
    "source": ORACLE,
    "settings.bootstrap_time_limit": True,
    "settings.price_after": 0.0,
    "settings.normalise_advantages": True,
}
_MOST_STEPS = 100_000_000  # of an update
_MOST_CLAUSES = 4  # no answer has more
_MOST_UPDATES = 2**31 - 1  # learners count them in 32 bits
_FRACTIONS = ("random_start_fraction", "hint_fraction", "wrong_key_fraction", "distractor_fraction")


@dataclass(frozen=True)
class Config:
    """A run.

    Attributes:
        tasks: what is trained on, in equal shares; repeat one to weight it. Names, though letters may
            be given.
        agent: the variant that is trained.
        seeds: what everything random is drawn from, once for each; they are trained side by side.
        steps: environment steps to train for, with each seed.
        n_gram: 1 or 2, which n-grams relate two notes.
        alpha: how similar notes must be to be related.
        clauses: how many notes an answer makes at most; with 1 it is one note, as in Q-TextWorld's presets.
        size: the network.
        settings: hyperparameters of the algorithm that trains it, which their class decides.
        levels: levels in the pool of each seed.
        random_start_fraction: the fraction of training levels that start at a random reachable state.
        hint_fraction: the fraction of training levels that start with some answers known.
        wrong_key_fraction: the fraction of training levels with locks that start with a wrong key in hand.
        distractor_fraction: the fraction of training levels without danger that have meaningless tiles and
            closed doors.
        keep_last_answer: whether an agent without a notebook sees an answer until the next question, as in
            the authors' code; for one step otherwise, as in the paper's text.
        sources: what the traits of the sources are drawn from in each level; none if there is the paper's
            oracle alone, free and true.
        source: who tells of the levels; see `afk.knowledge.catalogue`.
        log_every: updates between two lines of the log; levels are drawn anew as often.
        evaluate_every: updates between two evaluations; a multiple of `log_every`. The last ones, which the
            final metric is the mean of, come at the end of training, with every line of the log.
        evaluation_episodes: episodes of each.
        initial_agent: the digest of the agent that training begins with; empty if with a new one.
        preset: the name of the preset that it was made from; a label.
        held_out: tasks that its agents play in the end without having been trained on them.
    """

    tasks: tuple[str, ...]
    agent: str = "afk"
    seeds: tuple[int, ...] = (24,)
    steps: int = 20_000_000
    n_gram: int = 2
    alpha: float = 0.01
    clauses: int = 2
    size: Size = field(default_factory=Size)
    settings: Any = field(default_factory=ppo.Settings)
    levels: int = 4096
    random_start_fraction: float = 0.0
    hint_fraction: float = 0.0
    wrong_key_fraction: float = 0.0
    distractor_fraction: float = 0.0
    keep_last_answer: bool = False
    sources: tuple[SourceSpec, ...] = ()
    source: str = ORACLE
    log_every: int = 50
    evaluate_every: int = 50
    evaluation_episodes: int = 500
    initial_agent: str = ""
    preset: str = ""
    held_out: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("tasks", "seeds", "held_out"):
            if isinstance(value := getattr(self, name), list):
                object.__setattr__(self, name, tuple(value))
        object.__setattr__(self, "sources", read_specs(self.sources))
        check_types(self)
        check_types(self.settings)
        for name in ("tasks", "held_out"):
            object.__setattr__(self, name, tuple(map(task_named, getattr(self, name))))
        find_variant(self.agent)
        Similarity(self.n_gram, self.alpha)
        different = len(set(self.seeds)) == len(self.seeds) > 0
        if not different or not all(0 <= seed < 2**32 for seed in self.seeds):
            raise ValueError(f"seeds are different numbers from 0 to below 2**32, not {self.seeds}")
        check_counts(self, "steps", most=10**12)
        check_counts(self, "clauses", most=_MOST_CLAUSES)
        check_counts(self, "levels", "log_every", "evaluate_every", "evaluation_episodes")
        check_shares(self, *_FRACTIONS)
        if self.evaluation_episodes < len(self.tasks):
            raise ValueError(f"evaluation_episodes is at least {len(self.tasks)}, one a task")
        if self.evaluate_every % self.log_every:
            raise ValueError(
                f"evaluate_every ({self.evaluate_every}) must be a multiple of log_every ({self.log_every})"
            )
        self._check_tasks()
        self._check_pace()
        if self.source != ORACLE and not find_source(self.source).is_deterministic:
            raise ValueError(f"{self.source} may answer otherwise each time: nobody can be trained with it")

    def _check_pace(self) -> None:
        """A ValueError if an update is too large for any machine, or there are too many to be counted."""
        if self.settings.steps_per_update > _MOST_STEPS:
            raise ValueError(
                f"an update has at most {_MOST_STEPS:,} steps, not {self.settings.steps_per_update:,}: "
                "environments times rollout_steps"
            )
        if self.updates > _MOST_UPDATES:
            raise ValueError(f"a run has at most {_MOST_UPDATES:,} updates, not {self.updates:,}")

    def _check_tasks(self) -> None:
        """A ValueError if the tasks cannot be trained on together, or not in this way."""
        if not self.tasks:
            raise ValueError("name at least one task; `afk tasks` lists them all")
        tasks, algorithm = [find_task(name) for name in self.tasks], algorithm_of(self.settings)
        worlds = {world.name: world for world in map(world_of, (*tasks, *map(find_task, self.held_out)))}
        if len(worlds) > 1:
            raise ValueError(
                f"tasks of {' and of '.join(each.title for each in worlds.values())} cannot be mixed"
            )
        (world,) = worlds.values()
        curriculum = world.curriculum
        if (self.wrong_key_fraction and not curriculum.wrong_key) or (
            self.distractor_fraction and not curriculum.distractors
        ):
            raise ValueError(
                f"{world.title} has no levels with a wrong key or with distractors: leave out "
                f"wrong_key_fraction and distractor_fraction for {self.tasks[0]}"
            )
        if self.sources and not (world.most_sources and algorithm.pays):
            who = algorithm.name.upper() if world.most_sources else world.title
            raise ValueError(f"{who} knows the paper's oracle only: leave out sources for {self.tasks[0]}")
        if len(self.sources) > world.most_sources:
            raise ValueError(
                f"{world.title} has room for {world.most_sources} sources at most, not {len(self.sources)}"
            )
        if algorithm.worlds and world.name not in algorithm.worlds:
            titles = [WORLDS[name].title for name in algorithm.worlds]
            raise ValueError(
                f"{algorithm.name.upper()} trains on tasks of {', '.join(titles)} only, "
                f"not on {self.tasks[0]}"
            )
        for task in tasks:
            algorithm.check(self.settings, task)

    @property
    def updates(self) -> int:
        """Updates until the steps are done, in whole lines of the log."""
        lines = -(-self.steps // (self.settings.steps_per_update * self.log_every))
        return lines * self.log_every

    @property
    def identity(self) -> str:
        """See `identity_of`."""
        return identity_of(self.to_json())

    def is_evaluated(self, updates: int) -> bool:
        """Whether there is an evaluation after so many updates."""
        return updates % self.evaluate_every == 0 or updates > self.updates - FINAL * self.log_every

    def to_json(self) -> dict[str, Any]:
        """The run as plain JSON: lists where there are tuples."""
        settings = {"algorithm": algorithm_of(self.settings).name, **_values(self.settings)}
        parts = {"size": _values(self.size), "settings": settings}
        parts |= {"sources": [each.to_json() for each in self.sources]}
        return json.loads(json.dumps(_values(self) | parts))

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> "Config":
        """The run that `to_json` wrote, now or under earlier names; a ValueError if it is not one."""
        try:
            fields: dict[str, Any] = upgrade(content)
            settings = dict(fields["settings"])
            fields["size"] = Size(**fields["size"])
            fields["settings"] = find_algorithm(settings.pop("algorithm")).settings(**settings)
            fields |= {name: tuple(value) for name, value in fields.items() if isinstance(value, list)}
            return Config(**fields)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"this is not the configuration of a run: {error}") from error


def _values(part: Any) -> dict[str, Any]:
    """The fields of a dataclass by name; 1 is 1.0 where fractions may be, so that equal runs are the same."""
    values = {each.name: (each.type, getattr(part, each.name)) for each in fields(part)}
    return {
        name: float(value) if kind in (float, "float") else value for name, (kind, value) in values.items()
    }


def flatten(content: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The values of a run, as JSON, by names such as ``settings.bonus``."""
    found: dict[str, Any] = {}
    for key, value in content.items():
        found |= flatten(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return found


def nest(values: Mapping[str, Any]) -> dict[str, Any]:
    """What `flatten` was given, from what it gave."""
    content: dict[str, Any] = {}
    for name, value in values.items():
        *path, key = name.split(".")
        part = content
        for step in path:
            part = part.setdefault(step, {})
        part[key] = value
    return content


def identity_of(content: Mapping[str, Any]) -> str:
    """A hash of all that makes a run, as JSON, what it is; runs that differ in `LABELS` alone share it."""
    identifying = {
        name: value
        for name, value in flatten(content).items()
        if name not in LABELS and not (name in ADDED_LATER and value == ADDED_LATER[name])
    }
    canonical = json.dumps(identifying, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:10]


def differences(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """What two runs, as JSON, do not share: both values by names such as ``size.width``, but for `LABELS`."""
    here, there = flatten(ours), flatten(theirs)
    pairs = {
        name: tuple(values.get(name, ADDED_LATER.get(name)) for values in (here, there))
        for name in dict.fromkeys((*here, *there))
        if name not in LABELS
    }
    return {name: (mine, other) for name, (mine, other) in pairs.items() if mine != other}


def first_difference(ours: Config, theirs: Config) -> str:
    """The first of `differences` in words, ``steps is 5, not 4``; empty if there is none."""
    found = differences(ours.to_json(), theirs.to_json()).items()
    return next((f"{name} is {their_value}, not {our_value}" for name, (our_value, their_value) in found), "")


def run_difference(ours: Config, theirs: Config) -> str:
    """As `first_difference`, but seeds count as well: what one folder holds is of the same seeds."""
    seeds = "" if ours.seeds == theirs.seeds else f"seeds is {theirs.seeds}, not {ours.seeds}"
    return first_difference(ours, theirs) or seeds


def read_config(folder: Path) -> Config:
    """The configuration of a run's folder; a ValueError if there is none or it cannot be read."""
    path = folder / "config.json"
    if not path.is_file():
        raise ValueError(f"{folder} is not the folder of a run: it has no config.json")
    content = read_object(path)
    try:
        return Config.from_json(content)
    except ValueError as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
