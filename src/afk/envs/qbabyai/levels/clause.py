"""What a clause is: the contract that `Task` relies on, so that a new one takes one file.

A clause brings its own things, facts, words of the instruction, good queries, letter, checks and goal; what
succeeds is a `Goal`, which the solver and the start-state curriculum read as well.
"""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import jax

from afk.envs.qbabyai.levels.builder import LevelBuilder

if TYPE_CHECKING:
    from afk.envs.qbabyai.levels.tasks import Task


class Clause(ABC):
    """A part of a task, as frozen data.

    Attributes:
        title: what it is called.
        symbol: its letter; empty if tasks with it are not called by letters.
        role: what it does in a level: a ``hazard`` on the way, a ``lock``, or the ``destination``. A task has
            each role once; of several destinations, that of the highest `precedence` counts.
        precedence: see `role`.
        ends_early: whether a mistake ends the episode.
        rule: what somebody who plays has to know of it, as a sentence; no question and no answer.
    """

    title: ClassVar[str]
    symbol: ClassVar[str] = ""
    role: ClassVar[Literal["hazard", "lock", "destination"]] = "destination"
    precedence: ClassVar[int] = 0
    ends_early: ClassVar[bool] = False
    rule: ClassVar[str] = ""

    @property
    def needs(self) -> dict[str, Any]:
        """What a layout must hold for it: fields of `Needs`."""
        return {}

    def check(self, task: "Task") -> None:
        """A ValueError if a task cannot have it."""
        del task

    @abstractmethod
    def questions(self, rooms: int) -> tuple[str, ...]:
        """What must be asked, in words, in a world of so many rooms."""

    @abstractmethod
    def build(self, builder: LevelBuilder, key: jax.Array) -> None:
        """Write its part of a level: things, facts, instruction, good queries, and what succeeds."""
