"""The geometry of the released levels as data, a row a task; cells are (x, y), walls included."""

from dataclasses import dataclass
from typing import Literal

from afk.envs.qbabyai.levels.clause import Clause
from afk.envs.qbabyai.levels.clauses import GoToFavorite
from afk.envs.qbabyai.levels.floorplan import FloorPlan
from afk.envs.qbabyai.released.clauses import AnyFavorite, ColouredKeys
from afk.envs.qbabyai.world.cells import BLUE

# A cell, the number of a room, or a room that is drawn: any, the agent's, or another than the agent's.
Place = tuple[int, int] | int | Literal["any", "home", "away"]
# Which way a room's rivers can be crossed: from top left to bottom right, from bottom left to top right, or
# from top left to bottom right and back on a way of its own.
Rivers = Literal["diagonal", "anti-diagonal", "there and back"]


@dataclass(frozen=True)
class Released:
    """What a released task is made of.

    Attributes:
        plan: its rooms.
        agent: where the agent starts; it faces down if that is a cell, and anywhere otherwise.
        things: where the things stand that could be the target.
        keys: where the keys of the lock lie.
        doors: a cell for each door of the plan; ``middle`` of each wall, or ``anywhere`` in it.
        locks: the numbers of the doors that are locked; ``beside`` locks all doors of the room that one comes
            to by dividing the target's cell by the size of a room, walls counted twice: the next room where
            the target stands on the first line behind a wall of the last row or column.
        door_colour: of every door; drawn for each if it is None.
        rivers: how those of each room can be crossed; nothing if there are none.
        clauses: what stands in the place of clauses of our edition.
        unlocking_pays: whether opening a lock pays, though it is not the goal.
        boxes_passable: whether boxes can be walked over.
    """

    plan: FloorPlan
    agent: Place
    things: tuple[Place, ...] = ()
    keys: tuple[Place, ...] = ()
    doors: tuple[tuple[int, int], ...] | Literal["middle", "anywhere"] = "anywhere"
    locks: tuple[int, ...] | Literal["beside"] = ()
    door_colour: int | None = None
    rivers: tuple[Rivers, ...] = ()
    clauses: tuple[Clause, ...] = ()
    unlocking_pays: bool = False
    boxes_passable: bool = False


_ONE, _TWO, _THREE = FloorPlan(), FloorPlan(columns=2), FloorPlan(columns=3)
_TWO_OPEN, _THREE_OPEN = FloorPlan(columns=2, open_doors=True), FloorPlan(columns=3, open_doors=True)
_NINE_OPEN = FloorPlan(3, 3, 5, open_doors=True)
_NINE, _NINE_LARGE = FloorPlan(3, 3, 5, walled_up=((1, 2),)), FloorPlan(3, 3, 7, walled_up=((1, 2),))
_BY_PAIRS: tuple[Rivers, ...] = ("anti-diagonal", "diagonal", "anti-diagonal")
_TWO_KEYS = ColouredKeys(keys=2, colours=("blue", "green"))
_ANY_TWO = AnyFavorite(objects=2)

RELEASED: dict[str, Released] = {
    "C": Released(FloorPlan(room_size=9), agent=0, things=(0, 0)),
    "S": Released(_ONE, agent=(2, 1), things=((5, 5),), rivers=("diagonal",)),
    "D": Released(_NINE_OPEN, agent="any", things=("any", "any", "any")),
    "H": Released(
        _TWO,
        agent=0,
        keys=(0, 0, 0),
        locks=(0,),
        door_colour=BLUE,
        clauses=(ColouredKeys(keys=3, colours=("blue", "green", "grey")),),
    ),
    "CS": Released(_ONE, agent=(2, 1), things=((1, 5), (5, 5)), rivers=("anti-diagonal",)),
    "CD": Released(_NINE_OPEN, agent="any", things=("any", "any")),
    "CH": Released(
        _TWO,
        agent=0,
        things=(1, 1),
        keys=(0, 0),
        locks=(0,),
        clauses=(_TWO_KEYS,),
        unlocking_pays=True,
    ),
    "SD": Released(
        _TWO_OPEN,
        agent=(6, 1),
        things=((1, 5), (11, 5)),
        doors=((6, 1),),
        rivers=_BY_PAIRS[:2],
        clauses=(_ANY_TWO,),
    ),
    "SH": Released(
        _TWO,
        agent=(1, 5),
        things=((11, 5),),
        keys=((4, 1), (5, 2)),
        doors=((6, 1),),
        locks=(0,),
        rivers=_BY_PAIRS[:2],
        clauses=(_TWO_KEYS,),
        unlocking_pays=True,
    ),
    "DH": Released(
        _NINE,
        agent="any",
        things=("any", "any", "any"),
        keys=("home", "home"),
        locks="beside",
        clauses=(GoToFavorite(), _TWO_KEYS),
        unlocking_pays=True,
    ),
    "CSD": Released(_TWO_OPEN, agent=(6, 1), things=((1, 5), (11, 5)), doors=((6, 1),), rivers=_BY_PAIRS[:2]),
    "CSH": Released(
        _THREE_OPEN,
        agent=(1, 5),
        things=((17, 1), (11, 5)),
        keys=((4, 1), (5, 2)),
        doors=((6, 1), (12, 5)),
        locks=(0,),
        rivers=_BY_PAIRS,
        clauses=(_TWO_KEYS,),
        boxes_passable=True,
    ),
    "CDH": Released(
        _NINE,
        agent="any",
        things=("away", "away"),
        keys=("home", "home"),
        locks="beside",
        clauses=(_TWO_KEYS,),
        boxes_passable=True,
    ),
    "SDH": Released(
        _THREE,
        agent=(7, 1),
        things=((1, 5), (17, 1)),
        keys=((7, 5), (11, 5)),
        doors=((6, 1), (12, 5)),
        locks=(0, 1),
        rivers=_BY_PAIRS,
        clauses=(_ANY_TWO, ColouredKeys(keys=2, colours=("blue", "green", "grey"), first_fits=True)),
    ),
    "CSDH": Released(
        _NINE_LARGE,
        agent="any",
        things=("away", "away"),
        keys=("home", "home"),
        doors="middle",
        locks="beside",
        rivers=("there and back",) * 9,
        clauses=(_TWO_KEYS,),
        boxes_passable=True,
    ),
}
