"""Floor plans: rooms of one size in rows and columns, walls between them, and a door in every shared wall."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations

import numpy as np

from afk.envs.qbabyai.world.words import MAX_ROOMS

MIN_ROOM_SIZE = 4
MAX_ROOM_SIZE = 15


@dataclass(frozen=True)
class FloorPlan:
    """Rooms side by side; neighbours share a wall.

    Attributes:
        rows: rooms from top to bottom.
        columns: rooms from left to right.
        room_size: cells along a room, both walls included.
        open_doors: whether doors that are not locked stand open at the start.
        walled_up: pairs of neighbouring rooms without a door between them.
    """

    rows: int = 1
    columns: int = 1
    room_size: int = 7
    open_doors: bool = False
    walled_up: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        if not 1 <= self.rows * self.columns <= MAX_ROOMS or min(self.rows, self.columns) < 1:
            raise ValueError(f"a floor plan has 1 to {MAX_ROOMS} rooms, not {self.rows} x {self.columns}")
        if not MIN_ROOM_SIZE <= self.room_size <= MAX_ROOM_SIZE:
            raise ValueError(
                f"room_size is {MIN_ROOM_SIZE} to {MAX_ROOM_SIZE} cells, walls included, not {self.room_size}"
            )

    @property
    def rooms(self) -> int:
        """How many rooms there are."""
        return self.rows * self.columns

    @property
    def interior(self) -> int:
        """Cells along a room without its walls."""
        return self.room_size - 2

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the world in cells."""
        pitch = self.room_size - 1
        return self.rows * pitch + 1, self.columns * pitch + 1

    @cached_property
    def doors(self) -> tuple[tuple[int, int], ...]:
        """The two rooms that each door joins: first rooms side by side, then one above the other."""
        beside = [
            (row * self.columns + column, row * self.columns + column + 1)
            for row in range(self.rows)
            for column in range(self.columns - 1)
        ]
        on_top = [(room, room + self.columns) for room in range(self.rooms - self.columns)]
        return tuple(pair for pair in (*beside, *on_top) if pair not in self.walled_up)

    @cached_property
    def door_corners(self) -> tuple[np.ndarray, np.ndarray]:
        """Where each door's wall starts and which way it runs: two (doors, 2) arrays of (y, x)."""
        pitch = self.room_size - 1
        starts, runs = [], []
        for first, second in self.doors:
            row, column = divmod(second, self.columns)
            starts.append((row * pitch, column * pitch))
            runs.append((1, 0) if second == first + 1 and self.columns > 1 else (0, 1))
        return np.array(starts).reshape(-1, 2), np.array(runs).reshape(-1, 2)

    @cached_property
    def walls(self) -> np.ndarray:
        """Every wall, doors not yet cut: (height, width) bool."""
        height, width = self.shape
        pitch = self.room_size - 1
        return (np.arange(height) % pitch == 0)[:, None] | (np.arange(width) % pitch == 0)[None, :]

    @cached_property
    def room_masks(self) -> np.ndarray:
        """The cells inside each room: (rooms, height, width) bool."""
        height, width = self.shape
        pitch = self.room_size - 1
        numbers = (np.arange(height) // pitch)[:, None] * self.columns + (np.arange(width) // pitch)[None, :]
        return (numbers == np.arange(self.rooms)[:, None, None]) & ~self.walls

    def neighbours(self, room: int) -> Iterator[int]:
        """The rooms that share a door with this one."""
        for first, second in self.doors:
            if room in (first, second):
                yield first + second - room


def arrangements(plan: FloorPlan, *, things: int, locked: bool, keys: int) -> np.ndarray:
    """Every way to share out the rooms, one of which a level draws.

    Things that could be the target stand in rooms of their own as far as there are enough of them, and the
    agent starts in another room if there is one. With locks, every room that holds such a thing is locked,
    the other rooms hang together, and every locked room borders on one of them. Keys lie in rooms of their
    own, away from the agent (`keys` > 0), or with it (`keys` = 0).

    Returns:
        (ways, 1 + max(things, locked) + keys) int32: the agent's room, the things' rooms (or the room that
        is locked when there are none), the keys' rooms.
    """
    slots = max(things, int(locked))
    taken = min(slots, plan.rooms - locked)
    ways = []
    for held in combinations(range(plan.rooms), taken):
        others = set(range(plan.rooms)) - set(held)
        if locked and not _hang_together(plan, others, set(held)):
            continue
        starts = sorted(others or held)
        for order in permutations(held):
            spots = [order[index % taken] for index in range(slots)]
            ways += [(start, *spots, *rest) for start, *rest in permutations(starts, 1 + keys)]
    if not ways:
        raise ValueError(
            f"{plan.rows} x {plan.columns} rooms are too few for {things} things and {keys} keys in rooms of "
            f"their own{' behind locks' if locked else ''}"
        )
    return np.array(ways, np.int32)


def _hang_together(plan: FloorPlan, rooms: set[int], beside: set[int]) -> bool:
    """Whether one can walk between all of `rooms`, and from them into each room of `beside`."""
    joined = {min(rooms)}
    while fresh := {room for each in joined for room in plan.neighbours(each) if room in rooms} - joined:
        joined |= fresh
    return joined == rooms and all(set(plan.neighbours(room)) & rooms for room in beside)
