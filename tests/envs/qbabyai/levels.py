"""Levels read from their bytes and their sentences by numpy, and what the specification says of a task.

Nothing here calls the code that draws levels: it is what the checks of `level_checks` and `oracle_checks`, a
second opinion on the generator, stand on.
"""

import re
from dataclasses import dataclass
from functools import cached_property

import jax
import numpy as np
from scipy import ndimage

from afk.envs.qbabyai.world.goals import FACE, OPEN_BOX, STAND_ON, UNLOCK
from afk.envs.qbabyai.world.state import State
from afk.envs.qbabyai.world.words import VOCABULARY
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


def at_room(by_room: np.ndarray, room: np.ndarray) -> np.ndarray:
    """The value of (n, rooms) at a room of each level."""
    return by_room[np.arange(len(by_room)), room]


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
            parts = found.groupdict()
            return [
                form,
                NAMES.index(parts["name"]) if "name" in parts else -1,
                COLOURS.index(parts["colour"]) if "colour" in parts else -1,
                KINDS[parts["kind"]] if "kind" in parts else -1,
                int(parts.get("room", -1)),
                PLACES.index(parts["place"]) if "place" in parts else -1,
            ]
    return [-1] * 6
