"""Several tasks in one environment: levels in equal shares, all in worlds of one size."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp

from afk.envs.qbabyai import cells
from afk.envs.qbabyai.environment import GridWorld, QBabyAI
from afk.envs.qbabyai.state import State
from afk.envs.qbabyai.tasks import Task


class Mixture(GridWorld):
    """Tasks that are played side by side; each level keeps its own length and rules.

    Attributes:
        parts: the environment of each task.
        shape: the height and the width that hold the world of every task.
    """

    def __init__(self, *tasks: Task) -> None:
        super().__init__(*tasks)
        self.parts = tuple(QBabyAI(task) for task in tasks)
        self.turns = len(tasks)
        heights, widths = zip(*(task.plan.shape for task in tasks), strict=True)
        self.shape = (max(heights), max(widths))

    def draw(self, key: jax.Array) -> tuple[State, jax.Array]:
        """Draw a task, and then its levels until one is sound.

        A task of which few draws are sound would come too rarely if it were drawn anew with every level.
        """
        task_key, level_key = jax.random.split(key)
        task = jax.random.randint(task_key, (), 0, len(self.parts))
        draws = [lambda key, part=part: enlarge(part.reset(key)[0], self.shape) for part in self.parts]
        return jax.lax.switch(task, draws, level_key), jnp.bool_(True)

    def draw_many(self, key: jax.Array, size: int) -> State:
        """Draw levels in bulk, each task's by itself; level i is of task i modulo the number of tasks."""
        share = -(-size // len(self.parts))
        keys = jax.random.split(key, len(self.parts))
        drawn = [part.draw_many(part_key, share) for part, part_key in zip(self.parts, keys, strict=True)]
        return _interleave(drawn, self.shape, size)


def enlarge(state: State, shape: tuple[int, int]) -> State:
    """Put worlds, (..., height, width), into larger ones: walls on the right and below.

    Rooms and positions keep their numbers, and the view shows walls beyond the border anyway: nothing that
    the agent sees or does becomes another.
    """
    *leading, height, width = state.grid.shape
    margins = [(0, 0)] * len(leading) + [(0, shape[0] - height), (0, shape[1] - width)]
    return replace(state, grid=jnp.pad(state.grid, margins, constant_values=cells.WALL))


@partial(jax.jit, static_argnums=(1, 2))
def _interleave(shares: list[State], shape: tuple[int, int], size: int) -> State:
    """The first states of equal shares, one of each in turn."""

    def take_turns(*leaves: jax.Array) -> jax.Array:
        return jnp.stack(leaves, axis=1).reshape(-1, *leaves[0].shape[1:])[:size]

    return jax.tree.map(take_turns, *(enlarge(share, shape) for share in shares))
