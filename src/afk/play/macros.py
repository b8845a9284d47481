"""Macros of Q-BabyAI: ``go to the green box``, ``open it``, ``explore``; planned over what has been seen.

A way is planned over a `SeenMap`: cells that were not seen count as floor until they are. Doors that are shut
are opened on the way, locked ones are not. Where some tiles are deadly, tiles are walked over only if the
macro says which to avoid: ``go to the green square avoiding red tiles``.
"""

import re
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import NamedTuple

from afk.envs.qbabyai.world import cells
from afk.play.seen import DOORS, OBJECTS, Cell, Pose, SeenMap

ALLOWED = (
    "go to THING, go to roomN, explore, open THING, pick up THING, drop it, turn left, turn right or wait; "
    "THING is `it` (what is ahead) or a colour and a kind that was seen, such as `the grey ball`"
)
_VERBS = {"open": cells.TOGGLE, "unlock": cells.TOGGLE, "close": cells.TOGGLE, "toggle": cells.TOGGLE}
_VERBS |= {"pick up": cells.PICK_UP, "pickup": cells.PICK_UP, "take": cells.PICK_UP}
_PLAIN = {"turn left": cells.LEFT, "left": cells.LEFT, "turn right": cells.RIGHT, "right": cells.RIGHT}
_PLAIN |= {"wait": cells.DONE, "done": cells.DONE}
_GO = ("go to", "goto", "walk to", "move to", "face")
_AVOIDING = re.compile(r",? (?:while )?avoiding (?:the )?(\w+)(?: tiles?)?$")


class Macro(NamedTuple):
    """What is to be done.

    Attributes:
        reached: whether a pose is where it is to be done.
        then: the physical action to end with, if any.
        avoided: the colour of tiles to avoid; None if the macro names none.
    """

    reached: Callable[[Pose], bool]
    then: int | None = None
    avoided: str | None = None


def read_macro(text: str, seen: SeenMap) -> Macro:
    """The macro that a line says; a ValueError if it is none, or names what was not seen."""
    line = " ".join(re.sub(r"[^a-z0-9 ,]", " ", text.lower().replace("_", " ")).split())
    avoided = _AVOIDING.search(line)
    line = re.sub(r"\b(the|a|an) ", "", _AVOIDING.sub("", line))
    colour = avoided[1] if avoided else None
    if colour is not None and colour not in cells.COLOURS:
        raise ValueError(f"there are no {colour} tiles; colours are {', '.join(cells.COLOURS)}")
    here = seen.pose
    if line in _PLAIN:
        return Macro(lambda pose: pose == here, _PLAIN[line])
    if line == "explore":
        return Macro(lambda pose: any(not seen.looked[cell] for cell in seen.view_of(pose)), None, colour)
    if line in ("drop", "drop it") or re.fullmatch(r"(drop|put down)( \w+)+", line):
        if seen.carrying == cells.EMPTY:
            raise ValueError("you carry nothing that you could drop")
        return Macro(lambda pose: seen.codes[pose.ahead] == cells.EMPTY, cells.DROP, colour)
    for phrase, action in (*_VERBS.items(), *((phrase, None) for phrase in _GO)):
        if line.startswith(f"{phrase} "):
            return _approach(line.removeprefix(f"{phrase} "), action, colour, seen)
    raise ValueError(f"cannot read {text[:80]!r}; write {ALLOWED}")


def _approach(name: str, action: int | None, colour: str | None, seen: SeenMap) -> Macro:
    """Going to what is named, and acting on it."""
    here = seen.pose
    if name == "it":
        return Macro(lambda pose: pose == here, action, colour)
    if (room := re.fullmatch(r"room ?(\d+)", name)) and action is None:
        number = int(room[1])
        if number >= seen.rows * seen.columns:
            raise ValueError(f"there is no room{number}")
        return Macro(lambda pose: seen.rooms_of(pose.cell) == (number,), None, colour)
    spots = find_named(name, seen)
    if not spots:
        raise ValueError(f"you have seen no {name[:40]}; write {ALLOWED}")
    squares = {spot for spot in spots if seen.kind(spot) == cells.SQUARE}
    return Macro(lambda pose: pose.ahead in spots - squares or pose.cell in squares, action, colour)


