"""Charlie, the oracle: where things are and how they are prepared (paper, appendix A.2).

He does not know the task: he answers for distractors and furniture as well, and for what is not there.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from afk.envs.qtextworld.world import words
from afk.envs.qtextworld.world.state import Game, State, floor, held
from afk.envs.qtextworld.world.text import Book
from afk.envs.qtextworld.world.things import PIECES, THINGS


class Named(NamedTuple):
    """What an adjective and a noun name.

    Attributes:
        things: (things,) bool, the slot of a thing.
        pieces: (pieces,) bool, the slot of a piece of furniture.
    """

    things: jax.Array
    pieces: jax.Array


def find(game: Game, name: jax.Array) -> Named:
    """What a (2,) int adjective and noun name in a game: one slot, or none."""
    entity = jnp.asarray(words.ENTITIES)[name[0], name[1]].astype(jnp.int32)
    return Named((game.things == entity) & (entity >= 0), game.pieces == entity - len(THINGS))


def answer(book: Book, state: State, query: jax.Array, named: Named) -> jax.Array:
    """What Charlie says to *where* or *how*: (4, 2) int32 spans, the words of the query in the middle.

    Args:
        book: what can be said.
        state: where things stand.
        query: (3,) int, ``<func, adj, noun>``.
        named: what adjective and noun name.
    """
    game = state.game
    function, adjective, noun = query
    is_thing, exists = named.things.any(), named.things.any() | named.pieces.any()

    def of_thing(values: jax.Array) -> jax.Array:
        return jnp.where(named.things, values, 0).sum()

    place = of_thing(state.place)
    is_held = is_thing & (place == held(game))
    # The floor and the furniture itself are in the room.
    in_room = named.pieces.any() | (place == floor(game))
    piece = jnp.where(in_room, len(PIECES), game.pieces[jnp.minimum(place, floor(game) - 1)])
    where = jnp.where(is_held, book.on_you, jnp.where(exists, jnp.asarray(book.places)[piece], book.absent))
    where_head = jnp.where(is_held, words.YOU_HAVE, jnp.where(exists, words.THE, words.NOWHERE_HERE))

    # What is no ingredient needs to be as it is.
    cut = of_thing(jnp.where(game.is_ingredient, game.cut, state.cut))
    cooking = of_thing(jnp.where(game.is_ingredient, game.cooking, state.cooking))
    how = jnp.where(exists, jnp.asarray(book.recipes)[cut, cooking], book.cannot)

    asks_where = function == words.WHERE
    head = jnp.asarray(book.heads)[jnp.where(asks_where, where_head, words.THE)]
    tail = jnp.where(asks_where, where, how)
    return jnp.stack([head, jnp.asarray(book.adjectives)[adjective], jnp.asarray(book.nouns)[noun], tail])
