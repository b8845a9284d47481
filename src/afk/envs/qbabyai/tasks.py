"""The tasks of Q-BabyAI as data: a floor plan and clauses (paper, appendix A.1, tables 7 and 8)."""

from dataclasses import dataclass, replace

import jax

from afk.envs.qbabyai.cells import COLOURS
from afk.envs.qbabyai.clauses import Clause, Danger, GoToFavorite, GreenSquare, ObjectInBox, OpenDoor
from afk.envs.qbabyai.floorplan import FloorPlan
from afk.envs.qbabyai.layout import Needs, draw_layout
from afk.envs.qbabyai.state import State
from afk.envs.qbabyai.story import Story


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
        known = (ObjectInBox, Danger, GoToFavorite, OpenDoor)
        kinds = [type(clause) for clause in self.clauses]
        titles = ", ".join(kind.title for kind in known)
        if not kinds or any(kind not in known for kind in kinds):
            raise ValueError(f"task {self.name!r}: its clauses must be one or more of {titles}")
        if len(set(kinds)) < len(kinds):
            raise ValueError(f"task {self.name!r}: each of {titles} can stand in it only once")
        if OpenDoor in kinds and self.plan.rooms < 2:
            raise ValueError(f"task {self.name!r}: Open Door needs at least two rooms")
        if Danger in kinds and self.plan.room_size < 5:
            raise ValueError(f"task {self.name!r}: Danger needs rooms of size 5 or more")
        if self.lock and isinstance(self.destination, GoToFavorite):
            self._check_keys(self.lock, self.destination)

    def _check_keys(self, lock: OpenDoor, favorite: GoToFavorite) -> None:
        """Refuse favourites that would have to look like a key of the lock."""
        choices = len(favorite.kinds) * len(favorite.colours)
        taken = min(lock.keys, len(favorite.colours)) if "key" in favorite.kinds else 0
        if favorite.objects > choices - taken:
            raise ValueError(
                f"task {self.name!r}: {favorite.objects} favourites cannot differ from {lock.keys} keys of "
                "the lock; give them more kinds or colours"
            )

    @property
    def lock(self) -> OpenDoor | None:
        """The clause Open Door, if the task has it."""
        return next((clause for clause in self.clauses if isinstance(clause, OpenDoor)), None)

    @property
    def danger(self) -> Danger | None:
        """The clause Danger, if the task has it."""
        return next((clause for clause in self.clauses if isinstance(clause, Danger)), None)

    @property
    def destination(self) -> ObjectInBox | GoToFavorite | GreenSquare | None:
        """What the agent is after; nothing in Open Door alone, where the lock is the goal.

        With Object in Box, the favourite of Go to Favorite is in a box: it is to be found all the same.
        """
        for kind in (ObjectInBox, GoToFavorite):
            for clause in self.clauses:
                if isinstance(clause, kind):
                    return clause
        return GreenSquare() if self.danger else None

    @property
    def needs(self) -> Needs:
        """What its layouts must hold."""
        return Needs(
            things=self.destination.things if self.destination else 0,
            keys=self.lock.keys if self.lock else 0,
            keys_apart=bool(self.lock and self.lock.keys_apart),
            locks=self.lock is not None,
            rivers=self.danger is not None,
        )

    @property
    def questions(self) -> tuple[str, ...]:
        """The good queries Q_t in words; a level's own are in its `Level`."""
        told = (self.danger, self.destination, self.lock)
        return tuple(question for clause in told if clause for question in clause.questions(self.plan.rooms))

    @property
    def max_steps(self) -> int:
        """Steps until an episode is cut off."""
        return self.plan.room_size**2 * self.plan.rooms

    @property
    def ends_early(self) -> bool:
        """Whether a mistake ends the episode."""
        return self.danger is not None or isinstance(self.destination, ObjectInBox)

    @property
    def symbol(self) -> str:
        """The paper's suits as letters: C, S, D, H for Object in Box, Danger, Go to Favorite, Open Door."""
        return "".join(letter for letter in "CSDH" if letter in {clause.symbol for clause in self.clauses})

    @property
    def title(self) -> str:
        """The task's clauses in words."""
        return " + ".join(clause.title for clause in self.clauses)

    def draw(self, key: jax.Array) -> tuple[State, jax.Array]:
        """Draw a level, and say whether it is sound; levels that are not must not be played."""
        layout_key, story_key, *clause_keys = jax.random.split(key, 5)
        layout, sound = draw_layout(self.plan, self.needs, layout_key)
        story = Story(self.plan, layout, joined_by=self.joined_by)
        for clause, clause_key in zip((self.danger, self.lock, self.destination), clause_keys, strict=True):
            if clause:
                clause.tell(story, clause_key)
        story.rules["unlocking_pays"] = bool(self.lock and self.destination)
        return story.finish(story_key), sound


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
    return Task(
        "qbabyai/" + "+".join(clause.title.lower().replace(" ", "-") for clause in clauses), plan, clauses
    )
