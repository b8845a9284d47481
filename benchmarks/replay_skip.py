"""Why a minibatch had no finite gradient: do the updates of a run again from the state that it kept before.

    python benchmarks/replay_skip.py RUN [--lines 400]

A run keeps `before-skip.safetensors` when a minibatch is first skipped (`losses.skipped` in its log). From
there the same program does the same updates, to the last bit on the same machine with the same cache of
compiled programs. The line that skips is done once more, which tells chance from cause, and then minibatch by
minibatch: everything that is not finite is named, in the run's precision and in float32.
"""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.sharding import Mesh

from afk.learning.algorithm import algorithm_of
from afk.learning.ppo import PPO, Learner, Settings, draw_minibatches, gather, learn_from, loss, normalise
from afk.learning.precision import in_compute_precision
from afk.learning.rollout import Play, TrainingLevels
from afk.learning.schedules import Schedules
from afk.learning.sequences import Sequences
from afk.training import checkpoint
from afk.training.build import mesh_of, play_of, schedules_of
from afk.training.config import Config, read_config
from afk.training.keeping import BEFORE_SKIP
from afk.training.levels import draw_training_levels
from afk.training.starting import first_learners
from afk.training.trainer import spread_learner
from afk.training.update import CompiledUpdates


def main() -> None:
    """Replay a run, and print what was found as JSON."""
    parser = argparse.ArgumentParser(description="Find out why a minibatch had no finite gradient.")
    parser.add_argument("run", type=Path, help="the folder of a run")
    parser.add_argument("--devices", type=int, help="how many the run had; all there are if not given")
    parser.add_argument("--lines", type=int, default=400, help="lines of the log to look through at most")
    arguments = parser.parse_args()
    try:
        config = read_config(arguments.run)
        if algorithm_of(config.settings) is not PPO:
            raise ValueError("only runs of PPO skip minibatches")
        learner = checkpoint.load(arguments.run / BEFORE_SKIP, first_learners(config))
        mesh = mesh_of(config, arguments.devices)
    except ValueError as error:
        sys.exit(f"error: {error}")
    print(json.dumps(replay(config, learner, arguments.lines, mesh), indent=2))


def replay(config: Config, learner: Learner, lines: int, mesh: Mesh) -> dict[str, Any]:
    """What became of a run's updates, done again.

    Args:
        config: the run.
        learner: where it stood, with a leading axis of seeds.
        lines: how many lines of its log are done at most.
        mesh: the devices that do them.
    """
    learner = spread_learner(learner, mesh)  # or it would be another program
    begun = done = int(learner.updates[0])
    run_updates = CompiledUpdates(config, learner, draw_training_levels(config, done), mesh)
    for _ in range(lines):
        levels, schedules = draw_training_levels(config, done), schedules_of(config, done)
        before = _copy(learner)
        learner, _, losses = run_updates(learner, levels, schedules)
        if (losses.skipped > 0).any():
            _, _, again = run_updates(_copy(before), levels, schedules)
            return {
                "updates": done,
                "skipped": losses.skipped.tolist(),
                "skipped_again": again.skipped.tolist(),
                "minibatches": find_broken(
                    config, spread_learner(before, mesh_of(config, 1)), levels, schedules
                ),
            }
        done = int(learner.updates[0])
    return {"updates": [begun, done], "skipped": "nothing: what happened did not happen again"}


def _copy(tree: Any) -> Any:
    """The same with arrays of its own, since updates take the memory of what they are given."""
    return jax.tree.map(lambda leaf: jnp.copy(leaf) if eqx.is_array(leaf) else leaf, tree)


def find_broken(
    config: Config, learners: Learner, levels: TrainingLevels, schedules: Schedules
) -> list[dict[str, Any]]:
    """What is not finite in each minibatch of the updates between two lines of the log that has such."""
    settings, found = config.settings, []
    steps = _Steps.make(play_of(config), settings)
    for index, seed in enumerate(config.seeds):
        learner, own = jax.tree.map(
            lambda leaf, index=index: leaf[index] if eqx.is_array(leaf) else leaf, (learners, levels)
        )
        for number in range(config.log_every):
            learner, broken = _update(steps, settings, learner, own, schedules)
            found += [{"seed": seed, "update": number, **each} for each in broken]
    return found


