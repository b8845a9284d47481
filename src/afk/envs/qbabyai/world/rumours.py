"""Plausible false answers: of the same kind as the true one, about things that the level may hold."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from afk.envs.qbabyai.world.cells import COLOURS
from afk.envs.qbabyai.world.state import State
from afk.envs.qbabyai.world.words import COLOUR_ADJECTIVES, MAX_ROOMS, NAMES, ROOM_TOKENS, VOCABULARY, WHERE
from afk.knowledge.facts import FactTable
from afk.language import PAD

_token = VOCABULARY.token
_ROOM = int(ROOM_TOKENS[0])
_CHOICE_BITS = 16
_NOUNS = ("ball", "box", "key")  # next to each other in the vocabulary
_THINGS = [VOCABULARY.nouns.index(noun) for noun in _NOUNS]
_COLOURS = [_token(colour) for colour in COLOURS]
_KINDS, _EACH = len(_NOUNS), len(COLOURS)
# Of each thing that there may be: its bit, and its two words in one number.
_BITS = 1 << np.arange(_KINDS * _EACH, dtype=np.int32)
_WORDS = np.array([_token(noun) << 8 | colour for noun in _NOUNS for colour in _COLOURS], np.int32)
_NO_PLACE = -2  # in a sentence, and neither is the next
# Words that stand for each other in a false answer where nothing in the level does.
_OPPOSITES = (NAMES, ("east", "west"), ("blue", "yellow"))


class _Parts(NamedTuple):
    """What of an answer may be another: () int32 each.

    Attributes:
        end: the place of the last word.
        last: the last word.
        before: the one before it.
        at: the place before the last ball, box or key, or `_NO_PLACE`.
        colour: the word there, its colour.
        noun: the word after it.
        toys: how often it says "toy".
    """

    end: jax.Array
    last: jax.Array
    before: jax.Array
    at: jax.Array
    colour: jax.Array
    noun: jax.Array
    toys: jax.Array


def things_of(facts: FactTable) -> jax.Array:
    """The balls, boxes and keys of which it can be asked where they are: () int32, a bit for each."""
    function, colours, nouns = jnp.unstack(facts.keys, axis=1)
    is_kind = (function == WHERE)[:, None] & (nouns[:, None] == np.array(_THINGS, np.int8))
    is_colour = colours[:, None] == COLOUR_ADJECTIVES
    there = (is_kind[:, :, None] & is_colour[:, None, :]).any(0)
    return (there.reshape(-1) * _BITS).sum()


def falsify(state: State, tokens: jax.Array, choice: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Another answer of the same kind, or the same where there is none; and whether it is another.

    Rooms are other rooms of the level; whose suitcase and which direction are the other one; a thing is
    another one of its kind that the level holds, of any kind if there is none; the danger zone has the colour
    of the other tiles.

    Args:
        state: the level.
        tokens: (words,) uint8, the true answer.
        choice: () uint32 of 16 bits, which of several false ones.
    """
    words, place = tokens.astype(jnp.int32), np.arange(len(tokens))
    parts, chosen = _take_apart(words), choice.astype(jnp.int32)
    is_room = (parts.last >= _ROOM) & (parts.last < _ROOM + MAX_ROOMS)
    of_somebody = parts.last == _token("suitcase")
    is_last = (parts.last == _token("east")) | (parts.last == _token("west")) | is_room
    is_last |= words[0] == _token("danger")

    whose = jnp.where(of_somebody, parts.before, parts.last)
    word = jnp.where(is_room, _other_room(state, parts.last, chosen), _opposite(whose))
    colour, noun = _other_thing(state, parts, chosen)
    is_thing = ~is_last & ~of_somebody
    first = jnp.where(is_thing, parts.at, parts.end - of_somebody)
    second = jnp.where(is_thing, parts.at + 1, _NO_PLACE)
    false = jnp.where(place == first, jnp.where(is_thing, colour, word), words)
    false = jnp.where(place == second, noun, false).astype(tokens.dtype)
    # Told by two words: to compare sentences would take as long as to make them.
    return false, jnp.where(is_thing, parts.at >= 0, word != whose)


def _take_apart(words: jax.Array) -> _Parts:
    """The parts of (words,) tokens.

    Each sum over the words takes as long as a dozen operations on numbers, so that several numbers are put
    into the bits of one.
    """
    place = np.arange(len(words))
    is_thing = (words - _token(_NOUNS[0])).astype(jnp.uint32) < _KINDS
    found = ((words != PAD) + ((words == _token("toy")) << 4) + (is_thing << (place + 8))).sum()
    end, toys, things = (found & 15) - 1, (found >> 4) & 3, found >> 8
    at = jnp.where(things == 0, _NO_PLACE, 30 - jax.lax.clz(things))
    last, before, colour, noun = ((place == where) for where in (end, end - 1, at, at + 1))
    picked = (
        (last * words).astype(jnp.uint32)
        + (before * words << 8).astype(jnp.uint32)
        + (colour * words << 16).astype(jnp.uint32)
        + ((noun * words).astype(jnp.uint32) << 24)
    ).sum()
    last, before, colour, noun = ((picked >> 8 * byte & 255).astype(jnp.int32) for byte in range(4))
    return _Parts(end, last, before, at, colour, noun, toys)


def _other_room(state: State, room: jax.Array, choice: jax.Array) -> jax.Array:
    """The token of another room of the level, if it has one."""
    # Without a division of whole numbers, which takes as long as a dozen other operations.
    rooms = jnp.round(state.level.max_steps / state.level.room_size**2).astype(jnp.int32)
    further = room + (rooms > 1) + (choice * (rooms - 1) >> _CHOICE_BITS)
    return further - jnp.where(further >= _ROOM + rooms, rooms, 0)


def _opposite(word: jax.Array) -> jax.Array:
    """The word that stands for a () token in a false answer; itself where none does."""
    opposite = word
    for pair in _OPPOSITES:
        one, other = map(_token, pair)
        opposite = jnp.where(word == one, other, jnp.where(word == other, one, opposite))
    return opposite


def _other_thing(state: State, parts: _Parts, choice: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The tokens of colour and noun of another thing of the level; toys alone may be of another kind."""
    assert state.dealings is not None
    things, kind = state.dealings.rumours, parts.noun - _token(_NOUNS[0])
    colour = sum((parts.colour == token) * number for number, token in enumerate(_COLOURS))
    start = _EACH * jnp.clip(kind, 0, _KINDS - 1)
    of_kind = jnp.where((kind >= 0) & (kind < _KINDS), (1 << _EACH) - 1 << start, 0)
    alike = things & of_kind & ~(1 << start + colour)
    possible = jnp.where((alike == 0) & (parts.toys > 0), things & ~of_kind, alike)
    # The first that is possible from a random one on.
    few = alike != 0
    turn = jnp.where(few, start, 0) + (choice * jnp.where(few, _EACH, _KINDS * _EACH) >> _CHOICE_BITS)
    later = possible >> turn << turn
    later = jnp.where(later == 0, possible, later)
    words = jnp.where((later & -later) == _BITS, _WORDS, 0).sum()
    blue, green = _token("blue"), _token("green")
    spare = jnp.where(parts.colour == blue, green, blue)
    return jnp.where(possible > 0, words & 255, spare), jnp.where(possible > 0, words >> 8, parts.noun)
