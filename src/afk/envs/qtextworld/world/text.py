"""Observations as tokens: spans of one long row of words, laid out one after the other.

Everything that can be said, the bank's descriptions as well as names and answers, is a span of `Book.pool`.
A text is a sequence of spans, and a token of it is looked up once it is known in which span its position
falls.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from afk.envs.qtextworld.levels.bank import AFTER, BEFORE, CLOSED, EMPTY, Bank, Spans
from afk.envs.qtextworld.world import words
from afk.envs.qtextworld.world.state import UNUSED, Game, State, can_be_seen, held
from afk.envs.qtextworld.world.things import COOKINGS, CUTS, PIECES, THINGS
from afk.language import NONE, PAD, Vocabulary

_JOINTS = ("", ", ", ", and ")  # what stands before a name in a list: the first, one in the middle, the last
_BARE = len(CUTS) * len(COOKINGS)  # the form of a name without article


class Book(NamedTuple):
    """All that can be said; every array of spans ends in an axis of start and length.

    Attributes:
        pool: (tokens,) uint16.
        intros: (variants, 2), see `Bank`.
        blocks: (pieces, variants, 4, 2), see `Bank`.
        names: (things, 17, 3, 2), by how a thing is cut and cooked (4 x 4) or without article, and by what
            stands before it in a list.
        floor: (3, 2), what is said of an empty floor, and before and after a list.
        inventory: (3, 2), what is said of empty hands, and before and after a list.
        mission: (2, 2), before and after the list of ingredients.
        feedback: (verbs + 1, 2), by the verb that worked, or none.
        heads: (3, 2), how answers begin.
        adjectives: (adjectives, 2), nothing for ``none``.
        nouns: (nouns, 2).
        places: (pieces + 1, 2), how *where* ends, the room last.
        recipes: (4, 4, 2), how *how* ends, by cut and cooking.
        on_you: (2,), how *where* ends for what is held.
        absent: (2,), how *where* ends for what is not there.
        cannot: (2,), how *how* ends for what is not there.
        refusal: (2,), what is said by who does not want to answer.
    """

    pool: np.ndarray
    intros: np.ndarray
    blocks: np.ndarray
    names: np.ndarray
    floor: np.ndarray
    inventory: np.ndarray
    mission: np.ndarray
    feedback: np.ndarray
    heads: np.ndarray
    adjectives: np.ndarray
    nouns: np.ndarray
    places: np.ndarray
    recipes: np.ndarray
    on_you: np.ndarray
    absent: np.ndarray
    cannot: np.ndarray
    refusal: np.ndarray


def make_book(bank: Bank, vocabulary: Vocabulary) -> Book:
    """Number a bank's words by the vocabulary, and add all that Q-TextWorld itself says."""
    renumber = np.array([PAD, *(vocabulary.token(word) for word in bank.words[1:])], np.uint16)
    spans = Spans(vocabulary.token, renumber[bank.pool].tolist())

    def add(*texts: str) -> np.ndarray:
        return np.array([spans.add(text) for text in texts], np.int32)

    forms = [
        [words.describe(thing, cut, cooking) for cut in range(len(CUTS)) for cooking in range(len(COOKINGS))]
        + [THINGS[thing].name]
        for thing in range(len(THINGS))
    ]
    joined = [joint + form for thing in forms for form in thing for joint in _JOINTS]
    recipes = [
        words.recipe_tail(cut, cooking) for cut in range(len(CUTS)) for cooking in range(len(COOKINGS))
    ]
    tables = {
        "names": add(*joined).reshape(len(THINGS), _BARE + 1, len(_JOINTS), 2),
        "floor": add("There is nothing on the floor.", "There is", "on the floor."),
        "inventory": add("You are carrying: nothing.", "You are carrying:", "."),
        "mission": add(*words.MISSION),
        "feedback": add(*words.FEEDBACK),
        "heads": add(*words.HEADS),
        "adjectives": add(*("" if word == NONE else word for word in words.ADJECTIVES)),
        "nouns": add(*words.NOUNS),
        "places": add(*(words.place_tail(piece) for piece in range(len(PIECES))), words.place_tail(None)),
        "recipes": add(*recipes).reshape(len(CUTS), len(COOKINGS), 2),
        "on_you": add(words.HELD)[0],
        "absent": add(words.ABSENT)[0],
        "cannot": add(words.CANNOT)[0],
        "refusal": add(words.REFUSAL)[0],
    }
    return Book(pool=np.array(spans.pool, np.uint16), intros=bank.intros, blocks=bank.blocks, **tables)


