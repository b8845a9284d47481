"""What counts as success, as data: a level holds the number of its goal.

A goal says when it is reached, for the device, and where the expert has to go and what it does there, for the
solver. A clause may bring a goal of its own: `register_goal` before any world is stepped, since programs that
are compiled know the goals that there are then.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax

from afk.envs.qbabyai.world import cells


class Situation(NamedTuple):
    """What a goal may look at after a step.

    Attributes:
        underfoot: () uint8, the cell that the agent stands on.
        ahead: () uint8, the cell in front of it.
        carrying: () uint8, the cell in its hands, or `EMPTY`.
        opened_box: () uint8, the box that was opened at this step, or `EMPTY`.
        unlocked: () bool, whether a lock has been opened.
        target: () uint8, the cell that the goal is about.
    """

    underfoot: jax.Array
    ahead: jax.Array
    carrying: jax.Array
    opened_box: jax.Array
    unlocked: jax.Array
    target: jax.Array


@dataclass(frozen=True)
class Goal:
    """A kind of success.

    Attributes:
        name: what it is called.
        reached: whether a situation is success: () bool.
        place: where the expert goes: ``on`` the target, ``facing`` it, or to the ``lock``.
        action: what it does there, a physical action; None if being there is enough.
    """

    name: str
    reached: Callable[[Situation], jax.Array]
    place: Literal["on", "facing", "lock"]
    action: int | None = None


# The target's box is opened; the agent stands on the target; it faces the target; the lock is opened.
OPEN_BOX, STAND_ON, FACE, UNLOCK = range(4)
GOALS: list[Goal] = [
    Goal("open box", lambda now: now.opened_box == now.target, "facing", cells.TOGGLE),
    Goal("stand on", lambda now: now.underfoot == now.target, "on"),
    Goal("face", lambda now: now.ahead == now.target, "facing"),
    Goal("unlock", lambda now: now.unlocked, "lock", cells.TOGGLE),
]


def register_goal(goal: Goal) -> int:
    """Make a goal known; returns its number, which is the same if the same goal is registered again."""
    if goal in GOALS:
        return GOALS.index(goal)
    if any(goal.name == each.name for each in GOALS):
        raise ValueError(f"a goal named {goal.name!r} is registered already")
    GOALS.append(goal)
    return len(GOALS) - 1
