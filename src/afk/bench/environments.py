"""How fast the environments are, and what bounds them."""

import time
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from importlib.util import find_spec
from itertools import count, cycle
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from afk.envs.core import Environment, StateT, TimeStep
from afk.envs.level_pool import Batch, Pool, advance, draw_pool, start_batch
from afk.envs.qtextworld.levels.bank import load_bank

STEPS = 64  # steps in one call of a compiled loop
POOL = 4096
_ALL = "all but drawing actions"
_COPIED = 1 << 28  # bytes
_COPIES = 16
_KEYS = 64  # that calls which are measured take in turn
PEERS = ("minigrid", "textworld")
# What an observation of each world is made of, and what is measured by leaving it out.
_PARTS = {"qbabyai": {"view": "image"}, "qtextworld": {"text": "text", "instruction": "mission"}}
_PEER_LEVELS = 16  # that a peer plays in turn


def default_tasks() -> tuple[str, ...]:
    """A small and a large task of each world; none of Q-TextWorld where its texts are not to be had."""
    tasks = ("qbabyai/object-in-box", "qbabyai/object-in-box+danger+go-to-favorite+open-door")
    try:
        load_bank()
    except ValueError:
        return tasks
    return (*tasks, "qtextworld/take-1", "qtextworld/take-2-cut")


def default_environments() -> int:
    """A batch that fills the machine."""
    return 4096 if jax.default_backend() == "cpu" else 65536


def bench_environment(env: Environment[Any], *, environments: int, seconds: float) -> dict[str, Any]:
    """Steps a second with observations, oracle and auto-reset; where the time goes; levels a second.

    What bounds the speed is found by leaving parts out. The bandwidth is what the states take up, read and
    written once a step, over the time of a step; beside it is what a plain copy reaches.
    """
    pool = draw_pool(env, jax.random.key(0), POOL)
    full, compiling = measure(steps_loop(env, pool, environments), seconds)
    fields = _PARTS[env.world]
    less = {part: steps_loop(_without(env, field), pool, environments) for part, field in fields.items()}
    less["auto-reset"] = steps_loop(env, pool, environments, auto_reset=False)
    less[_ALL] = steps_loop(env, pool, environments, step=False)
    saved = {part: 1 - measure(loop, seconds)[0] / full for part, loop in less.items()}
    per_step = full / (STEPS * environments)
    state_bytes = sum(leaf.nbytes for leaf in jax.tree.leaves(pool)) / pool.size
    return {
        "task": env.name,
        "environments": environments,
        "steps_per_second": 1 / per_step,
        "levels_per_second": _levels_per_second(env, seconds),
        "compile_seconds": compiling,
        "time_saved_without": saved,
        "bytes_per_state": state_bytes,
        "bandwidth": 2 * state_bytes / per_step,
        "copy_bandwidth": _copy_bandwidth(seconds),
    }


def bench_scaling(env: Environment[Any], sizes: Sequence[int], *, seconds: float) -> list[dict[str, float]]:
    """Steps a second in batches of different sizes."""
    pool = draw_pool(env, jax.random.key(0), POOL)
    times = [(size, measure(steps_loop(env, pool, size), seconds)[0]) for size in sizes]
    return [{"environments": size, "steps_per_second": STEPS * size / spent} for size, spent in times]


def largest_part(result: dict[str, Any]) -> tuple[str, float]:
    """The part that takes most of the time `bench_environment` found, and its share."""
    saved = result["time_saved_without"]
    part = max(saved.keys() - {_ALL}, key=lambda name: saved[name])
    return part, saved[part]


def explain_bound(result: dict[str, Any]) -> str:
    """What bounds the speed that `bench_environment` found, in a sentence."""
    traffic = result["bandwidth"] / result["copy_bandwidth"]
    part, share = largest_part(result)
    by = "memory" if traffic > 0.5 else f"computing, most of all the {part}"
    without = f"without the {part} {share:.0%} of the time is saved"
    return f"bound by {by} ({without}); memory traffic is {traffic:.0%} of a copy's"


def bench_peer(env: Environment[Any], *, seconds: float) -> dict[str, float | None]:
    """Steps a second of another package's engine in one process, or nothing where it is not installed.

    `minigrid` plays the same levels of Q-BabyAI. `textworld` plays games of Q-TextWorld that its own maker
    makes; how many it makes a second is measured too.
    """
    return _PEER_BENCHES[env.world](env, seconds)


def _bench_textworld(env: Any, seconds: float) -> dict[str, float | None]:
    names = "textworld_steps_per_second", "textworld_levels_per_second"
    if find_spec("textworld") is None:
        return dict.fromkeys(names)
    from afk.envs.qtextworld.levels.maker import make_game

    steps, seeds = _play_textworld(env, np.random.default_rng(0)), count()
    rates = _rate(lambda: next(steps), seconds), _rate(lambda: make_game(env.task, next(seeds)), seconds)
    return dict(zip(names, rates, strict=True))


