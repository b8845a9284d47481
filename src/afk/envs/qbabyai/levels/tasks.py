"""The tasks of Q-BabyAI as data: a floor plan and clauses (paper, appendix A.1, tables 7 and 8)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import jax

from afk.envs.qbabyai.levels.builder import LevelBuilder
from afk.envs.qbabyai.levels.clause import Clause
from afk.envs.qbabyai.levels.clauses import Danger, GoToFavorite, GreenSquare, ObjectInBox, OpenDoor
from afk.envs.qbabyai.levels.floorplan import FloorPlan
from afk.envs.qbabyai.levels.layout import Needs, draw_layout
from afk.envs.qbabyai.world.cells import COLOURS
from afk.envs.qbabyai.world.state import State

PAPER_CLAUSES = (ObjectInBox, Danger, GoToFavorite, OpenDoor)
_LETTERS = "".join(clause.symbol for clause in PAPER_CLAUSES)
_TITLES = ", ".join(clause.title for clause in PAPER_CLAUSES)


@dataclass(frozen=True)
class Task:
    """A floor plan and the clauses that furnish it.

    Attributes:
        name: ``qbabyai/...``, what the task is called everywhere.
        plan: its rooms.
        clauses: what it is made of, each clause at most once.
        joined_by: what stands between two clauses of the instruction.
    """

    name: str
    plan: FloorPlan
    clauses: tuple[Clause, ...]
    joined_by: str = ","

    def __post_init__(self) -> None:
        if not self.clauses or not all(isinstance(clause, Clause) for clause in self.clauses):
            raise ValueError(f"task {self.name!r}: its clauses must be one or more of {_TITLES}, or your own")
        kinds = [type(clause) for clause in self.clauses]
        roles = [clause.role for clause in self.clauses if clause.role != "destination"]
        if len(set(kinds)) < len(kinds) or len(set(roles)) < len(roles):
            raise ValueError(f"task {self.name!r}: each of {_TITLES} can stand in it only once")
        for clause in self.clauses:
            clause.check(self)

    @property
    def lock(self) -> Clause | None:
        """The clause with a lock, such as Open Door, if the task has one."""
        return self._find("lock")

    @property
    def hazard(self) -> Clause | None:
        """The clause with a hazard, such as Danger, if the task has one."""
        return self._find("hazard")

    @property
    def destination(self) -> Clause | None:
        """What the agent is after; nothing in Open Door alone, where the lock is the goal."""
        return self._find("destination") or (GreenSquare() if self.hazard else None)

    def _find(self, role: str) -> Clause | None:
        """The clause that has a role."""
        found = [clause for clause in self.clauses if clause.role == role]
        return max(found, key=lambda clause: clause.precedence, default=None)

    @property
    def _roles(self) -> tuple[Clause | None, ...]:
        """What a level is made of, in the order of building."""
        return self.hazard, self.lock, self.destination

    @property
    def needs(self) -> Needs:
        """What its layouts must hold."""
        return Needs(
            **{name: value for clause in self._roles if clause for name, value in clause.needs.items()}
        )

    @property
    def questions(self) -> tuple[str, ...]:
        """The good queries Q_t in words; a level's own are in its `Level`."""
        order = (self.hazard, self.destination, self.lock)
        return tuple(each for clause in order if clause for each in clause.questions(self.plan.rooms))

    @property
    def max_steps(self) -> int:
        """Steps until an episode is cut off."""
        return self.plan.room_size**2 * self.plan.rooms

    @property
    def ends_early(self) -> bool:
        """Whether a mistake ends the episode."""
        return any(clause.ends_early for clause in self._roles if clause)

    @property
    def symbol(self) -> str:
        """The paper's suits as letters: C, S, D, H for Object in Box, Danger, Go to Favorite, Open Door."""
        letters = [clause.symbol for clause in self.clauses]
        known = [letter for letter in _LETTERS if letter in letters]
        return "".join([*known, *(letter for letter in letters if letter not in known)])

    @property
    def title(self) -> str:
        """The task's clauses in words, and what its name says beyond these."""
        clauses, name = " + ".join(clause.title for clause in self.clauses), self.name.rpartition("/")[2]
        beyond = name.removeprefix(_name(self.clauses)).strip("-").replace("-", " ")
        return f"{clauses} ({beyond})" if beyond else clauses

    def draw(self, key: jax.Array) -> tuple[State, jax.Array]:
        """Draw a level, and say whether it is sound; levels that are not must not be played."""
        layout_key, builder_key, *clause_keys = jax.random.split(key, 5)
        layout, sound = draw_layout(self.plan, self.needs, layout_key)
        builder = LevelBuilder(self.plan, layout, joined_by=self.joined_by)
        for clause, clause_key in zip(self._roles, clause_keys, strict=True):
            if clause:
                clause.build(builder, clause_key)
        builder.rules["unlocking_pays"] = bool(self.lock and self.destination)
        return builder.finish(builder_key), sound


def paper_tasks() -> tuple[Task, ...]:
    """The fifteen tasks of the paper, and the two-room form of Object in Box + Danger."""
    box, danger, favorite = ObjectInBox(), Danger(), GoToFavorite()
    any_two = GoToFavorite(objects=2, kinds=("key", "ball", "box"), colours=COLOURS)
    two_keys, far_keys = OpenDoor(keys=2), OpenDoor(keys=2, keys_apart=True)
    one_room, two_rooms, three_rooms = FloorPlan(), FloorPlan(columns=2), FloorPlan(columns=3)
    nine_rooms, nine_open_rooms = FloorPlan(3, 3, 5), FloorPlan(3, 3, 5, open_doors=True)
    return (
        _named(FloorPlan(room_size=9), box),
        _named(one_room, danger),
        _named(nine_open_rooms, favorite),
        _named(two_rooms, OpenDoor(keys=3)),
        _named(one_room, box, danger),
        _named(nine_open_rooms, box, favorite),
        replace(_named(two_rooms, box, two_keys), joined_by=", and"),
        _named(two_rooms, danger, any_two),
        _named(two_rooms, danger, two_keys),
        _named(nine_rooms, favorite, far_keys),
        _named(two_rooms, box, danger, favorite),
        _named(three_rooms, box, danger, two_keys),
        _named(nine_rooms, box, favorite, two_keys),
        _named(three_rooms, danger, any_two, two_keys),
        _named(FloorPlan(3, 3, 7), box, danger, favorite, far_keys),
        Task("qbabyai/object-in-box+danger-two-rooms", two_rooms, (box, danger)),
    )


def _named(plan: FloorPlan, *clauses: Clause) -> Task:
    """A task named after its clauses."""
    return Task(f"qbabyai/{_name(clauses)}", plan, clauses)


def _name(clauses: Sequence[Clause]) -> str:
    """What a task of some clauses is called."""
    return "+".join(clause.title.lower().replace(" ", "-") for clause in clauses)
