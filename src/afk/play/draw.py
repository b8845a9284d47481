"""Drawing a map from observations in words, as a careful reader with pen and paper would."""

import re

import numpy as np

from afk.envs.qbabyai.world import cells
from afk.play.seen import DOORS, Cell, Pose, SeenMap

_KINDS = {word: kind for kind, word in cells.KIND_WORDS.items() if kind != cells.OPEN_DOOR}
_WORLD = re.compile(
    r"The world has (?:one room, room0, of (\d+)|(\d+) rooms of (\d+) by \d+ cells, (\d+) by (\d+))"
)
_IN_ROOM = re.compile(
    r"You face (\w+) in room(\d+); its walls are (\d+) ahead, (\d+) behind, (\d+) left, (\d+) right\. "
    r"You stand on (?:an? )?([\w ]+)\."
)
_IN_DOOR = re.compile(r"You face (\w+) in the open (\w+) door between room(\d+) \w+ and room(\d+)")
_AT = r"(?:\d+ (?:ahead|behind|left|right)(?: and )?)+"
_THINGS = re.compile(rf"(?:an?|\d+) ([\w ]+?)s? (?:\(({_AT}(?:, {_AT})*)\)|({_AT}))")


class MapReader:
    """A map that is drawn from the rules and the observations of one episode."""

    def __init__(self, rules: str) -> None:
        world = _WORLD.search(rules)
        if world is None:
            raise ValueError("these are no rules of Q-BabyAI")
        alone, _, size, rows, columns = (int(each or 0) for each in world.groups())
        self.seen = SeenMap(rows or 1, columns or 1, (alone or size) + 1, "danger zone" in rules)

    def read(self, text: str) -> SeenMap:
        """Add an observation to the map."""
        pose, underfoot = self._find_pose(text)
        codes, mask = self.seen.codes.copy(), np.zeros(self.seen.codes.shape, bool)
        for cell in self.seen.view_of(pose):
            mask[cell] = True
            codes[cell] = cells.WALL if self.seen.is_wall_line(cell) else cells.EMPTY
        mask[pose.cell] = True
        codes[pose.cell] = _code(underfoot)
        things = re.search(r"^You see (.*)\.$", text, re.M)
        for name, several, one in _THINGS.findall(things[1] if things else ""):
            for offset in (several or one).split(", "):
                cell = _move(pose, offset)
                mask[cell], codes[cell] = True, _code(name)
        carried = re.search(r"You carry (?:an? )?(.*)\.", text)
        held = cells.EMPTY if carried is None or carried[1] == "nothing" else _code(carried[1])
        self.seen.put(mask, codes, pose, held)
        return self.seen

    def _find_pose(self, text: str) -> tuple[Pose, str]:
        """Where the reader is, and what is underfoot."""
        if found := _IN_DOOR.search(text):
            direction = cells.DIRECTION_WORDS.index(found[1])
            rooms = {int(found[3]), int(found[4])}
            cell = next(door.cell for door in self.seen.doors() if set(door.rooms) == rooms)
            return Pose(cell, direction), f"open {found[2]} door"
        found = _IN_ROOM.search(text)
        if found is None:
            raise ValueError(f"no place can be read from {text[:80]!r}")
        direction = cells.DIRECTION_WORDS.index(found[1])
        ahead, behind, left, right = (int(each) for each in found.groups()[2:6])
        # East, south, west, north, as the directions are numbered.
        walls = {(direction + turn) % 4: steps for turn, steps in enumerate((ahead, right, behind, left))}
        row, column = divmod(int(found[2]), self.seen.columns)
        cell = row * self.seen.pitch + walls[3], column * self.seen.pitch + walls[2]
        return Pose(cell, direction), found[7]


def _move(pose: Pose, offset: str) -> Cell:
    """The cell at an offset such as ``2 ahead and 1 left``."""
    steps = {way: int(number) for number, way in re.findall(r"(\d+) (\w+)", offset)}
    forward = cells.DIRECTIONS[pose.direction]
    right = np.array([-forward[1], forward[0]])
    ahead, aside = (
        steps.get("ahead", 0) - steps.get("behind", 0),
        steps.get("right", 0) - steps.get("left", 0),
    )
    x, y = ahead * forward + aside * right
    return pose.cell[0] + int(y), pose.cell[1] + int(x)


def _code(name: str) -> int:
    """The cell of a thing in words."""
    words = name.split()
    if words[-1] == "door":
        return int(cells.cell(DOORS[cells.DOOR_STATES.index(words[0])], cells.COLOURS.index(words[1])))
    return (
        cells.EMPTY
        if words == ["floor"]
        else int(cells.cell(_KINDS[words[1]], cells.COLOURS.index(words[0])))
    )
