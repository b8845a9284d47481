"""Updates, compiled: what training does on the device between two lines of its log."""

import time
from functools import partial
from itertools import pairwise
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.sharding import Mesh

from afk.learning.algorithm import algorithm_of
from afk.learning.devices import on_devices, side_by_side
from afk.learning.rollout import TrainingLevels
from afk.learning.schedules import Schedules
from afk.training.build import play_of, schedules_of
from afk.training.config import Config

Learner = Any  # a pytree of the algorithm's own; see `Algorithm`


class CompiledUpdates:
    """A compiled function that does `log_every` updates; episodes come back summed and losses averaged.

    Attributes:
        seconds: until it was traced, lowered, and compiled, or loaded if it had been compiled before.
    """

    def __init__(self, config: Config, learner: Learner, levels: TrainingLevels, mesh: Mesh) -> None:
        """Compile it for what learners and levels look like."""
        arrays, self._static = eqx.partition(learner, eqx.is_array)
        shardings = jax.tree.map(lambda leaf: leaf.sharding, arrays)
        run = jax.jit(
            partial(_run_updates, config, self._static),
            donate_argnums=0,
            out_shardings=(shardings, None, None),
        )
        marks = [time.perf_counter()]
        with on_devices(mesh):
            traced = run.trace(arrays, levels, schedules_of(config, 0))
            marks.append(time.perf_counter())
            lowered = traced.lower()
            marks.append(time.perf_counter())
            self._compiled = lowered.compile()
            marks.append(time.perf_counter())
        took = (end - start for start, end in pairwise(marks))
        self.seconds = dict(zip(("traced", "lowered", "compiled"), took, strict=True))

    @property
    def program(self) -> str:
        """The compiled program, as text."""
        return self._compiled.as_text() or ""

    def __call__(
        self, learner: Learner, levels: TrainingLevels, schedules: Schedules
    ) -> tuple[Learner, Any, Any]:
        """The learners after the updates, what their episodes amounted to, and their losses."""
        arrays, episodes, losses = self._compiled(eqx.filter(learner, eqx.is_array), levels, schedules)
        return eqx.combine(arrays, self._static), episodes, losses


def _run_updates(
    config: Config, static: Any, arrays: Any, levels: TrainingLevels, schedules: Schedules
) -> tuple[Any, Any, Any]:
    """The updates of all seeds."""
    algorithm, play = algorithm_of(config.settings), play_of(config)

    def run_seed(arrays: Any, levels: TrainingLevels) -> tuple[Any, Any, Any]:
        def body(arrays: Any, _: None) -> tuple[Any, Any]:
            learner = eqx.combine(arrays, static)
            learner, episodes, losses = algorithm.update(play, config.settings, learner, levels, schedules)
            return eqx.filter(learner, eqx.is_array), (episodes, losses)

        arrays, (episodes, losses) = jax.lax.scan(body, arrays, length=config.log_every)
        summed = jax.tree.map(lambda leaf: leaf.sum(0), episodes)
        # Updates without a finite gradient do not count: the mean is not a number only if all were such.
        return arrays, summed, jax.tree.map(lambda leaf: jnp.nanmean(leaf, 0), losses)

    return side_by_side(run_seed, arrays, levels, in_turn=algorithm.in_turn)
