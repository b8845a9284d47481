"""Plausible false answers: of the same kind as the true one, about things that the level may hold."""

import jax
import jax.numpy as jnp
import numpy as np

from afk.envs.qbabyai.world.cells import COLOURS
from afk.envs.qbabyai.world.state import State
from afk.envs.qbabyai.world.words import MAX_ROOMS, NAMES, ROOM_TOKENS, VOCABULARY, WHERE
from afk.language import PAD

_token = VOCABULARY.token
_FIRST_ADJECTIVE, _FIRST_NOUN = _token(VOCABULARY.adjectives[0]), _token(VOCABULARY.nouns[0])
_ROOM = int(ROOM_TOKENS[0])
_CHOICE_BITS = 16
_THINGS = [VOCABULARY.nouns.index(noun) for noun in ("ball", "box", "key")]
_COLOURS = np.array([_token(colour) for colour in COLOURS])
# Words that stand for each other in a false answer where nothing in the level does.
_OPPOSITES = (NAMES, ("east", "west"), ("blue", "yellow"))


def falsify(state: State, tokens: jax.Array, choice: jax.Array) -> jax.Array:
    """Another answer of the same kind, or the same where there is none.

    Rooms are other rooms of the level; whose suitcase and which direction are the other one; a thing is
    another one of its kind that the level holds, of any kind if there is none; the danger zone has the colour
    of the other tiles.

    Args:
        state: the level.
        tokens: (words,) uint8, the true answer.
        choice: () uint32 of 16 bits, which of several false ones.
    """
    # Words are picked by masks: to gather single words would take longer than all the rest.
    words, place = tokens.astype(jnp.int32), np.arange(len(tokens))
    end = (tokens != PAD).sum() - 1
    last = jnp.where(place == end, words, 0).sum()
    is_room = (last >= _ROOM) & (last < _ROOM + MAX_ROOMS)
    of_somebody = last == _token("suitcase")
    turns_last = (last == _token("east")) | (last == _token("west")) | (words[0] == _token("danger"))

    # Without a division of whole numbers, which takes as long as a dozen other operations.
    rooms = jnp.round(state.level.max_steps / state.level.room_size**2).astype(jnp.int32)
    chosen = choice.astype(jnp.int32)
    further = last + (rooms > 1) + (chosen * (rooms - 1) >> _CHOICE_BITS)
    other_room = further - jnp.where(further >= _ROOM + rooms, rooms, 0)

    is_colour = _is_colour(words)
    at = jnp.max(jnp.where(is_colour, place, -len(tokens)))  # of the thing in question
    colour, noun = (jnp.where(place == at + part, words, 0).sum() for part in (0, 1))
    is_toy = (words == _token("toy")).any()
    other_colour, other_noun = _other_thing(state, colour, noun, is_toy, chosen)

    answer = jnp.where(place == at, other_colour, jnp.where(place == at + 1, other_noun, words))
    opposites = _opposite(words)
    answer = jnp.where(turns_last, jnp.where(place == end, opposites, words), answer)
    answer = jnp.where(of_somebody, jnp.where(place == end - 1, opposites, words), answer)
    answer = jnp.where(is_room, jnp.where(place == end, other_room, words), answer)
    return answer.astype(tokens.dtype)


def _is_colour(words: jax.Array) -> jax.Array:
    """Which of the (words,) tokens are colours."""
    return (words[:, None] == _COLOURS).any(-1)


def _opposite(words: jax.Array) -> jax.Array:
    """The words that stand for (words,) tokens in a false answer; themselves where none does."""
    opposite = words
    for pair in _OPPOSITES:
        one, other = map(_token, pair)
        opposite = jnp.where(words == one, other, jnp.where(words == other, one, opposite))
    return opposite


def _other_thing(
    state: State, colour: jax.Array, noun: jax.Array, is_toy: jax.Array, choice: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """The tokens of colour and noun of another thing of the level; toys alone may be of another kind."""
    function, colours, nouns = jnp.unstack(state.facts.keys, axis=1)
    there = (function == WHERE) & (nouns[:, None] == np.array(_THINGS, np.int8)).any(-1)
    same_noun = nouns == (noun - _FIRST_NOUN).astype(jnp.int8)
    alike = there & same_noun & (colours != (colour - _FIRST_ADJECTIVE).astype(jnp.int8))
    possible = jnp.where(alike.any(), alike, there & ~same_noun & is_toy)
    # The first that is possible from a random row on.
    turn = np.arange(len(nouns), dtype=np.int32) - (choice * len(nouns) >> _CHOICE_BITS)
    turn = jnp.where(turn < 0, turn + len(nouns), turn)
    chosen = possible & (turn == jnp.min(jnp.where(possible, turn, len(nouns))))
    blue, green = _token("blue"), _token("green")
    spare = jnp.where(colour == blue, green, blue)
    found = [
        jnp.where(chosen, words.astype(jnp.int32) + first, 0).sum()
        for words, first in ((colours, _FIRST_ADJECTIVE), (nouns, _FIRST_NOUN))
    ]
    return jnp.where(possible.any(), found[0], spare), jnp.where(possible.any(), found[1], noun)
