"""Several tasks of Q-TextWorld in one environment, all with room for as many things."""

from collections.abc import Sequence
from dataclasses import replace

import jax
import jax.numpy as jnp

from afk.envs.multitask import MultiTask
from afk.envs.qtextworld.environment import CookingGames, QTextWorld
from afk.envs.qtextworld.levels.bank import Bank
from afk.envs.qtextworld.levels.tasks import Task
from afk.envs.qtextworld.world.state import UNUSED, Contents, State
from afk.knowledge.traits import Dealings, SourceSpec

_ALIKE = ("functions", "furniture", "max_steps")  # what tasks have in common that are mixed


class MultiTaskKitchen(MultiTask[State], CookingGames):
    """Tasks that are played side by side; they have the same verbs, as much furniture, as many steps.

    Attributes:
        things: how many things a game of any of them has at most.
    """

    def __init__(self, *tasks: Task, bank: Bank | None = None, beside: Sequence[Task] = ()) -> None:
        """A world for games of some tasks that would hold those `beside` them, too."""
        super().__init__(*tasks, bank=bank, beside=beside)
        for what in _ALIKE:
            if len({getattr(task, what) for task in (*tasks, *beside)}) > 1:
                raise ValueError(f"{self.name}: only tasks with the same {what} can be mixed")
        self.parts = tuple(QTextWorld(task, self.bank) for task in tasks)
        self.task_count = len(tasks)
        self.things = max(task.things for task in (*tasks, *beside))

    def with_sources(self, sources: Sequence[SourceSpec]) -> CookingGames:
        """See `CookingGames`."""
        other = super().with_sources(sources)
        if isinstance(other, MultiTaskKitchen) and other is not self:
            other.parts = tuple(part.with_sources(sources) for part in self.parts)
        return other

    def draw_many(self, key: jax.Array, size: int) -> State:
        """See `MultiTask`."""
        return self.retell(MultiTask.draw_many(self, key, size), key)

    def enlarge(self, state: State) -> State:
        """Add slots for things, after those that are there; nothing is in them."""
        more = self.things - state.place.shape[-1]

        def pad(leaf: jax.Array, blank: int = 0) -> jax.Array:
            margins = [(0, 0)] * (leaf.ndim - 1) + [(0, more)]
            return jnp.pad(leaf, margins, constant_values=blank)

        def pad_dealings(dealings: Dealings) -> Dealings:
            first: Contents | None = dealings.first_facts
            if first is not None:
                first = Contents(pad(first.place, UNUSED), pad(first.cut), pad(first.cooking))
            return replace(dealings, beliefs=pad(dealings.beliefs), first_facts=first)

        game = state.game
        return replace(
            state,
            game=replace(
                game,
                things=pad(game.things, UNUSED),
                is_ingredient=pad(game.is_ingredient),
                cut=pad(game.cut),
                cooking=pad(game.cooking),
            ),
            place=pad(state.place, UNUSED),
            cut=pad(state.cut),
            cooking=pad(state.cooking),
            heat=pad(state.heat),
            asked=pad(state.asked),
            dealings=None if state.dealings is None else pad_dealings(state.dealings),
        )


def is_alike(task: Task, other: Task) -> bool:
    """Whether two tasks can be mixed."""
    return all(getattr(task, what) == getattr(other, what) for what in _ALIKE)