class _Steps(NamedTuple):
    """The compiled parts of an update: collecting experience, and learning from a minibatch of it."""

    collect: Callable[..., Any]
    learn: Callable[..., Any]

    @staticmethod
    def make(play: Play, settings: Settings) -> "_Steps":
        """Those of a run, compiled when they are first called."""

        def learn(params: Any, static: Any, state: Any, minibatch: Sequences, schedules: Schedules) -> Any:
            def combine(each: Any) -> Any:
                return eqx.combine(each, static)

            return learn_from(params, state, combine, minibatch, settings, schedules)

        return _Steps(eqx.filter_jit(partial(gather, play, settings)), eqx.filter_jit(learn))


def _update(
    steps: _Steps, settings: Settings, learner: Learner, levels: TrainingLevels, schedules: Schedules
) -> tuple[Learner, list[dict[str, Any]]]:
    """An update as `afk.learning.ppo.update` does it, minibatch by minibatch on the host."""
    key, collect_key, learn_key = jax.random.split(learner.key, 3)
    actors, sequences, _ = steps.collect(learner, levels, schedules, collect_key)
    params, static = eqx.partition(learner.agent, eqx.is_inexact_array)
    state, broken = learner.optimiser, []
    for number, chosen in enumerate(draw_minibatches(settings, learn_key)):
        minibatch = jax.tree.map(lambda leaf, chosen=chosen: leaf[chosen], sequences)
        before = params
        params, state, losses, gradients = steps.learn(params, static, state, minibatch, schedules)
        if losses.skipped:
            agent = eqx.combine(before, static)
            found = describe(agent, minibatch, gradients, settings, schedules)
            broken.append({"minibatch": number, "losses": _numbers(losses), **found})
    memory = jnp.nan_to_num(actors.memory, posinf=0.0, neginf=0.0)
    agent = eqx.combine(params, static)
    return Learner(agent, state, replace(actors, memory=memory), key, learner.updates + 1), broken


def describe(
    agent: Any, minibatch: Sequences, gradients: Any, settings: Settings, schedules: Schedules
) -> dict[str, Any]:
    """What is not finite of a minibatch, from what goes in to the gradient, and what is none in float32."""
    experience = jax.tree.map(lambda leaf: leaf.swapaxes(0, 1), minibatch.experience)
    policy = in_compute_precision(agent, settings.half_precision)
    run = eqx.filter_jit(lambda policy, memory, *given: policy(memory, *given)[1])
    output = run(policy, minibatch.memory, experience.seen, experience.reading, experience.starts)
    given = {name: getattr(minibatch, name) for name in ("memory", "advantage", "target")}
    given |= {name: getattr(experience, name) for name in ("log_probability", "value")}
    exact = replace(settings, half_precision=False)
    paid = normalise(minibatch, exact)
    in_float32 = eqx.filter_grad(lambda each: loss(each, paid, exact, schedules), has_aux=True)
    return {
        "inputs": not_finite(given),
        # Impossible words have minus infinity.
        "output": [name for name, leaf in _named(output) if jnp.isnan(leaf).any()],
        "gradients": not_finite(gradients),
        "gradients_in_float32": not_finite(eqx.filter_jit(in_float32)(agent)[0]),
    }


def not_finite(tree: Any) -> list[str]:
    """The names of the arrays of a pytree that hold what is not finite."""
    return [name for name, leaf in _named(tree) if not jnp.isfinite(leaf).all()]


def _named(tree: Any) -> list[tuple[str, jax.Array]]:
    return [
        (jax.tree_util.keystr(path), leaf)
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree)
        if eqx.is_inexact_array(leaf)
    ]


def _numbers(losses: Any) -> dict[str, str]:
    """Losses as text: JSON has no word for what is not a number."""
    return {name: str(float(value)) for name, value in losses._asdict().items()}


if __name__ == "__main__":
    main()
