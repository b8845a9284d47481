"""What the world of a level must be: rooms, the start, things, routes and rivers.

Checks work on many levels at once and give, by name, which levels are as they should be; `faults` turns them
into sentences about those that are not. What the oracle says of a level is checked by `oracle_checks`.
"""

import numpy as np

from afk.envs.qbabyai.world.goals import FACE, OPEN_BOX, STAND_ON, UNLOCK

from .levels import (
    BALL,
    BLUE,
    BOX,
    CLOSED,
    COLOURS,
    DOORS,
    EMPTY,
    GREEN,
    KEY,
    KINDS,
    LOCKED,
    NAMES,
    OPEN,
    SQUARE,
    TILE,
    WALL,
    YELLOW,
    Checks,
    Levels,
    at,
    at_room,
    flood,
    neighbours,
    texts_of,
)
from .oracle_checks import fact_checks, query_checks


def faults(checks: Checks) -> list[str]:
    """A sentence for every check that some level fails."""
    return [
        f"{name}: {(~good).sum()} of {good.size} fail, first {np.argwhere(~good)[0].tolist()}"
        for name, good in checks.items()
        if not good.all()
    ]


def all_checks(levels: Levels) -> Checks:
    """Everything that must hold of a level."""
    return (
        plan_checks(levels)
        | start_checks(levels)
        | thing_checks(levels)
        | route_checks(levels)
        | river_checks(levels)
        | fact_checks(levels)
        | query_checks(levels)
    )


def plan_checks(levels: Levels) -> Checks:
    """Walls, one door in every wall that two rooms share, and which of them are locked."""
    expected, pitch = levels.expected, levels.expected.room_size - 1
    joined, states = [], []
    for room in range(expected.rooms):
        row, column = divmod(room, expected.columns)
        inner = slice(column * pitch + 1, (column + 1) * pitch)
        if column + 1 < expected.columns:
            joined.append((room, room + 1))
            states.append(levels.kind[:, row * pitch + 1 : (row + 1) * pitch, (column + 1) * pitch])
        if row + 1 < expected.rows:
            joined.append((room, room + expected.columns))
            states.append(levels.kind[:, (row + 1) * pitch, inner])
    is_door = np.isin(levels.kind, DOORS)
    checks = {
        "the world has the plan's shape": np.full(len(levels), levels.grid.shape[1:] == levels.room.shape),
        "walls and doors stand around rooms, and nowhere else": (
            ((levels.kind == WALL) | is_door) == levels.lattice
        ).all((1, 2)),
        "no door but one a wall": is_door.sum((1, 2)) == len(joined),
    }
    for (first, second), wall in zip(joined, states, strict=True):
        checks[f"one door between rooms {first} and {second}"] = np.isin(wall, DOORS).sum(1) == 1
    shut = OPEN if expected.open_doors else CLOSED
    if "H" not in expected.suits:
        right = np.isin(levels.kind, [shut]) == is_door
        return checks | {"every door is as the plan has it": right.all((1, 2))}
    closed_off = levels.room_holds(levels.candidates if expected.candidates else levels.shut_in)
    for (first, second), wall in zip(joined, states, strict=True):
        is_locked = closed_off[:, first] | closed_off[:, second]
        state = np.where(is_locked, LOCKED, shut)
        checks[f"the door between {first} and {second} is locked exactly where a lock is due"] = (
            wall == state[:, None]
        ).sum(1) == 1
    checks["somewhere is locked, and not where the agent is"] = closed_off.any(1) & ~at_room(
        closed_off, levels.home
    )
    if not expected.candidates:
        checks["one room is locked"] = closed_off.sum(1) == 1
    return checks


