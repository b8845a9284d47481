"""How fast training is, where its time goes, and how much of the device's arithmetic it uses."""

from dataclasses import replace
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from afk.bench import STEPS, describe_machine, measure, steps_loop
from afk.experiments.chunk import Chunk, Learner
from afk.experiments.config import Config
from afk.experiments.train import draw_courses, first_learners
from afk.learn import dqn, ppo
from afk.learn.parallel import side_by_side, use_devices
from afk.learn.rollout import act, collect, decide, glance_at

_CHUNK = 50  # updates in one call, at most
_MATRIX = 8192  # of the product that the device's rate is measured with


def bench_training(config: Config, *, seconds: float) -> dict[str, Any]:
    """Training steps a second after compilation, with the environment and the rollout measured on their own.

    The device's rate is that of one large matrix product in the precision that the network computes in; the
    network's arithmetic is counted by XLA, a gradient as three passes.
    """
    chunk = min(config.chunk, _CHUNK)
    config = replace(config, chunk=chunk, evaluate_every=chunk)
    settings, seeds = config.settings, len(config.seeds)
    learner = first_learners(config)
    courses = draw_courses(config, 0)
    per_update = seeds * settings.steps_per_update
    rollout, _ = measure(_rollout(config, learner, courses), seconds)
    pool = jax.tree.map(lambda leaf: leaf[0], courses.pool)
    world, _ = measure(steps_loop(config.play.env, pool, seeds * settings.environments), seconds)
    operations = _operations(config, learner)
    update, compiling = _updates(config, learner, courses, seconds)
    world *= per_update / (STEPS * seeds * settings.environments)
    learned, passes = _learned(settings)
    rate = _device_rate(settings.half_precision, seconds)
    return {
        "machine": describe_machine(),
        "task": config.play.env.name,
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


def _learned(settings: ppo.Settings | dqn.Settings) -> tuple[dict[str, float], float]:
    """How often a step is learned from, and how many passes through the network a step takes in all."""
    if isinstance(settings, dqn.Settings):
        # A gradient, and a pass through the target network, for every sample.
        return {"samples_per_step": settings.samples_per_step}, 1 + 4 * settings.samples_per_step
    return {"epochs": settings.epochs}, 1 + 3 * settings.epochs


def _rollout(config: Config, learner: Learner, courses: Any) -> Any:
    """A function that plays as many steps as one update learns from."""
    arrays, static = eqx.partition(learner.agent, eqx.is_array)
    settings, actors = config.settings, learner.actors

    def one(arrays: Any, actors: Any, course: Any, key: jax.Array) -> Any:
        agent: Any = eqx.combine(arrays, static)
        if isinstance(settings, ppo.Settings):
            agent = ppo.in_compute_precision(agent, settings)
            return collect(config.play, agent, course, actors, key, steps=settings.steps)[:2]
        agent = dqn.in_compute_precision(agent, settings)

        def step(actors: Any, key: jax.Array) -> Any:
            actors, _, experience, _ = act(config.play, agent, course, actors, key)
            return actors, experience

        return jax.lax.scan(step, actors, jax.random.split(key, settings.steps))

    play = jax.jit(partial(side_by_side, one, in_turn=isinstance(settings, dqn.Settings)))
    return lambda key: play(arrays, actors, courses, jax.random.split(key, len(config.seeds)))


def _updates(config: Config, learner: Learner, courses: Any, seconds: float) -> tuple[float, float]:
    """The time of an update in a chunk of them, and that of compiling."""
    mesh = use_devices(1, config.settings.environments)
    chunk, pace = Chunk(config, learner, courses, mesh), config.pace_at(0)
    state = learner

    def go_on(key: jax.Array) -> Any:
        nonlocal state
        del key
        state, _, losses = chunk(state, courses, pace)
        return losses

    spent, _ = measure(go_on, seconds)
    return spent / config.chunk, chunk.compile_seconds


def _operations(config: Config, learner: Learner) -> float | None:
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
        return decide(agent, glance_at(config.play, agent, actors))

    with jax.default_device(cpu):
        operations = (jax.jit(run).lower(shapes).cost_analysis() or {}).get("flops")
    return None if operations is None else operations / config.settings.environments


def _device_rate(half_precision: bool, seconds: float) -> float:
    """Operations a second of a large matrix product."""
    size = _MATRIX if jax.default_backend() != "cpu" else _MATRIX // 8
    matrix = jnp.ones((size, size), jnp.bfloat16 if half_precision else jnp.float32)
    multiply = jax.jit(partial(jnp.matmul, matrix))
    spent, _ = measure(lambda _: multiply(matrix), seconds)
    return 2 * size**3 / spent
