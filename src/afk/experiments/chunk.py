"""A chunk of updates, compiled: what training does on the device between two looks at it."""

import time
from functools import partial
from typing import Any, TypeAlias

import equinox as eqx
import jax
from jax.sharding import Mesh

from afk.experiments.config import Config
from afk.learn import dqn, ppo
from afk.learn.parallel import side_by_side
from afk.learn.ppo import Pace
from afk.learn.rollout import Course

Learner: TypeAlias = ppo.Learner | dqn.Learner


class Chunk:
    """A compiled function that does some updates; episodes come back summed and losses averaged.

    Attributes:
        compile_seconds: what compiling it took.
    """

    def __init__(self, config: Config, learner: Learner, courses: Course, mesh: Mesh) -> None:
        """Compile it for what learners and levels look like."""
        arrays, self._static = eqx.partition(learner, eqx.is_array)
        shardings = jax.tree.map(lambda leaf: leaf.sharding, arrays)
        run = jax.jit(
            partial(_run_chunk, config, self._static), donate_argnums=0, out_shardings=(shardings, None, None)
        )
        start = time.perf_counter()
        with jax.set_mesh(mesh):
            self._compiled = run.lower(arrays, courses, config.pace_at(0)).compile()
        self.compile_seconds = time.perf_counter() - start

    @property
    def program(self) -> str:
        """The compiled program, as text."""
        return self._compiled.as_text() or ""

    def __call__(self, learner: Learner, courses: Course, pace: Pace) -> tuple[Learner, Any, Any]:
        """The learners after a chunk, what their episodes amounted to, and their losses."""
        arrays, episodes, losses = self._compiled(eqx.filter(learner, eqx.is_array), courses, pace)
        return eqx.combine(arrays, self._static), episodes, losses


def _run_chunk(config: Config, static: Any, arrays: Any, courses: Course, pace: Pace) -> tuple[Any, Any, Any]:
    """A chunk of updates for all seeds."""
    settings = config.settings
    is_dqn = isinstance(settings, dqn.Settings)
    update: Any = dqn.update if is_dqn else ppo.update

    def run_seed(arrays: Any, course: Course) -> tuple[Any, Any, Any]:
        def body(arrays: Any, _: None) -> tuple[Any, Any]:
            learner = eqx.combine(arrays, static)
            learner, episodes, losses = update(config.play, settings, learner, course, pace)
            return eqx.filter(learner, eqx.is_array), (episodes, losses)

        arrays, (episodes, losses) = jax.lax.scan(body, arrays, length=config.chunk)
        summed = jax.tree.map(lambda leaf: leaf.sum(0), episodes)
        return arrays, summed, jax.tree.map(lambda leaf: leaf.mean(0), losses)

    return side_by_side(run_seed, arrays, courses, in_turn=is_dqn)