def start_checks(levels: Levels) -> Checks:
    """The agent starts on plain floor, with nothing done yet, and not beside what it may be after."""
    states, level, expected = levels.states, levels.level, levels.expected
    count = len(levels)
    checks = {
        "the agent stands on plain floor": at(levels.grid, levels.agent) == EMPTY * 8,
        "it has a direction": np.isin(states.direction, range(4)),
        "its hands are empty": states.carrying == EMPTY * 8,
        "nothing has happened": (states.step == 0) & (states.queries == 0) & ~states.unlocked,
        "nothing has been asked": ~states.asked.any(1),
        "it is not facing the target": (at(levels.grid, levels.ahead) != levels.target)
        | (expected.goal == UNLOCK),
        "no turn alone can win": ~at(neighbours(levels.candidates), levels.agent),
        "the goal is the task's": level.goal == expected.goal,
        "steps are room_size^2 x rooms": level.max_steps == expected.room_size**2 * expected.rooms,
        "rooms are as the level says": (level.room_size == expected.room_size)
        & (level.columns == expected.columns),
        "only with suitcases a wrong box ends it": level.wrong_box_ends == ("C" in expected.suits),
        "a lock pays on the way only": level.unlocking_pays
        == ("H" in expected.suits and expected.suits != "H"),
        "the danger is yellow or blue": np.isin(levels.danger, (YELLOW, BLUE))
        if "S" in expected.suits
        else levels.danger == -1,
        "a key fits only a lock": (levels.key_colour >= 0) == ("H" in expected.suits),
    }
    texts, numbers = texts_of(np.asarray(level.mission))
    named = "NAME" in expected.instruction
    allowed = [expected.instruction.replace("NAME", name) for name in NAMES]
    checks["the instruction is the task's"] = np.isin(
        numbers, [texts.index(t) for t in allowed if t in texts]
    )
    checks["it names somebody where it should"] = (levels.name >= 0) == np.full(count, named)
    return checks


def thing_checks(levels: Levels) -> Checks:
    """How many things of what kind there are, and that descriptions fit one only."""
    expected, kind, colour = levels.expected, levels.kind, levels.colour
    counts = {each: (kind == each).sum((1, 2)) for each in (KEY, BALL, BOX, SQUARE)}
    key_colours = np.stack([((kind == KEY) & (colour == c)).sum((1, 2)) for c in range(len(COLOURS))], -1)
    is_thing = np.isin(kind, (KEY, BALL, BOX, SQUARE))
    checks = {
        "as many candidates as the task has": levels.candidates.sum((1, 2)) == expected.candidates,
        "as many keys as the lock has": levels.lock_keys.sum((1, 2)) == expected.keys,
        "nothing else lies about": is_thing.sum((1, 2)) == expected.candidates + expected.keys,
        "no two keys of a colour": key_colours.max(1) <= 1,
    }
    if expected.goal != UNLOCK:
        is_target = levels.grid == levels.target[:, None, None]
        checks["one thing fits the target's description"] = is_target.sum((1, 2)) == 1
        checks["the target is a candidate"] = (is_target & levels.candidates).any((1, 2))
    if "H" in expected.suits:
        fits = levels.lock_keys & (colour == levels.key_colour[:, None, None])
        checks["one key on the floor fits"] = fits.sum((1, 2)) == 1
        key_rooms = levels.room_holds(levels.lock_keys)
        apart = key_rooms.sum(1) == (expected.keys if expected.keys_apart else 1)
        checks["keys lie in rooms of their own, or all with the agent"] = apart & (
            at_room(key_rooms, levels.home) != expected.keys_apart
        )
    if expected.goal == OPEN_BOX:
        for each in (BLUE, GREEN):
            here = ((kind == BOX) & (colour == each)).sum((1, 2)) == 1
            checks[f"one {COLOURS[each]} box"] = here & (counts[BALL] == 0)
    if expected.goal == FACE:
        codes = [KINDS[kind] * 8 + COLOURS.index(c) for kind in expected.kinds for c in expected.colours]
        checks["candidates are of the task's kinds and colours"] = (
            ~levels.candidates | np.isin(levels.grid, codes)
        ).all((1, 2))
        again = np.stack(
            [((levels.grid == code) & levels.candidates).sum((1, 2)) for code in sorted(set(codes))]
        )
        checks["no two candidates are alike"] = again.max(0) <= 1
    rooms = expected.rooms - ("H" in expected.suits)
    if expected.candidates:
        held = levels.room_holds(levels.candidates)
        checks["candidates are in rooms of their own if there are enough"] = held.sum(1) == min(
            expected.candidates, rooms
        )
        if rooms > expected.candidates or "H" in expected.suits:
            checks["no candidate is in the agent's room"] = ~at_room(held, levels.home)
    return checks


