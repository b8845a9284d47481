"""Several tasks in one environment: levels in turn, all of one shape."""

from abc import abstractmethod
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp

from afk.envs.core import Environment

StateT = TypeVar("StateT", bound=eqx.Module)


class MultiTask(Environment[StateT]):
    """Tasks that are played side by side; each level keeps its own rules.

    Attributes:
        parts: the environment of each task.
    """

    parts: tuple[Environment[StateT], ...]

    @abstractmethod
    def enlarge(self, state: StateT) -> StateT:
        """A state of a part, or several with leading axes, in the shape that holds those of every part."""

    def draw(self, key: jax.Array) -> tuple[StateT, jax.Array]:
        """Draw a task, and then its levels until one is sound.

        A task of which few draws are sound would come too rarely if it were drawn anew with every level.
        """
        if len(self.parts) == 1:  # by itself a task has the levels that it has without a mixture
            state, sound = self.parts[0].draw(key)
            return self.enlarge(state), sound
        task_key, level_key = jax.random.split(key)
        task = jax.random.randint(task_key, (), 0, len(self.parts))
        draws = [lambda key, part=part: self.enlarge(part.reset(key)[0]) for part in self.parts]
        return jax.lax.switch(task, draws, level_key), jnp.bool_(True)

    def draw_many(self, key: jax.Array, size: int) -> StateT:
        """Draw levels in bulk, each task's by itself; level i is of task i modulo the number of tasks."""
        if len(self.parts) == 1:  # here: what is compiled in a thread of its own leaves its memory behind
            return _interleave(self, [self.parts[0].draw_many(key, size)], size)
        share = -(-size // len(self.parts))
        keys = jax.random.split(key, len(self.parts))
        # Side by side: each task has a program of its own, and compiling them in turn would take minutes.
        with ThreadPoolExecutor() as pool:
            drawn = list(pool.map(lambda part, key: part.draw_many(key, share), self.parts, keys))
        return _interleave(self, drawn, size)


@partial(jax.jit, static_argnums=(0, 2))
def _interleave(mixture: MultiTask[StateT], shares: list[StateT], size: int) -> StateT:
    """The first states of equal shares, one of each in turn."""

    def take_turns(*leaves: jax.Array) -> jax.Array:
        return jnp.stack(leaves, axis=1).reshape(-1, *leaves[0].shape[1:])[:size]

    return jax.tree.map(take_turns, *map(mixture.enlarge, shares))
