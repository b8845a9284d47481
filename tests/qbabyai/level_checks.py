"""What a level must be, read from its bytes and its sentences by numpy: a second opinion on the generator.

Nothing here calls the code that draws levels. Checks work on many levels at once and give, by name, which
levels are as they should be; `faults` turns them into sentences about those that are not.
"""

import re
from dataclasses import dataclass
from functools import cached_property

import jax
import numpy as np
from scipy import ndimage

from afk.envs.qbabyai.state import FACE, OPEN_BOX, STAND_ON, UNLOCK, State
from afk.envs.qbabyai.words import VOCABULARY
from afk.knowledge.facts import FactTable

Checks = dict[str, np.ndarray]

COLOURS = ("red", "green", "blue", "purple", "yellow", "grey")
GREEN, BLUE, YELLOW = 1, 2, 4
EMPTY, WALL, TILE, OPEN, KEY, BALL, BOX, SQUARE, CLOSED, LOCKED = 1, 2, 3, 4, 5, 6, 7, 8, 11, 12
DOORS = (OPEN, CLOSED, LOCKED)
KINDS = {"door": OPEN, "key": KEY, "ball": BALL, "box": BOX, "square": SQUARE}
NAMES = ("jack", "mary")
STEPS = np.array([(0, 1), (1, 0), (0, -1), (-1, 0)])  # (y, x), by the agent's direction
IN_PLANE = np.array([[[0] * 3] * 3, [[0, 1, 0], [1, 1, 1], [0, 1, 0]], [[0] * 3] * 3])

ANY, UNUSED = -1, -2
EVERYWHERE, ON_THE_SPOT, NEVER = 0, 1, 2
UNKNOWN = -1

_COLOUR, _NAME = f"(?P<colour>{'|'.join(COLOURS)})", f"(?P<name>{'|'.join(NAMES)})"
_NOISE = "(different from tim, |while red ball in the kitchen, )?"
FORMS = {
    "toy": f"{_NAME} toy is {_COLOUR} (?P<kind>key|ball|box)",
    "content": f"{_NOISE}{_COLOUR} ball in {_NAME} suitcase",
    "suitcase": f"{_NOISE}{_NAME} suitcase is {_COLOUR} box",
    "where": f"{_COLOUR} (?P<kind>{'|'.join(KINDS)}) in room(?P<room>[0-9])",
    "danger": f"danger zone is {_COLOUR}",
    "fitting": f"{_COLOUR} key to the door",
    "place": "(?P<place>kitchen|restroom|livingroom) in (east|west)",
}
TOY, CONTENT, SUITCASE, WHERE, DANGER, FITTING, PLACE = range(len(FORMS))
PLACES = ("kitchen", "restroom", "livingroom")


@dataclass(frozen=True)
class Expected:
    """What the specification says about a task.

    Attributes:
        suits: its clauses as letters of CSDH.
        rows: rooms from top to bottom.
        columns: rooms from left to right.
        room_size: with walls.
        questions: the good queries as letters of dtbsxwkl.
        instruction: with NAME for the name.
        open_doors: whether doors that are not locked stand open.
        keys: keys of the lock.
        keys_apart: whether they lie in rooms of their own.
        objects: objects of Go to Favorite.
        kinds: what those may be.
        colours: what colours they may have.
    """

    suits: str
    rows: int
    columns: int
    room_size: int
    questions: str
    instruction: str
    open_doors: bool = False
    keys: int = 0
    keys_apart: bool = False
    objects: int = 0
    kinds: tuple[str, ...] = ("ball", "box")
    colours: tuple[str, ...] = ("blue", "green")

    @property
    def rooms(self) -> int:
        return self.rows * self.columns

    @property
    def goal(self) -> int:
        by_suit = {"C": OPEN_BOX, "D": FACE, "S": STAND_ON, "H": UNLOCK}
        return next(goal for suit, goal in by_suit.items() if suit in self.suits)

    @property
    def candidates(self) -> int:
        """How many things could be the target."""
        return {OPEN_BOX: 2, FACE: self.objects, STAND_ON: 1, UNLOCK: 0}[self.goal]


