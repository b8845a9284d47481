"""What training asks of an algorithm, and the algorithms there are, so that a new one takes one file."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from afk.agents.variants import Variant
from afk.plugins import load_plugins


@dataclass(frozen=True)
class Algorithm:
    """A learning algorithm as functions.

    A learner is a pytree of the algorithm's own with at least ``agent`` (the network, in float32), ``actors``
    (the episodes under way) and ``updates`` (() int32). Settings are a frozen dataclass with at least
    ``environments``, ``steps_per_update``, ``bonus``, ``bonus_until``, ``anneal_after``, ``learning_rate``
    and ``half_precision``.

    Attributes:
        name: what configurations call it.
        settings: the class of its settings.
        init: ``(play, settings, agent, levels, key) -> learner``, where training starts.
        update: ``(play, settings, learner, levels, schedules) -> (learner, episodes, losses)``.
        rollout: ``(play, settings, agent, levels, actors, key)``, as many steps as an update plays; only
            measured.
        cost: ``settings -> (how often a step is learned from, by name; passes through the network a step)``.
        network: the name of the network that it trains for a variant; see `afk.agents.build`.
        worlds: the worlds that it can train in; all if there are none.
        check: ``(settings, task)``, a ValueError if it cannot train on a task with these settings.
        pays: whether it learns what questions cost; it trains with the paper's oracle only otherwise.
        in_turn: whether seeds learn one after the other on a device, since one fills it.
        rows: ``settings -> what of a seed several devices share evenly``, by name with how much there is.
    """

    name: str
    settings: type
    init: Callable[..., Any]
    update: Callable[..., Any]
    rollout: Callable[..., Any]
    cost: Callable[[Any], tuple[dict[str, float], float]]
    network: Callable[[Variant], str] = lambda variant: variant.network
    worlds: tuple[str, ...] = ()
    check: Callable[[Any, Any], None] = lambda settings, task: None
    pays: bool = True
    in_turn: bool = False
    rows: Callable[[Any], Mapping[str, int]] = lambda settings: {"environments": settings.environments}


_registered: dict[str, Algorithm] = {}


def register_algorithm(algorithm: Algorithm) -> None:
    """Make an algorithm known by its name, for this process."""
    if algorithms().get(algorithm.name, algorithm) != algorithm:
        raise ValueError(f"an algorithm named {algorithm.name!r} is registered already")
    _registered[algorithm.name] = algorithm


def algorithms() -> dict[str, Algorithm]:
    """All algorithms by name."""
    load_plugins()
    return {each.name: each for each in _ours()} | _registered


def find_algorithm(name: str) -> Algorithm:
    """The algorithm of a name; a ValueError if there is none."""
    known = algorithms()
    if name not in known:
        raise ValueError(f"unknown algorithm {name!r}; it is one of {', '.join(known)}")
    return known[name]


def algorithm_of(settings: Any) -> Algorithm:
    """The algorithm that settings are of; a TypeError if there is none."""
    for algorithm in algorithms().values():
        if type(settings) is algorithm.settings:
            return algorithm
    raise TypeError(f"{type(settings).__name__} are the settings of no algorithm that is registered")


@lru_cache(maxsize=1)
def _ours() -> tuple[Algorithm, ...]:
    """Imported when they are wanted: algorithms import this module for its contract."""
    from afk.learning.dqn import DQN
    from afk.learning.ppo import PPO

    return PPO, DQN
