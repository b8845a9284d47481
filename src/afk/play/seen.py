"""What a player of Q-BabyAI has seen of a level so far: a map that fills up, and how it is put into words."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from afk.envs.qbabyai.world import cells
from afk.envs.qbabyai.world.state import Observation, State
from afk.envs.qbabyai.world.view import AGENT_COLUMN, AGENT_ROW, VIEW, seen_cells

DOORS = (cells.OPEN_DOOR, cells.CLOSED_DOOR, cells.LOCKED_DOOR)
OBJECTS = (cells.KEY, cells.BALL, cells.BOX, cells.SQUARE)
Cell = tuple[int, int]  # y and x


class Pose(NamedTuple):
    """Where somebody stands and looks."""

    cell: Cell
    direction: int

    @property
    def ahead(self) -> Cell:
        """The next cell."""
        x, y = cells.DIRECTIONS[self.direction]
        return self.cell[0] + int(y), self.cell[1] + int(x)


class Door(NamedTuple):
    """A door that was seen.

    Attributes:
        name: its state, colour and kind in words.
        cell: where it is.
        rooms: the rooms that it joins.
    """

    name: str
    cell: Cell
    rooms: tuple[int, int]


_NOWHERE = Pose((1, 1), 0)


@dataclass
class SeenMap:
    """What was seen of a level.

    Attributes:
        rows: rooms from north to south.
        columns: rooms from west to east.
        pitch: cells from one wall to the next.
        has_danger: whether some tiles are deadly.
        codes: (height, width) uint8, the cells as they were seen last; kind `UNSEEN` where they were not.
        looked: (height, width) bool, what was in view from the same room.
        pose: where the player is.
        carrying: the cell in its hands.
        news: whether the last look showed something beside floor and walls for the first time.
    """

    rows: int
    columns: int
    pitch: int
    has_danger: bool
    codes: np.ndarray = field(init=False)
    looked: np.ndarray = field(init=False)
    pose: Pose = _NOWHERE
    carrying: int = cells.EMPTY
    news: bool = True

    def __post_init__(self) -> None:
        shape = self.rows * self.pitch + 1, self.columns * self.pitch + 1
        self.codes, self.looked = np.zeros(shape, np.uint8), np.zeros(shape, bool)
        # Doors are in walls between rooms: there is nothing to be seen in outer walls and in corners.
        self.looked[[0, -1]] = self.looked[:, [0, -1]] = True
        self.looked[:: self.pitch, :: self.pitch] = True

    def look(self, observation: Observation, state: State) -> None:
        """Add what an observation of a state shows."""
        mask = seen_cells(np.asarray(observation.image), state)
        x, y = np.asarray(state.position).tolist()
        mask[y, x] = True
        self.put(mask, np.asarray(state.grid), Pose((y, x), int(state.direction)), int(state.carrying))

    def put(self, mask: np.ndarray, codes: np.ndarray, pose: Pose, carrying: int) -> None:
        """Add the cells of a mask, seen from a pose."""
        new = mask & (self.codes != codes)
        self.news = bool((new & (codes != cells.EMPTY) & (codes != cells.WALL)).any())
        self.codes[mask] = codes[mask]
        self.pose, self.carrying = pose, carrying
        for cell in self.view_of(pose):
            self.looked[cell] = True

    def view_of(self, pose: Pose) -> tuple[Cell, ...]:
        """The cells of the pose's own room, or of those that a door joins, that are in view from it."""
        return _view_of(self.rows, self.columns, self.pitch, pose)

    def rooms_of(self, cell: Cell) -> tuple[int, ...]:
        """The room that a cell is in; of a wall, the rooms on its sides."""
        return _rooms_of(self.rows, self.columns, self.pitch, cell)

    def kind(self, cell: Cell) -> int:
        """The kind of a cell."""
        return int(self.codes[cell]) >> 3

    def is_wall_line(self, cell: Cell) -> bool:
        """Whether a cell is where walls and doors are."""
        return cell[0] % self.pitch == 0 or cell[1] % self.pitch == 0

    def find(self, *kinds: int) -> list[Cell]:
        """Where things of some kinds were seen."""
        return [(int(y), int(x)) for y, x in np.argwhere(np.isin(self.codes >> 3, kinds))]

    def name(self, cell: Cell) -> str:
        """What a cell holds in words."""
        code = int(self.codes[cell])
        kind, colour = code >> 3, cells.COLOURS[(code & 7) % len(cells.COLOURS)]
        if kind in DOORS:
            return f"{cells.DOOR_STATES[DOORS.index(kind)]} {colour} door"
        if kind in cells.KIND_WORDS:
            return f"{colour} {cells.KIND_WORDS[kind]}"
        return "wall" if kind == cells.WALL_KIND else "floor"

    def doors(self) -> list[Door]:
        """All doors that were seen."""
        found = [(cell, self.rooms_of(cell)) for cell in self.find(*DOORS)]
        return [Door(self.name(cell), cell, (rooms[0], rooms[1])) for cell, rooms in found]

    def describe(self) -> str:
        """What was seen, room by room."""
        rooms = self.rooms_of(self.pose.cell)
        place = (
            f"room{rooms[0]}" if len(rooms) == 1 else f"the door between room{rooms[0]} and room{rooms[1]}"
        )
        ahead = self.name(self.pose.ahead)
        lines = [f"You are in {place}, facing {cells.DIRECTION_WORDS[self.pose.direction]}, {ahead} ahead."]
        colours = sorted({self.name(cell).split()[0] for cell in self.find(cells.TILE)})
        things = [(cell, f"a {self.name(cell)}") for cell in self.find(*OBJECTS)]
        for room in range(self.rows * self.columns):
            here = [name for cell, name in things if room in self.rooms_of(cell)]
            if here:
                lines.append(f"room{room}: {', '.join(here)}.")
        if doors := [f"{door.name} room{door.rooms[0]}-room{door.rooms[1]}" for door in self.doors()]:
            lines.append(f"Doors: {', '.join(doors)}.")
        if colours:
            lines.append(f"Tiles seen: {', '.join(colours)}.")
        left = [str(room) for room in range(self.rows * self.columns) if not self.is_explored(room)]
        lines.append(
            f"Not yet seen in full: rooms {', '.join(left)}." if left else "All rooms were seen in full."
        )
        code = self.carrying
        held = (
            f"a {cells.COLOURS[code & 7]} {cells.KIND_WORDS[code >> 3]}" if code != cells.EMPTY else "nothing"
        )
        lines.append(f"You carry {held}.")
        return "\n".join(lines)

    def is_explored(self, room: int) -> bool:
        """Whether all cells of a room were in view, walls included."""
        row, column = divmod(room, self.columns)
        y, x = row * self.pitch, column * self.pitch
        return bool(self.looked[y : y + self.pitch + 1, x : x + self.pitch + 1].all())


