"""What must be asked for, what is in sight, and whether the one could be guessed from the other.

`identities` are what must be asked for, `places` and `looks` what is in sight: categories with a value a
level. `dependence` finds a category that tells of another, `guesses` many that tell of it together.
"""

import numpy as np
from scipy import stats

from .levels import (
    BALL,
    BLUE,
    BOX,
    COLOUR_WORDS,
    DOORS,
    STEPS,
    TILE,
    WALL,
    YELLOW,
    Expected,
    Levels,
    at,
    neighbours,
    question,
    spots,
)

Categories = dict[str, np.ndarray]  # by name, a value a level


def rivers_of(kind: np.ndarray, colour: np.ndarray) -> np.ndarray:
    """1 where a tile is yellow, -1 where it is blue, 0 where there is none."""
    return np.where(kind == TILE, np.where(colour == YELLOW, 1, -1), 0)


def identities(levels: Levels) -> Categories:
    """What must be asked for, each by the number of the right one in reading order."""
    expected, drawn = levels.expected, {"direction": np.asarray(levels.states.direction)}
    if "S" in expected.suits:
        drawn["danger"] = levels.danger
    if levels.name[0] >= 0:
        drawn["name"] = levels.name
    if expected.candidates > 1:
        codes = at(levels.grid, spots(levels.candidates, expected.candidates))
        is_target = codes == levels.target[:, None]
        drawn["target"] = is_target.argmax(1)
        drawn["look of the target"] = (codes < levels.target[:, None]).sum(1)
    if expected.keys > 1:
        colours = at(levels.colour, spots(levels.lock_keys, expected.keys))
        drawn["key"] = (colours == levels.key_colour[:, None]).argmax(1)
        drawn["look of the key"] = (colours < levels.key_colour[:, None]).sum(1)
        asked = [question("where", COLOUR_WORDS[colours[:, index]], "key") for index in range(2)]
        rows = [(levels.oracle.codes == code[:, None]).argmax(1) for code in asked]
        drawn["key in the table"] = (rows[0] < rows[1]) == (drawn["key"] == 0)
    return drawn


def places(levels: Levels) -> Categories:
    """Where things are, and what the tiles around them look like."""
    expected = levels.expected
    found = {"agent's y": levels.agent[:, 0], "agent's x": levels.agent[:, 1], "agent's room": levels.home}
    rivers = rivers_of(levels.kind, levels.colour)
    around = levels.agent
    groups = {"candidate": (levels.candidates, expected.candidates), "key": (levels.lock_keys, expected.keys)}
    cells_of = {"agent": around[:, None]}
    for what, (mask, count) in groups.items():
        if count:
            cells_of[what] = spots(mask, count)
            for index in range(min(count, 2)):
                y, x = np.moveaxis(cells_of[what][:, index], -1, 0)
                found |= {
                    f"{what} {index} y": y,
                    f"{what} {index} x": x,
                    f"{what} {index} room": levels.room[y, x],
                }
        if count > 1:
            steps = np.abs(cells_of[what] - around[:, None]).sum(-1)
            found[f"nearest {what}"] = steps.argmin(1)
            found[f"farthest {what}"] = steps.argmax(1)
    if "H" in expected.suits:
        door = np.argwhere(levels.locked)
        door = door[np.unique(door[:, 0], return_index=True)[1], 1:]
        found |= {"lock's y": door[:, 0], "lock's x": door[:, 1]}
        found["key by the lock"] = np.abs(cells_of["key"] - door[:, None]).sum(-1).argmin(1)
    if "S" in expected.suits:
        found["majority of tiles"] = np.sign(rivers.sum((1, 2)))
        found["tiles"] = (rivers != 0).sum((1, 2)) // 4
        found["tile ahead"] = at(rivers, levels.ahead)
        for room in range(expected.rooms):
            found[f"majority in room {room}"] = np.sign(rivers[:, levels.room == room].sum(1))
        padded = np.pad(rivers, ((0, 0), (1, 1), (1, 1)))
        for what, where in cells_of.items():
            for index in range(where.shape[1]):
                y, x = np.moveaxis(where[:, index, None], -1, 0)
                beside = [padded[np.arange(len(levels))[:, None], y + 1 + dy, x + 1 + dx] for dy, dx in STEPS]
                found[f"tiles beside {what} {index}"] = np.sign(np.concatenate(beside, 1).sum(1))
        detours = [detour(levels, colour) for colour in (YELLOW, BLUE)]
        found["shorter way"] = np.clip(detours[0] - detours[1], -4, 4)
    return found