def find_named(name: str, seen: SeenMap) -> set[Cell]:
    """Where the things of a name are: ``green box``, ``red door``, ``locked red door to room3``."""
    words = name.split()
    room = None
    if len(words) > 2 and words[-2] == "to" and (to := re.fullmatch(r"room(\d+)", words[-1])):
        room, words = int(to[1]), words[:-2]
    spots = {
        cell
        for cell in seen.find(*OBJECTS, *DOORS)
        if words and seen.name(cell).split()[-len(words) :] == words
    }
    return spots if room is None else {cell for cell in spots if room in seen.rooms_of(cell)}


def carry_out(macro: Macro, seen: SeenMap) -> Iterator[int]:
    """The physical actions of a macro, one by one; `seen` has to be kept up to date in between.

    A ValueError if there is no way that is known; where it turns out to be blocked, it ends.
    """
    path = find_path(seen, macro)
    if path is None:
        raise ValueError(_no_way(macro, seen))
    return _walk(path, macro, seen)


def _walk(path: list[int] | None, macro: Macro, seen: SeenMap) -> Iterator[int]:
    """The actions along a path that is found again whenever something comes into view."""
    while path:
        yield path.pop(0)
        if seen.news and path:
            path = find_path(seen, macro)
    if path is None:
        return  # what came into view is in the way
    if macro.then is not None:
        yield macro.then


def _no_way(macro: Macro, seen: SeenMap) -> str:
    hint = "; doors that are locked are in the way, or all that can be reached was seen"
    if seen.has_danger and macro.avoided is None:
        hint = "; to walk over tiles, say which to avoid: `avoiding COLOUR tiles`"
    return f"no way is known there from here{hint}"


def find_path(seen: SeenMap, macro: Macro) -> list[int] | None:
    """The fewest physical actions to a pose where a macro is to be done, or None."""
    costs, queue = {seen.pose: 0}, [(0, 0, seen.pose)]
    came_from: dict[Pose, tuple[Pose, list[int]]] = {}
    count = 0
    while queue:
        cost, _, pose = heappop(queue)
        if cost > costs[pose]:
            continue
        if macro.reached(pose):
            path: list[int] = []
            while pose != seen.pose:
                pose, actions = came_from[pose]
                path = actions + path
            return path
        turned = ((cells.LEFT, (pose.direction - 1) % 4), (cells.RIGHT, (pose.direction + 1) % 4))
        options = [([action], Pose(pose.cell, direction)) for action, direction in turned]
        if (entering := _enter(seen, pose.ahead, macro.avoided)) is not None:
            options.append((entering, Pose(pose.ahead, pose.direction)))
        for actions, following in options:
            after = cost + len(actions)
            if after < costs.get(following, after + 1):
                count += 1
                costs[following], came_from[following] = after, (pose, actions)
                heappush(queue, (after, count, following))
    return None


def _enter(seen: SeenMap, cell: Cell, avoided: str | None) -> list[int] | None:
    """What it takes to walk onto a cell, or None if one cannot or should not."""
    kind = seen.kind(cell)
    if kind == cells.UNSEEN:
        return None if seen.is_wall_line(cell) else [cells.FORWARD]
    if kind == cells.CLOSED_DOOR:
        return [cells.TOGGLE, cells.FORWARD]
    if kind == cells.TILE and seen.has_danger and (avoided is None or seen.name(cell).startswith(avoided)):
        return None
    free = (cells.EMPTY_KIND, cells.TILE, cells.SQUARE, cells.KEY, cells.OPEN_DOOR)
    return [cells.FORWARD] if kind in free else None