def flood(walkable: np.ndarray, start: np.ndarray) -> np.ndarray:
    """The cells of (n, height, width) grids that are connected with their (n, 2) starts (y, x)."""
    regions = np.zeros(walkable.shape, np.int32)
    ndimage.label(walkable, IN_PLANE, output=regions)
    here = at(regions, start)[:, None, None]
    return (regions == here) & (here > 0)


def neighbours(mask: np.ndarray) -> np.ndarray:
    """The cells of (n, height, width) grids that have a neighbour in the mask."""
    padded = np.pad(mask, ((0, 0), (1, 1), (1, 1)))
    return padded[:, 1:-1, :-2] | padded[:, 1:-1, 2:] | padded[:, :-2, 1:-1] | padded[:, 2:, 1:-1]


def at(grids: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """The value of each of n grids at cells (n, ..., 2) of its own."""
    index = np.arange(len(grids)).reshape(-1, *[1] * (cells.ndim - 2))
    return grids[index, cells[..., 0], cells[..., 1]]


def spots(mask: np.ndarray, count: int) -> np.ndarray:
    """Where each of (n, height, width) masks with `count` cells has them: (n, count, 2), in reading order."""
    return np.argwhere(mask)[:, 1:].reshape(len(mask), count, 2)


def question(function: str, adjective: np.ndarray | str, noun: np.ndarray | str) -> np.ndarray:
    """A question as one number; an adjective or noun may differ by level, as an index into its class."""
    classes = (VOCABULARY.functions, VOCABULARY.adjectives, VOCABULARY.nouns)
    words = (function, adjective, noun)
    first, second, third = (
        allowed.index(word) if isinstance(word, str) else word
        for word, allowed in zip(words, classes, strict=True)
    )
    return code_of(np.stack(np.broadcast_arrays(first, second, third), -1))


def code_of(keys: np.ndarray) -> np.ndarray:
    """Keys (..., 3) of facts or queries as numbers; an unused one is `UNKNOWN`."""
    codes = (keys[..., 0].astype(int) * 100 + keys[..., 1] - ANY) * 100 + keys[..., 2]
    return np.where((keys == UNUSED).any(-1), UNKNOWN, codes)


ANY_KEY = ("what", np.array(ANY), "key")
COLOUR_WORDS = np.array([VOCABULARY.adjectives.index(colour) for colour in COLOURS])
NAME_WORDS = np.array([VOCABULARY.adjectives.index(name) for name in NAMES])
KIND_WORDS = np.full(16, UNKNOWN)
for _word, _kind in KINDS.items():
    KIND_WORDS[_kind] = VOCABULARY.nouns.index(_word)


def texts_of(tokens: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Sentences (..., words) as the different texts among them, and the number of each one's text."""
    rows = tokens.reshape(-1, tokens.shape[-1])
    first, numbers = np.zeros(1, int), np.zeros(len(rows), np.int64)
    for part in np.ascontiguousarray(rows).view(np.uint32).T:  # four tokens at a time: faster than by rows
        _, first, numbers = np.unique(numbers << 32 | part, return_index=True, return_inverse=True)
    return [VOCABULARY.decode(rows[index]) for index in first], numbers.reshape(tokens.shape[:-1])


class Levels:
    """First states of episodes as numpy arrays with a leading axis; positions are (y, x)."""

    def __init__(self, states: State, expected: Expected) -> None:
        states = jax.device_get(states)
        self.states, self.level, self.expected = states, states.level, expected
        self.grid = np.asarray(states.grid).astype(int)
        self.kind, self.colour = self.grid >> 3, self.grid & 7
        self.agent = np.asarray(states.position)[:, ::-1].astype(int)
        self.ahead = self.agent + STEPS[np.asarray(states.direction)]
        self.key_colour = np.asarray(self.level.key_colour).astype(int)
        self.danger = np.asarray(self.level.danger).astype(int)
        self.target = np.asarray(self.level.target).astype(int)
        pitch = expected.room_size - 1
        height, width = expected.rows * pitch + 1, expected.columns * pitch + 1
        y, x = np.mgrid[:height, :width]
        self.lattice = (y % pitch == 0) | (x % pitch == 0)
        self.room = y // pitch * expected.columns + x // pitch
        self.oracle = Oracle(states.facts)

    def __len__(self) -> int:
        return len(self.grid)

    @cached_property
    def locked(self) -> np.ndarray:
        return self.kind == LOCKED

    @cached_property
    def shut_in(self) -> np.ndarray:
        """The cells that nobody gets to without opening a lock, even over danger and through boxes."""
        return ~flood((self.kind != WALL) & ~self.locked, self.agent) & ~self.lattice

    @cached_property
    def lock_keys(self) -> np.ndarray:
        """The keys that could fit a lock: favourites may be keys too, but with a lock they are shut in."""
        keys = self.kind == KEY
        return keys & ~self.shut_in if "H" in self.expected.suits else np.zeros_like(keys)

    @cached_property
    def candidates(self) -> np.ndarray:
        """The things that could be the target."""
        kinds = {OPEN_BOX: [BOX], FACE: [KEY, BALL, BOX], STAND_ON: [SQUARE], UNLOCK: []}
        return np.isin(self.kind, kinds[self.expected.goal]) & ~self.lock_keys

    def room_holds(self, mask: np.ndarray) -> np.ndarray:
        """Which rooms have a cell of (n, height, width) masks inside: (n, rooms) bool."""
        inside = [(self.room == room) & ~self.lattice for room in range(self.expected.rooms)]
        return np.stack([(mask & room).any((1, 2)) for room in inside], -1)

    @cached_property
    def home(self) -> np.ndarray:
        """The room of the agent."""
        return self.room[self.agent[:, 0], self.agent[:, 1]]

    @cached_property
    def name(self) -> np.ndarray:
        """Whose toy the instruction asks for, or -1."""
        texts, numbers = texts_of(np.asarray(self.level.mission))
        named = [next((NAMES.index(word) for word in text.split() if word in NAMES), -1) for text in texts]
        return np.array(named)[numbers]


class Oracle:
    """The facts of many levels, as the text they are told in."""

    def __init__(self, facts: FactTable) -> None:
        self.codes = code_of(np.asarray(facts.keys))
        self.scope = np.asarray(facts.scope)
        self.texts, self.answer = texts_of(np.asarray(facts.answers))
        meanings = [_read(text) for text in self.texts]
        self.form, self.name, self.colour, self.kind, self.room, self.place = np.array(meanings).T

    def ask(self, code: np.ndarray, *, on_the_spot: bool = False) -> np.ndarray:
        """The number of the text that answers a question, by level: (n,), or -1."""
        found = (self.codes == np.reshape(code, (-1, 1))) & (self.scope <= on_the_spot)
        which = found.argmax(1)
        return np.where(found.any(1), self.answer[np.arange(len(found)), which], UNKNOWN)

    def question_of(self) -> np.ndarray:
        """The one question that each text answers; negative for a text that is none of the answers."""
        colour, name, kind = COLOUR_WORDS[self.colour], NAME_WORDS[self.name], KIND_WORDS[self.kind]
        place = np.array([VOCABULARY.nouns.index(place) for place in PLACES])[self.place]
        codes = np.stack(
            [
                question("what", name, "toy"),
                question("where", colour, "ball"),
                question("what", name, "suitcase"),
                question("where", colour, kind),
                question("what", np.full_like(name, VOCABULARY.adjectives.index("danger")), "zone"),
                np.broadcast_to(question(*ANY_KEY), name.shape),
                question("where", "none", place),
            ]
        )
        return np.where(self.form >= 0, codes[self.form, np.arange(len(self.form))], UNKNOWN)


def _read(text: str) -> list[int]:
    """Form, name, colour, kind, room and place that an answer speaks of; -1 for what it does not."""
    for form, pattern in enumerate(FORMS.values()):
        if found := re.fullmatch(pattern, text):
            told = found.groupdict()
            return [
                form,
                NAMES.index(told["name"]) if "name" in told else -1,
                COLOURS.index(told["colour"]) if "colour" in told else -1,
                KINDS[told["kind"]] if "kind" in told else -1,
                int(told.get("room", -1)),
                PLACES.index(told["place"]) if "place" in told else -1,
            ]
    return [-1] * 6


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


def door_count(expected: Expected) -> int:
    """How many walls two rooms share."""
    return expected.rows * (expected.columns - 1) + expected.columns * (expected.rows - 1)


def at_room(by_room: np.ndarray, room: np.ndarray) -> np.ndarray:
    """The value of (n, rooms) at a room of each level."""
    return by_room[np.arange(len(by_room)), room]


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


def fact_checks(levels: Levels) -> Checks:
    """The oracle tells the truth, the whole truth, and each thing once."""
    oracle, suits = levels.oracle, levels.expected.suits
    count, used = len(levels), oracle.codes != UNKNOWN
    form, colour = oracle.form[oracle.answer], oracle.colour[oracle.answer]
    kind, room = oracle.kind[oracle.answer], oracle.room[oracle.answer]
    order = np.sort(np.where(used, oracle.codes, -1 - np.arange(used.shape[1])), axis=1)
    scope = np.where(form == FITTING, ON_THE_SPOT, EVERYWHERE)
    checks = {
        "every fact is a sentence of the specification": (form >= 0) | ~used,
        "a fact answers its own question": (oracle.question_of()[oracle.answer] == oracle.codes) | ~used,
        "only the key's fact is bound to a place": np.where(
            used, oracle.scope == scope, oracle.scope == NEVER
        ),
        "no question has two facts": (order[:, 1:] != order[:, :-1]).all(1),
    }
    stored = np.zeros((count, 16, 8, 10), bool)
    level, y, x = np.nonzero(np.isin(levels.kind, (*DOORS, KEY, BALL, BOX, SQUARE)))
    place = levels.kind[level, y, x], levels.colour[level, y, x]
    stored[level, np.where(np.isin(place[0], DOORS), OPEN, place[0]), place[1], levels.room[y, x]] = True
    told_where = used & (form == WHERE)
    checks["things are where the oracle says"] = (
        ~told_where | stored[np.arange(count)[:, None], kind, colour, room]
    )
    for word, code in KINDS.items():
        for each, colour_name in enumerate(COLOURS):
            answer = oracle.ask(question("where", colour_name, word))
            knows_room = (answer != UNKNOWN) & (oracle.form[answer] == WHERE)
            checks[f"where {colour_name} {word} is known if it is there"] = knows_room == stored[
                :, code, each
            ].any(-1)
    amounts = {
        TOY: 2,
        CONTENT: 2 * ("C" in suits),
        SUITCASE: 2 * ("C" in suits),
        WHERE: stored.any(-1).sum((1, 2)),
        DANGER: "S" in suits,
        FITTING: "H" in suits,
        PLACE: 3,
    }
    for (name, _), each, amount in zip(FORMS.items(), amounts, amounts.values(), strict=True):
        checks[f"as many facts about {name} as there is to know"] = (used & (form == each)).sum(1) == amount
    if "C" in suits:
        for each in (BLUE, GREEN):
            owner = oracle.name[oracle.ask(question("where", COLOURS[each], "ball"))]
            box = oracle.colour[oracle.ask(question("what", NAME_WORDS[owner], "suitcase"))]
            held = at_room(np.asarray(levels.level.contents), box)
            checks[f"the {COLOURS[each]} ball is in the box that the oracle says"] = held == BALL * 8 + each
    return checks


def query_checks(levels: Levels) -> Checks:
    """The good queries are the specification's, all are answered, and their answers lead to the target."""
    oracle, expected, count = levels.oracle, levels.expected, len(levels)
    checks: Checks = {}
    wanted: dict[str, np.ndarray] = {}

    def ask(letter: str, code: np.ndarray, form: int, *, on_the_spot: bool = False) -> np.ndarray:
        wanted[letter] = np.broadcast_to(code, (count,))
        answer = oracle.ask(code, on_the_spot=on_the_spot)
        checks[f"query {letter} is answered"] = (answer != UNKNOWN) & (oracle.form[answer] == form)
        return answer

    def check_room(letter: str, answer: np.ndarray, is_it: np.ndarray) -> None:
        holds = levels.room_holds(is_it)
        checks[f"the answer to {letter} is the true room"] = at_room(holds, oracle.room[answer])

    name = NAME_WORDS[levels.name]
    is_target = levels.grid == levels.target[:, None, None]
    if "S" in expected.suits:
        answer = ask("d", question("what", "danger", "zone"), DANGER)
        checks["the oracle knows the danger"] = oracle.colour[answer] == levels.danger
    if expected.goal == OPEN_BOX:
        toy = ask("t", question("what", name, "toy"), TOY)
        checks["the toy is a ball"] = oracle.kind[toy] == BALL
        content = ask("b", question("where", COLOUR_WORDS[oracle.colour[toy]], "ball"), CONTENT)
        owner = oracle.name[content]
        checks["the toy is in the other's suitcase"] = owner == 1 - levels.name
        suitcase = ask("s", question("what", NAME_WORDS[owner], "suitcase"), SUITCASE)
        box = oracle.colour[suitcase]
        checks["the chain leads to the target"] = levels.target == BOX * 8 + box
        if expected.rooms > 1:
            check_room("x", ask("x", question("where", COLOUR_WORDS[box], "box"), WHERE), is_target)
    if expected.goal == FACE:
        toy = ask("t", question("what", name, "toy"), TOY)
        colour, kind = oracle.colour[toy], oracle.kind[toy]
        checks["the toy is the target"] = levels.target == kind * 8 + colour
        other = oracle.ask(question("what", NAME_WORDS[1 - levels.name], "toy"))
        code = (oracle.kind[other] * 8 + oracle.colour[other])[:, None, None]
        checks["the other's toy is another candidate"] = (code[:, 0, 0] != levels.target) & (
            (levels.grid == code) & levels.candidates
        ).any((1, 2))
        if expected.rooms > 1:
            check_room(
                "w", ask("w", question("where", COLOUR_WORDS[colour], KIND_WORDS[kind]), WHERE), is_target
            )
    if "H" in expected.suits:
        answer = ask("k", question(*ANY_KEY), FITTING, on_the_spot=True)
        fitting = oracle.colour[answer]
        checks["the oracle knows the key"] = fitting == levels.key_colour
        checks["it tells of the key beside the lock only"] = oracle.ask(question(*ANY_KEY)) == UNKNOWN
        if expected.keys_apart:
            is_key = levels.lock_keys & (levels.colour == fitting[:, None, None])
            check_room("l", ask("l", question("where", COLOUR_WORDS[fitting], "key"), WHERE), is_key)
    good = np.sort(code_of(np.asarray(levels.level.good_queries)), axis=1)
    padding = np.full((count, good.shape[1] - len(wanted)), UNKNOWN)
    listed = np.sort(np.concatenate([np.stack(list(wanted.values()), 1), padding], axis=1), axis=1)
    checks["the good queries are those that lead to the target"] = (good == listed).all(1)
    checks["they are the specification's"] = np.full(count, sorted(wanted) == sorted(expected.questions))
    return checks