def looks(levels: Levels) -> Categories:
    """Colours and kinds of the first of several things in reading order."""
    expected, found = levels.expected, {}
    for what, mask, count in (
        ("candidate", levels.candidates, expected.candidates),
        ("key", levels.lock_keys, expected.keys),
        ("door", np.isin(levels.kind, DOORS), door_count(expected)),
        ("lock", levels.locked, min(1, expected.keys)),
    ):
        if count:
            index = np.unique(np.argwhere(mask)[:, 0], return_index=True)[1]
            first = np.argwhere(mask)[index, 1:]
            found[f"colour of the {what}"] = at(levels.colour, first)
            if what == "candidate":
                found["kind of the candidate"] = at(levels.kind, first)
    return found


def door_count(expected: Expected) -> int:
    """How many walls two rooms share."""
    return expected.rows * (expected.columns - 1) + expected.columns * (expected.rows - 1)


def detour(levels: Levels, danger: int) -> np.ndarray:
    """Steps to all candidates together when one colour of tiles is dangerous, with every lock open: (n,)."""
    walkable = (levels.kind != WALL) & ~np.isin(levels.kind, (BALL, BOX))
    walkable &= ~((levels.kind == TILE) & (levels.colour == danger))
    reached = np.zeros_like(walkable)
    reached[np.arange(len(levels)), levels.agent[:, 0], levels.agent[:, 1]] = True
    steps, found = np.zeros(len(levels), int), np.zeros_like(walkable)
    while not (found == levels.candidates).all():
        around = neighbours(reached)
        found = levels.candidates & (found | around)
        steps += (levels.candidates & ~found).sum((1, 2))
        grown = reached | (around & walkable)
        if (grown == reached).all():
            break
        reached = grown
    return steps


def dependence(first: np.ndarray, second: np.ndarray) -> float:
    """How likely two (n,) categories are to look as dependent as they do by coincidence."""
    numbers = [np.unique(_without_rare(each), return_inverse=True)[1] for each in (first, second)]
    sizes = [number.max() + 1 for number in numbers]
    if min(sizes) == 1:
        return 1.0
    table = np.bincount(numbers[0] * sizes[1] + numbers[1], minlength=sizes[0] * sizes[1]).reshape(sizes)
    expected = table.sum(1, keepdims=True) * table.sum(0) / len(first)
    return float(stats.chi2.sf(((table - expected) ** 2 / expected).sum(), (sizes[0] - 1) * (sizes[1] - 1)))


def _without_rare(values: np.ndarray) -> np.ndarray:
    """Categories with those that are too rare for a chi-square test counted as the most common one."""
    kept, counts = np.unique(values, return_counts=True)
    return np.where(np.isin(values, kept[counts >= len(values) // 50]), values, kept[counts.argmax()])


def guesses(features: np.ndarray, drawn: Categories) -> dict[str, float]:
    """How many standard deviations above chance fitted guesses are on levels that they have not seen.

    Ridge regression on the (n, features) and on random rectified sums of them, so that a hint need not be
    linear to be found; for each of the (n,) categories, whether it is its first.
    """
    rng = np.random.default_rng(0)
    count, width = features.shape
    scaled = ((features - features.mean(0)) / (features.std(0) + 1e-6)).astype(np.float32)
    mixed = np.maximum(scaled @ rng.normal(size=(width, 200)).astype(np.float32) / np.sqrt(width), 0)
    inputs = np.concatenate([scaled, mixed, np.ones((count, 1))], axis=1, dtype=np.float32)
    right = np.stack([values == values.min() for values in drawn.values()], axis=1)
    seen, unseen = np.split(inputs, 2)
    labels, held_out = np.split(right, 2)
    ridge = seen.T @ seen + 10 * np.eye(inputs.shape[1], dtype=np.float32)
    weights = np.linalg.solve(ridge, seen.T @ np.where(labels, 1, -1))
    often = np.maximum(held_out.mean(0), 1 - held_out.mean(0))
    accuracy = ((unseen @ weights > 0) == held_out).mean(0)
    return dict(zip(drawn, (accuracy - often) / np.sqrt(often * (1 - often) / len(unseen)), strict=True))