def _bench_minigrid(env: Any, seconds: float) -> dict[str, float | None]:
    if find_spec("minigrid") is None:
        return {"minigrid_steps_per_second": None}
    from afk.envs.qbabyai.reference import MinigridReference

    rng = np.random.default_rng(0)
    states = env.draw_many(jax.random.key(0), _PEER_LEVELS)
    levels = [jax.tree.map(lambda leaf, index=index: leaf[index], states) for index in range(_PEER_LEVELS)]
    games = cycle([MinigridReference(level) for level in levels])
    return {"minigrid_steps_per_second": _rate(lambda: next(games).step(int(rng.integers(7))), seconds)}


_PEER_BENCHES = {"qbabyai": _bench_minigrid, "qtextworld": _bench_textworld}


def times_peer(result: dict[str, Any], what: str) -> str:
    """How much faster steps or levels are than the peer's, ``145 x minigrid``; a dash if it was not there."""
    for peer in PEERS:
        if theirs := result.get(f"{peer}_{what}_per_second"):
            return f"{result[f'{what}_per_second'] / theirs:,.0f} x {peer}"
    return "-"


def _play_textworld(env: Any, rng: np.random.Generator) -> Iterator[Any]:
    """Steps in TextWorld's engine, one game after the other.

    The commands can be carried out: the engine refuses others before it does what takes it time.
    """
    from afk.envs.qtextworld.levels.maker import make_game
    from afk.envs.qtextworld.reference import Reference

    engine = Reference(env.task, env.vocabulary)
    for game in cycle([make_game(env.task, seed) for seed in range(_PEER_LEVELS)]):
        engine.reset(game)
        is_over = False
        while not is_over and (possible := engine.commands):
            step = engine.step(possible[rng.integers(len(possible))])
            yield step
            is_over = step.terminated or step.truncated


def _rate(act: Callable[[], Any], seconds: float) -> float:
    """Calls a second, after the first."""
    act()
    calls, start = 0, time.perf_counter()
    while (spent := time.perf_counter() - start) < seconds:
        act()
        calls += 1
    return calls / spent


def _without(env: Environment[Any], part: str) -> Environment[Any]:
    """The same world with a part of the observation left blank, to time that part by its absence."""

    def step(state: Any, action: jax.Array) -> tuple[Any, TimeStep]:
        state, time_step = env.step(state, action)
        seen = time_step.observation
        shown = getattr(seen, part)
        blank = jnp.broadcast_to(time_step.stats.steps.astype(shown.dtype), shown.shape)
        return state, replace(time_step, observation=replace(seen, **{part: blank}))

    less = copy(env)
    less.step = step
    return less


def steps_loop(
    env: Environment[StateT],
    pool: Pool[StateT],
    environments: int,
    *,
    step: bool = True,
    auto_reset: bool = True,
) -> Callable[[jax.Array], Any]:
    """A function that plays `STEPS` random steps in every environment and goes on from there each time."""
    sizes = jnp.array(env.action_sizes)

    def body(
        carry: tuple[Batch[StateT], jax.Array], key: jax.Array
    ) -> tuple[tuple[Batch[StateT], jax.Array], None]:
        batch, total = carry
        actions = jax.random.randint(key, (environments, len(env.action_sizes)), 0, sizes)
        if not step:
            return (batch, total + actions.sum()), None
        if auto_reset:
            batch, time_step = advance(env, pool, batch, actions)
        else:
            states, time_step = jax.vmap(env.step)(batch.states, actions)
            batch = replace(batch, states=states, observations=time_step.observation)
        seen = sum(leaf.sum(dtype=jnp.int32) for leaf in jax.tree.leaves(batch.observations))
        return (batch, total + seen + time_step.reward.sum()), None

    @jax.jit
    def play(batch: Batch[StateT], key: jax.Array) -> tuple[Batch[StateT], jax.Array]:
        return jax.lax.scan(body, (batch, jnp.float32(0)), jax.random.split(key, STEPS))[0]

    batch = start_batch(pool, environments)

    def go_on(key: jax.Array) -> Any:
        nonlocal batch
        batch, total = play(batch, key)
        return total

    return go_on


def _levels_per_second(env: Environment[Any], seconds: float) -> float:
    """Sound levels drawn a second, in bulk."""
    count = 1024 if jax.default_backend() == "cpu" else 16384
    draw = jax.jit(lambda key: jax.vmap(env.draw)(jax.random.split(key, count)))
    sound = float(draw(jax.random.key(0))[1].mean())
    return count * sound / measure(draw, seconds)[0]


def _copy_bandwidth(seconds: float) -> float:
    """Bytes a second that a copy reads and writes."""
    source = jnp.zeros(_COPIED, jnp.uint8)
    copy = jax.jit(lambda _: jax.lax.fori_loop(0, _COPIES, lambda _, array: array + 1, source))
    return 2 * _COPIED * _COPIES / measure(copy, seconds)[0]


def measure(function: Callable[[jax.Array], Any], seconds: float) -> tuple[float, float]:
    """The median time of a call after the first, and the time of the first, compilation included."""
    keys = cycle(list(jax.random.split(jax.random.key(1), _KEYS)))
    start = time.perf_counter()
    jax.block_until_ready(function(next(keys)))
    first = time.perf_counter() - start
    times, until = [], time.perf_counter() + seconds
    while (start := time.perf_counter()) < until or len(times) < 3:
        jax.block_until_ready(function(next(keys)))
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2], first