@lru_cache(maxsize=2**15)
def _view_of(rows: int, columns: int, pitch: int, pose: Pose) -> tuple[Cell, ...]:
    """See `SeenMap.view_of`; worlds are few, and it is asked at every step."""
    here = set(_rooms_of(rows, columns, pitch, pose.cell))
    forward = cells.DIRECTIONS[pose.direction]
    right = np.array([-forward[1], forward[0]])
    found = []
    for row in range(VIEW):
        for column in range(VIEW):
            x, y = (AGENT_ROW - row) * forward + (column - AGENT_COLUMN) * right
            cell = pose.cell[0] + int(y), pose.cell[1] + int(x)
            is_inside = 0 <= cell[0] <= rows * pitch and 0 <= cell[1] <= columns * pitch
            if is_inside and here.intersection(_rooms_of(rows, columns, pitch, cell)):
                found.append(cell)
    return tuple(found)


@lru_cache(maxsize=2**15)
def _rooms_of(rows: int, columns: int, pitch: int, cell: Cell) -> tuple[int, ...]:
    """See `SeenMap.rooms_of`."""
    below, beside = ((at // pitch,) if at % pitch else (at // pitch - 1, at // pitch) for at in cell)
    return tuple(
        row * columns + column
        for row in below
        for column in beside
        if 0 <= row < rows and 0 <= column < columns
    )