def route_checks(levels: Levels) -> Checks:
    """Whichever thing, key and tile colour is the right one, there is a way; and none without knowledge."""
    kind, expected = levels.kind, levels.expected
    open_ground = (kind != WALL) & ~np.isin(kind, (BALL, BOX))
    checks = {}
    if "S" not in expected.suits:
        checks["everything can be reached"] = can_solve(levels, open_ground, every=True)
    else:
        for each in (YELLOW, BLUE):
            safe = open_ground & ~((kind == TILE) & (levels.colour == each))
            checks[f"there is a way when {COLOURS[each]} is dangerous"] = can_solve(levels, safe, every=True)
        # Whatever blocks the way can be carried away, so nothing but tiles may stand in it here.
        dry = (kind != WALL) & (kind != TILE)
        checks["there is no way around the tiles"] = ~can_solve(levels, dry, every=False)
    if "H" in expected.suits:
        checks["nothing is reached without opening a lock"] = (levels.shut_in | ~levels.candidates).all(
            (1, 2)
        )
    return checks


def can_solve(levels: Levels, walkable: np.ndarray, *, every: bool) -> np.ndarray:
    """Whether every (or any) candidate can be reached with every (or any) key, over walkable cells: (n,)."""
    before = flood(walkable & ~levels.locked, levels.agent)
    after = flood(walkable, levels.agent)
    within_reach = before | neighbours(before) if not every else neighbours(before)
    solved = np.ones(len(levels), bool)
    if "H" in levels.expected.suits:
        takes = within_reach & levels.lock_keys
        enough = levels.lock_keys.sum((1, 2)) if every else 1
        solved &= (takes.sum((1, 2)) >= enough) & (neighbours(before) & levels.locked).any((1, 2))
    if levels.expected.candidates:
        stands = levels.expected.goal == STAND_ON
        reached = (after if stands else neighbours(after)) & levels.candidates
        solved &= reached.sum((1, 2)) >= (levels.candidates.sum((1, 2)) if every else 1)
    return solved


def river_checks(levels: Levels) -> Checks:
    """One to three rivers from wall to wall in every room of Danger, in two colours; no tile elsewhere."""
    tiles, pitch = levels.kind == TILE, levels.expected.room_size - 1
    if "S" not in levels.expected.suits:
        return {"no tiles without danger": ~tiles.any((1, 2))}
    checks = {"tiles are yellow or blue": (~tiles | np.isin(levels.colour, (YELLOW, BLUE))).all((1, 2))}
    for room in range(levels.expected.rooms):
        row, column = divmod(room, levels.expected.columns)
        inside = tiles[:, row * pitch + 1 : (row + 1) * pitch, column * pitch + 1 : (column + 1) * pitch]
        across, down = inside.all(2), inside.all(1)
        rivers = across.sum(1) + down.sum(1)
        checks[f"one to three rivers in room {room}"] = (rivers >= 1) & (rivers <= 3)
        covered = across[:, :, None] | down[:, None, :]
        checks[f"tiles of room {room} are rivers"] = (covered == inside).all((1, 2))
        beside = [(lines[:, :-1] & lines[:, 1:]).any(1) for lines in (across, down)]
        checks[f"rivers of room {room} do not touch along their way"] = ~(beside[0] | beside[1])
    return checks
