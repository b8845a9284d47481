"""How fast the environments are, and what bounds them."""

import os
import platform
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from afk.envs.base import Batch, Environment, Pool, StateT, TimeStep, advance, draw_pool, start_batch
from afk.envs.qbabyai.environment import QBabyAI
from afk.envs.qbabyai.state import State

STEPS = 64  # steps in one call of a compiled loop
_POOL = 4096
_COPIED = 1 << 28  # bytes
_COPIES = 16


def default_environments() -> int:
    """A batch that fills the machine."""
    return 4096 if jax.default_backend() == "cpu" else 65536


def describe_machine() -> dict[str, Any]:
    """What the measurements ran on."""
    device = jax.devices()[0]
    is_cpu = device.platform == "cpu"
    return {
        "device": platform.machine() if is_cpu else device.device_kind,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "jax": jax.__version__,
        "python": platform.python_version(),
    }


def bench_environment(env: QBabyAI, *, environments: int, seconds: float) -> dict[str, Any]:
    """Steps a second with observations, oracle and auto-reset; where the time goes; levels a second.

    What bounds the speed is found by leaving parts out. The bandwidth is what the states take up, read and
    written once a step, over the time of a step; beside it is what a plain copy reaches.
    """
    pool = draw_pool(env, jax.random.key(0), _POOL)
    full, compiling = measure(steps_loop(env, pool, environments), seconds)
    blind, _ = measure(steps_loop(_Blind(env.task), pool, environments), seconds)
    endless, _ = measure(steps_loop(env, pool, environments, auto_reset=False), seconds)
    idle, _ = measure(steps_loop(env, pool, environments, step=False), seconds)
    saved = {
        "view": 1 - blind / full,
        "auto-reset": 1 - endless / full,
        "all but drawing actions": 1 - idle / full,
    }
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


def explain_bound(result: dict[str, Any]) -> str:
    """What bounds the speed that `bench_environment` found, in a sentence."""
    traffic = result["bandwidth"] / result["copy_bandwidth"]
    saved = result["time_saved_without"]
    part = max(("view", "auto-reset"), key=lambda name: saved[name])
    by = "memory" if traffic > 0.5 else f"computing, most of all the {part}"
    without = f"without the {part} {saved[part]:.0%} of the time is saved"
    return f"bound by {by} ({without}); memory traffic is {traffic:.0%} of a copy's"


def bench_peer(env: QBabyAI, *, seconds: float) -> float | None:
    """Steps a second of the same levels in the `minigrid` package, or nothing where it is not installed."""
    if find_spec("minigrid") is None:
        return None
    from afk.envs.qbabyai.minigrid import MinigridReference

    pool = draw_pool(env, jax.random.key(0), 16)
    levels = [jax.tree.map(lambda leaf, index=index: leaf[index], pool.states) for index in range(pool.size)]
    games = [MinigridReference(level) for level in levels]
    rng = np.random.default_rng(0)
    steps, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        game = games[steps % len(games)]
        game.step(int(rng.integers(7)))
        steps += 1
    return steps / (time.perf_counter() - start)


class _Blind(QBabyAI):
    """The same world with nothing to see, to time the view by its absence."""

    def step(self, state: State, action: jax.Array) -> tuple[State, TimeStep]:
        """Step, and show a blank image."""
        state, time_step = super().step(state, action)
        seen = time_step.observation
        blank = jnp.broadcast_to(state.direction.astype(jnp.uint8), seen.image.shape)
        return state, replace(time_step, observation=replace(seen, image=blank))


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


def _levels_per_second(env: QBabyAI, seconds: float) -> float:
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
    keys = iter(jax.random.split(jax.random.key(1), 10_000))
    start = time.perf_counter()
    jax.block_until_ready(function(next(keys)))
    first = time.perf_counter() - start
    times = []
    while sum(times) < seconds or len(times) < 3:
        start = time.perf_counter()
        jax.block_until_ready(function(next(keys)))
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2], first
