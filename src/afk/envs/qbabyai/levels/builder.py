"""Building a level: what its things are, what is known of them, and what is asked of the agent.

A `LevelBuilder` is the sheet of paper that clauses write on while a level is traced; `finish` turns it into a
`State`. Words that are drawn, such as a colour, are indices into their word class, so that one value serves
in the key of a fact and in a sentence.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from afk.envs.qbabyai.levels.floorplan import FloorPlan
from afk.envs.qbabyai.levels.layout import Layout
from afk.envs.qbabyai.world import cells
from afk.envs.qbabyai.world.goals import UNLOCK
from afk.envs.qbabyai.world.state import MAX_FACTS, MAX_GOOD_QUERIES, Level, State
from afk.envs.qbabyai.world.words import (
    COLOUR_ADJECTIVES,
    MISSION_LENGTH,
    NAME_ADJECTIVES,
    PLACES,
    RESPONSE_LENGTH,
    ROOM_NOUNS,
    VOCABULARY,
)
from afk.knowledge.facts import ANY, EVERYWHERE, NEVER, UNUSED, FactTable

ANYTHING = "*"  # in a question: whatever adjective


@dataclass(frozen=True)
class Drawn:
    """A word that is drawn: its word class, and its () index in it."""

    words: tuple[str, ...]
    index: jax.Array

    @property
    def token(self) -> jax.Array:
        """Its number among all tokens; a word class is numbered in one run."""
        return self.index + VOCABULARY.token(self.words[0])


Word = str | Drawn
Question = tuple[str, Word, Word]


def colour_word(colour: jax.Array) -> Drawn:
    """The adjective for a colour code."""
    return Drawn(VOCABULARY.adjectives, jnp.asarray(COLOUR_ADJECTIVES)[colour])


def name_word(name: jax.Array | int) -> Drawn:
    """The adjective for the first or the second name."""
    return Drawn(VOCABULARY.adjectives, jnp.asarray(NAME_ADJECTIVES)[name])


def kind_word(kind: jax.Array | int) -> Drawn:
    """The noun for the kind of a thing."""
    nouns = {
        each: VOCABULARY.nouns.index(word) for each, word in cells.KIND_WORDS.items() if each != cells.TILE
    }
    return Drawn(
        VOCABULARY.nouns,
        sum(((jnp.asarray(kind) == each) * noun for each, noun in nouns.items()), start=jnp.int32(0)),
    )


def sentence(*words: Word, length: int) -> jax.Array:
    """Words, some of them drawn, as (length,) uint8 tokens; a string may hold several words."""
    tokens: list[jax.Array | int] = []
    for word in words:
        if isinstance(word, Drawn):
            tokens.append(word.token)
        else:
            tokens += [int(token) for token in VOCABULARY.encode(word, length) if token]
    if len(tokens) > length:
        raise ValueError(f"a sentence of {len(tokens)} tokens is too long, at most {length} fit")
    return jnp.stack([jnp.asarray(token, jnp.uint8) for token in tokens + [0] * (length - len(tokens))])


def question_key(question: Question) -> jax.Array:
    """A question as the (3,) int8 key of a fact; a ValueError if a word of it does not fit there."""
    classes = (VOCABULARY.functions, VOCABULARY.adjectives, VOCABULARY.nouns)
    for word, words in zip(question, classes, strict=True):
        if isinstance(word, str) and word not in (ANYTHING, *words):
            raise ValueError(f"{word!r} does not fit in {question}; one of {', '.join(words)} does")
    return jnp.stack(
        [
            jnp.asarray(
                word.index if isinstance(word, Drawn) else ANY if word == ANYTHING else words.index(word),
                jnp.int8,
            )
            for word, words in zip(question, classes, strict=True)
        ]
    )


class LevelBuilder:
    """What clauses write on."""

    def __init__(self, plan: FloorPlan, layout: Layout, *, joined_by: str) -> None:
        self.plan, self.layout, self._joined_by = plan, layout, joined_by
        self.grid = jnp.where(jnp.asarray(plan.walls), cells.WALL, jnp.maximum(layout.tiles, cells.EMPTY))
        self.key_colours = jnp.zeros(len(cells.COLOURS), bool)  # of the keys that a lock has
        self.has_toys = False
        self.door_colour: int | None = None  # of every door; drawn for each if it is None
        self.rules: dict[str, jax.Array | int | bool] = {
            "danger": -1,
            "key_colour": -1,
            "goal": UNLOCK,
            "target": cells.EMPTY,
            "wrong_box_ends": False,
            "unlocking_pays": False,
            "boxes_passable": False,
        }
        self.contents = jnp.full(len(cells.COLOURS), cells.EMPTY)
        self._mission: list[Word] = []
        self._good: list[Question] = []
        self._facts: list[tuple[jax.Array, jax.Array, jax.Array]] = []

    def add_fact(self, question: Question, *answer: Word, scope: int = EVERYWHERE) -> None:
        """Add a fact."""
        self.add_fact_if(jnp.bool_(True), question, sentence(*answer, length=RESPONSE_LENGTH), scope=scope)

    def add_fact_if(
        self, holds: jax.Array, question: Question, answer: jax.Array, *, scope: int = EVERYWHERE
    ) -> None:
        """Add a fact, as the (12,) tokens of its answer, that this level may or may not hold."""
        key = jnp.where(holds, question_key(question), UNUSED)
        self._facts.append((key, answer, jnp.where(holds, scope, NEVER)))

    def instruct(self, *words: Word) -> None:
        """Add a clause to the instruction."""
        self._mission += [self._joined_by, *words] if self._mission else words

    def add_good_query(self, question: Question) -> None:
        """Add a good query."""
        self._good.append(question)

    def place(self, position: jax.Array, kind: jax.Array | int, colour: jax.Array) -> None:
        """Put a thing on the floor at (y, x); the oracle knows its room."""
        code = (jnp.asarray(kind) * 8 + colour).astype(jnp.uint8)
        self.grid = self.grid.at[position[0], position[1]].set(code)
        thing = colour_word(colour), kind_word(kind)
        self.add_fact(("where", *thing), *thing, "in", self.room_word(position))

    def room_word(self, position: jax.Array) -> Drawn:
        """The word for the room that a position (y, x) is in."""
        row_and_column = position // (self.plan.room_size - 1)
        room = row_and_column[0] * self.plan.columns + row_and_column[1]
        return Drawn(VOCABULARY.nouns, jnp.asarray(ROOM_NOUNS)[room])

    def finish(self, key: jax.Array) -> State:
        """Add what every level has, and make it the first state of an episode."""
        doors_key, background_key = jax.random.split(key)
        self._hang_doors(doors_key)
        self._add_background(background_key)
        plan = self.plan
        level = Level(
            mission=sentence(*self._mission, length=MISSION_LENGTH),
            good_queries=_rows([question_key(each) for each in self._good], MAX_GOOD_QUERIES, UNUSED),
            contents=self.contents.astype(jnp.uint8),
            room_size=jnp.int32(plan.room_size),
            columns=jnp.int32(plan.columns),
            max_steps=jnp.int32(plan.room_size**2 * plan.rooms),
            **{name: jnp.asarray(rule, _RULE_TYPES[name]) for name, rule in self.rules.items()},
        )
        keys, answers, scopes = zip(*self._facts, strict=True)
        return State(
            level=level,
            grid=self.grid.astype(jnp.uint8),
            facts=FactTable(
                keys=_rows(keys, MAX_FACTS, UNUSED),
                answers=_rows(answers, MAX_FACTS, 0),
                scope=_rows(scopes, MAX_FACTS, NEVER).astype(jnp.int8),
            ),
            position=self.layout.agent[::-1],
            direction=self.layout.direction,
            carrying=jnp.uint8(cells.EMPTY),
            step=jnp.int32(0),
            unlocked=jnp.bool_(False),
            asked=jnp.zeros(MAX_GOOD_QUERIES, bool),
            queries=jnp.int32(0),
        )

    def _hang_doors(self, key: jax.Array) -> None:
        """Colour the doors; of several doors of a colour the oracle names that of the lowest room."""
        layout, doors = self.layout, self.layout.doors
        if not len(doors):
            return
        colours = jax.random.randint(key, (len(doors),), 0, len(cells.COLOURS))
        if self.door_colour is not None:
            colours = jnp.full_like(colours, self.door_colour)
        shut = cells.OPEN_DOOR if self.plan.open_doors else cells.CLOSED_DOOR
        kinds = jnp.where(layout.locked, cells.LOCKED_DOOR, shut)
        self.grid = self.grid.at[doors[:, 0], doors[:, 1]].set((kinds * 8 + colours).astype(jnp.uint8))
        rooms = np.array(self.plan.doors)[:, 1]  # a wall belongs to the room to its right, or below it
        for colour in range(len(cells.COLOURS)):
            has_colour = colours == colour
            room = Drawn(VOCABULARY.nouns, jnp.asarray(ROOM_NOUNS)[jnp.where(has_colour, rooms, 99).min()])
            door = (cells.COLOURS[colour], "door")
            answer = sentence(*door, "in", room, length=RESPONSE_LENGTH)
            self.add_fact_if(has_colour.any(), ("where", *door), answer)

    def _add_background(self, key: jax.Array) -> None:
        """What the oracle knows though it never matters: places, and toys that are not in this level."""
        east = VOCABULARY.adjectives.index("east")
        directions = jax.random.randint(key, (len(PLACES) + 2,), 0, 2)
        for place, direction in zip(PLACES, directions[2:], strict=True):
            self.add_fact(
                ("where", "none", place), place, "in", Drawn(VOCABULARY.adjectives, east + direction)
            )
        if not self.has_toys:
            for name in range(2):
                who = name_word(name)
                colour = colour_word(jnp.asarray([cells.BLUE, cells.GREEN])[directions[name]])
                self.add_fact(("what", who, "toy"), who, "toy is", colour, "ball")


_RULE_TYPES = {
    "danger": jnp.int8,
    "key_colour": jnp.int8,
    "goal": jnp.int8,
    "target": jnp.uint8,
    "wrong_box_ends": jnp.bool_,
    "unlocking_pays": jnp.bool_,
    "boxes_passable": jnp.bool_,
}


def _rows(rows: list[jax.Array] | tuple[jax.Array, ...], capacity: int, filler: int) -> jax.Array:
    """Stack rows, and fill up to a fixed number of them."""
    if len(rows) > capacity:
        raise ValueError(f"a level of {len(rows)} facts or queries is too large, at most {capacity} fit")
    stacked = jnp.stack(rows)
    padding = [(0, capacity - len(rows))] + [(0, 0)] * (stacked.ndim - 1)
    return jnp.pad(stacked, padding, constant_values=filler)
