"""How fast training is, where its time goes, and how much of the device's arithmetic it uses."""

from dataclasses import replace
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from afk.bench.environments import STEPS, measure, steps_loop
from afk.learning.algorithm import algorithm_of
from afk.learning.devices import side_by_side
from afk.learning.rollout import agent_inputs, decide
from afk.training.build import mesh_of, play_of, schedules_of
from afk.training.config import Config
from afk.training.levels import draw_training_levels
from afk.training.machine import describe_machine
from afk.training.starting import first_learners
from afk.training.update import CompiledUpdates, Learner

_UPDATES = 50  # updates in one call, at most
_MATRIX = 8192  # of the product that the device's rate is measured with


def bench_training(config: Config, *, seconds: float) -> dict[str, Any]:
    """Training steps a second after compilation, with the environment and the rollout measured on their own.

    The device's rate is that of one large matrix product in the precision that the network computes in; the
    network's arithmetic is counted by XLA, a gradient as three passes.
    """
    updates = min(config.log_every, _UPDATES)
    config = replace(config, log_every=updates, evaluate_every=updates)
    settings, seeds = config.settings, len(config.seeds)
    learner = first_learners(config)
    levels = draw_training_levels(config, 0)
    per_update = seeds * settings.steps_per_update
    rollout, _ = measure(_rollout(config, learner, levels), seconds)
    pool = jax.tree.map(lambda leaf: leaf[0], levels.pool)
    world, _ = measure(steps_loop(play_of(config).env, pool, seeds * settings.environments), seconds)
    operations = operations_a_step(config, learner)
    update, compiling = _updates(config, learner, levels, seconds)
    world *= per_update / (STEPS * seeds * settings.environments)
    learned, passes = algorithm_of(settings).cost(settings)
    rate = device_rate(settings.half_precision, seconds)
    return {
        "machine": describe_machine(),
        "task": play_of(config).env.name,
        "agent": config.agent,
        "seeds": seeds,
        "environments": settings.environments,
        **learned,
        "width": config.size.width,
        "half_precision": settings.half_precision,
        "steps_per_second": per_update / update,
        "rollout_steps_per_second": per_update / rollout,
        "compile_seconds": compiling,
        "share_of_time": {
            "environment": world / update,
            "the rest of the rollout": (rollout - world) / update,
            "update": 1 - rollout / update,
        },
        "operations_per_step": operations and operations * passes,
        "device_operations_per_second": rate,
        "fraction_of_device_rate": operations and operations * passes * per_update / update / rate,
    }


def _rollout(config: Config, learner: Learner, levels: Any) -> Any:
    """A function that plays as many steps as one update learns from."""
    arrays, static = eqx.partition(learner.agent, eqx.is_array)
    settings, algorithm, play = config.settings, algorithm_of(config.settings), play_of(config)

    def one(arrays: Any, actors: Any, levels: Any, key: jax.Array) -> Any:
        agent = eqx.combine(arrays, static)
        return algorithm.rollout(play, settings, agent, levels, actors, key)

    run = jax.jit(partial(side_by_side, one, in_turn=algorithm.in_turn))
    return lambda key: run(arrays, learner.actors, levels, jax.random.split(key, len(config.seeds)))


def _updates(config: Config, learner: Learner, levels: Any, seconds: float) -> tuple[float, float]:
    """The time of an update in a chunk of them, and that of compiling."""
    compiled = CompiledUpdates(config, learner, levels, mesh_of(config, 1))
    schedules = schedules_of(config, 0)
    state = learner

    def go_on(key: jax.Array) -> Any:
        nonlocal state
        del key
        state, _, losses = compiled(state, levels, schedules)
        return losses

    spent, _ = measure(go_on, seconds)
    return spent / config.log_every, sum(compiled.seconds.values())


def operations_a_step(config: Config, learner: Learner) -> float | None:
    """Arithmetic of the network on one step, as XLA counts it before anything is compiled; None if it cannot.

    It is counted as for a CPU, in float32: what libraries compute on a GPU XLA does not count. Where there is
    a choice, as by the length of texts, the dearer way counts.
    """
    try:
        cpu = jax.devices("cpu")[0]
    except RuntimeError:  # JAX_PLATFORMS rules it out
        return None
    shapes, static = eqx.partition((learner.agent, learner.actors), eqx.is_array)
    shapes = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), shapes)

    def run(arrays: Any) -> Any:
        agent, actors = eqx.combine(arrays, static)
        return decide(agent, agent_inputs(play_of(config), agent, actors))

    with jax.default_device(cpu):
        operations = (jax.jit(run).lower(shapes).cost_analysis() or {}).get("flops")
    return None if operations is None else operations / config.settings.environments


def device_rate(half_precision: bool, seconds: float) -> float:
    """Operations a second of a large matrix product."""
    size = _MATRIX if jax.default_backend() != "cpu" else _MATRIX // 8
    matrix = jnp.ones((size, size), jnp.bfloat16 if half_precision else jnp.float32)
    multiply = jax.jit(partial(jnp.matmul, matrix))
    spent, _ = measure(lambda _: multiply(matrix), seconds)
    return 2 * size**3 / spent