def say(book: Book, spans: jax.Array, length: int) -> jax.Array:
    """A (spans, 2) sequence of spans as (length,) uint16 tokens, padded at the end."""
    return _lay_out(book, spans, _starts(spans[:, 1]), length)


def mission_spans(book: Book, game: Game) -> jax.Array:
    """The instruction v_0 of a game: (things + 2, 2)."""
    names = _list_names(book, game.things, jnp.full_like(game.things, _BARE), game.is_ingredient[:, None])
    before, after = jnp.asarray(book.mission)
    return jnp.concatenate([before[None], names, after[None]])


def describe(book: Book, state: State, feedback: jax.Array, length: int) -> jax.Array:
    """The text of an observation: (length,) uint16 tokens.

    Args:
        book: what can be said.
        state: where things stand.
        feedback: (spans, 2), what comes first.
        length: how many tokens there are.
    """
    game, places = state.game, held(state.game) + 1
    shown = can_be_seen(state)
    is_at = (state.place[:, None] == np.arange(places)) & (game.things != UNUSED)[:, None]
    is_listed = is_at & shown
    form = jnp.where(state.place == held(game), state.cut * len(COOKINGS) + state.cooking, 0)
    names = _list_names(book, game.things, form, is_listed)

    # A sequence of feedback, intro, and for every place what comes before its list, the list, what follows.
    before, after = _frames(book, state, is_listed.any(0), shown)
    list_lengths = (is_listed * names[:, 1:]).sum(0)
    intro = jnp.asarray(book.intros)[game.intro][None]
    framed = jnp.stack([before[:, 1], list_lengths, after[:, 1]], -1).reshape(-1)
    starts = _starts(jnp.concatenate([feedback[:, 1], intro[:, 1], framed]))
    opening, (before_at, list_at, after_at) = starts[: -3 * places], starts[-3 * places :].reshape(-1, 3).T

    earlier = np.tri(len(names), k=-1, dtype=bool) & (state.place[:, None] == state.place)
    name_at = list_at[jnp.maximum(state.place, 0)] + (earlier * names[:, 1]).sum(-1)
    return _lay_out(
        book,
        jnp.concatenate([feedback, intro, before, after, names]),
        jnp.concatenate([opening, before_at, after_at, name_at]),
        length,
    )


def _frames(book: Book, state: State, holds: jax.Array, shown: jax.Array) -> tuple[jax.Array, jax.Array]:
    """What stands before and after the list of every place: two times (places, 2)."""
    blocks = jnp.asarray(book.blocks)[state.game.pieces, state.game.blocks]  # (pieces, 4, 2)
    ends = jnp.stack([jnp.asarray(book.floor), jnp.asarray(book.inventory)])  # (2, 3, 2)
    states = jnp.concatenate([blocks, ends[:, [0, *range(3)]]])
    part = jnp.where(holds, BEFORE, jnp.where(shown, EMPTY, CLOSED))
    before = states[np.arange(len(part)), part]
    return before, states[:, AFTER] * holds[:, None]


def _list_names(book: Book, things: jax.Array, form: jax.Array, is_listed: jax.Array) -> jax.Array:
    """The spans of names in lists: (things, 2), of no length where a thing is in no list.

    Args:
        book: what can be said.
        things: (things,) numbers.
        form: (things,) how each name is written.
        is_listed: (things, lists) bool.
    """
    count, rank = is_listed.sum(0), jnp.cumsum(is_listed, 0) - 1
    joint = jnp.where(rank == 0, 0, jnp.where(rank == count - 1, 2, 1))
    spans = jnp.asarray(book.names)[things, form, (joint * is_listed).sum(-1)]
    return spans * is_listed.any(-1)[:, None]


def _starts(lengths: jax.Array) -> jax.Array:
    """Where texts of these (texts,) lengths start if they follow one another."""
    return jnp.cumsum(lengths) - lengths


def _lay_out(book: Book, spans: jax.Array, at: jax.Array, length: int) -> jax.Array:
    """Spans, (spans, 2), each at its own place, (spans,), in (length,) tokens; they leave no gaps."""
    start, size = spans.T
    position = np.arange(length, dtype=np.int32)
    is_inside = (position[:, None] >= at) & (position[:, None] < at + size)
    source = position + jnp.where(is_inside, start - at, 0).sum(-1)
    return jnp.where(position < (at + size).max(), jnp.asarray(book.pool)[source], jnp.uint16(PAD))
