"""What sources with traits cost in speed: the same world with the oracle, one source and more, in turn."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from afk.bench.environments import POOL, STEPS, steps_loop
from afk.envs.level_pool import draw_pool
from afk.envs.registry import make, world_of
from afk.knowledge.traits import SourceSpec

DEFAULT_TASK = "qbabyai/object-in-box"
GOALS = {"one source": 0.05, "eight sources": 0.2}  # how much longer a step may take
_SOURCE = SourceSpec(price=(0, 0.5), silence=(0, 0.2), lies=(0, 0.4), budget=5)
_FRESH = replace(_SOURCE, is_persistent=False)
_WORLDS: dict[str, tuple[SourceSpec, ...]] = {
    "the oracle": (),
    "one source": (_SOURCE,),
    "one stale source": (replace(_SOURCE, is_stale=True),),
    "eight sources": (_SOURCE, _FRESH) * 4,
}
_KEYS = 64  # that calls take in turn


def bench_sources(task: str, *, environments: int, rounds: int) -> list[dict[str, Any]]:
    """Steps a second of a task's world with each kind of sources, and how much longer steps take for them.

    All worlds take turns, and what counts is the median over rounds of a ratio within a round, of the time
    of processors where those compute: so it tells the same while other programs want them, too.

    Returns:
        For each that the world has room for: ``sources``, ``steps_per_second`` by the clock, ``cost``, how
        much longer steps take than with the oracle, ``cost_quartiles`` over rounds, and ``goal``, if any.
    """
    env = make(task)
    most = world_of(env).most_sources
    worlds = {name: specs for name, specs in _WORLDS.items() if len(specs) <= most}
    loops = [_loop(task, specs, environments) for specs in worlds.values()]
    used, passed = np.array([_turn(loops, number) for number in range(rounds)]).transpose(2, 0, 1)
    ratios = used / used[:, :1] - 1
    return [
        {
            "task": env.name,
            "sources": name,
            "environments": environments,
            "rounds": rounds,
            "steps_per_second": STEPS * environments / float(np.median(passed[:, column])),
            "cost": float(np.median(ratios[:, column])),
            "cost_quartiles": np.quantile(ratios[:, column], (0.25, 0.75)).tolist(),
            "goal": GOALS.get(name),
        }
        for column, name in enumerate(worlds)
    ]


def _loop(task: str, specs: Sequence[SourceSpec], environments: int) -> Callable[[jax.Array], Any]:
    """A function that plays on; it has been called once, so that it is compiled."""
    env = make(task).with_sources(specs)
    loop = steps_loop(env, draw_pool(env, jax.random.key(0), POOL), environments)
    jax.block_until_ready(loop(jax.random.key(0)))
    return loop


def _turn(loops: Sequence[Callable[[jax.Array], Any]], number: int) -> list[tuple[float, float]]:
    """The time that a call of each takes: what counts, and by the clock; each round begins with another."""
    clock = time.process_time if jax.default_backend() == "cpu" else time.perf_counter
    key = jax.random.key(number % _KEYS)
    times = [(0.0, 0.0)] * len(loops)
    for place in (each % len(loops) for each in range(number, number + len(loops))):
        start, began = clock(), time.perf_counter()
        jax.block_until_ready(loops[place](key))
        times[place] = clock() - start, time.perf_counter() - began
    return times
