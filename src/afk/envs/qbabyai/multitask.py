"""Several tasks of Q-BabyAI in one environment, all in worlds of one size."""

from collections.abc import Sequence
from dataclasses import replace

import jax
import jax.numpy as jnp

from afk.envs.multitask import MultiTask
from afk.envs.qbabyai.environment import GridWorld, QBabyAI
from afk.envs.qbabyai.levels.tasks import Task
from afk.envs.qbabyai.world import cells
from afk.envs.qbabyai.world.state import State
from afk.knowledge.traits import SourceSpec


class MultiTaskGrid(MultiTask[State], GridWorld):
    """Tasks that are played side by side; each level keeps its own length and rules.

    Attributes:
        shape: the height and the width that hold the world of every task.
    """

    def __init__(self, *tasks: Task, beside: Sequence[Task] = ()) -> None:
        """A world for some tasks that would hold those `beside` them, too."""
        super().__init__(*tasks)
        self.parts = tuple(QBabyAI(task) for task in tasks)
        self.task_count = len(tasks)
        heights, widths = zip(*(task.plan.shape for task in (*tasks, *beside)), strict=True)
        self.shape = (max(heights), max(widths))
        self._identity = (tasks, self.shape)

    def with_sources(self, sources: Sequence[SourceSpec]) -> GridWorld:
        """See `GridWorld`."""
        other = super().with_sources(sources)
        if isinstance(other, MultiTaskGrid) and other is not self:
            other.parts = tuple(part.with_sources(sources) for part in self.parts)
        return other

    def draw_many(self, key: jax.Array, size: int) -> State:
        """See `MultiTask`."""
        return self.retell(MultiTask.draw_many(self, key, size), key)

    def enlarge(self, state: State) -> State:
        """Put worlds, (..., height, width), into larger ones: walls on the right and below.

        Rooms and positions keep their numbers, and the view shows walls beyond the border anyway: nothing
        that the agent sees or does becomes another.
        """
        *leading, height, width = state.grid.shape
        margins = [(0, 0)] * len(leading) + [(0, self.shape[0] - height), (0, self.shape[1] - width)]
        return replace(state, grid=jnp.pad(state.grid, margins, constant_values=cells.WALL))
