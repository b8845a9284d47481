"""What Charlie knows of a game, and what his answers are made of; `knowledge.kitchen` has how he answers."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from afk.envs.qtextworld.world import words
from afk.envs.qtextworld.world.state import UNUSED, Game, State
from afk.envs.qtextworld.world.text import Book
from afk.envs.qtextworld.world.things import COOKINGS, PIECES, THINGS
from afk.knowledge import kitchen, source
from afk.knowledge.kitchen import Kitchen, Phrases
from afk.knowledge.reply import Reply
from afk.language import NONE

_ROOM = len(PIECES)  # where the floor and the furniture itself are
_ON_YOU = len(PIECES) + 1


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


def known(state: State) -> Kitchen:
    """What Charlie knows now: of the slots of things, then of those of furniture."""
    game = state.game
    pieces = game.pieces.astype(jnp.int32)
    # What is no ingredient needs to be as it is.
    cut = jnp.where(game.is_ingredient, game.cut, state.cut).astype(jnp.int32)
    cooking = jnp.where(game.is_ingredient, game.cooking, state.cooking).astype(jnp.int32)
    return Kitchen(
        entities=jnp.concatenate([game.things.astype(jnp.int32), pieces + len(THINGS)]),
        places=jnp.concatenate([endings(game)[jnp.maximum(state.place, 0)], jnp.full_like(pieces, _ROOM)]),
        recipes=jnp.concatenate([cut * len(COOKINGS) + cooking, jnp.zeros_like(pieces)]),
    )


def endings(game: Game) -> jax.Array:
    """How *where* ends by place, furniture, the floor, and the player's hands: (pieces + 2,) int32."""
    return jnp.concatenate([game.pieces.astype(jnp.int32), jnp.array([_ROOM, _ON_YOU])])


def phrases(book: Book) -> Phrases:
    """What Charlie's answers are made of."""
    heads = [words.THE] * (_ROOM + 1) + [words.YOU_HAVE, words.NOWHERE_HERE]
    return Phrases(
        entities=words.ENTITIES,
        heads=book.heads[heads],
        adjectives=book.adjectives,
        nouns=book.nouns,
        places=np.concatenate([book.places, [book.on_you, book.absent]]),
        recipes=np.concatenate([book.recipes.reshape(-1, 2), [book.cannot]]),
        names=words.NAME_WORDS,
    )


def ask(book: Book, state: State, query: jax.Array) -> Reply:
    """What Charlie, or who wrote down what he says, says to *where* or *how*.

    Args:
        book: what can be said.
        state: how things are, as he knows them.
        query: (3,) int, ``<func, adj, noun>`` of the world's words.
    """
    function = jnp.where(query[0] == words.WHERE, kitchen.WHERE, kitchen.HOW)
    query = jnp.stack([function, *query[1:]])
    if state.written is not None:
        return kitchen.consult(known(state), state.written.index, query, phrases=phrases(book))
    return kitchen.ask(known(state), query, phrases=phrases(book))


def host_facts(state: State) -> source.Facts:
    """What Charlie knows now, for sources on the host."""
    return say_facts(jax.device_get(known(state)))


def say_facts(facts: Kitchen) -> source.Facts:
    """A kitchen on the host in words."""
    names = [*(thing.words for thing in THINGS), *((NONE, piece.name) for piece in PIECES)]
    there = [(slot, int(entity)) for slot, entity in enumerate(facts.entities) if entity != UNUSED]
    where = [
        source.Fact(("where", *names[entity]), _say_where(names[entity], int(facts.places[slot])), slot)
        for slot, entity in there
    ]
    how = [
        source.Fact(
            ("how", *names[entity]),
            f"{_name(words.HEADS[words.THE], names[entity])} "
            f"{words.recipe_tail(*divmod(int(facts.recipes[slot]), len(COOKINGS)))}",
            slot + len(facts.entities),
        )
        for slot, entity in there
    ]
    return source.Facts(
        rows=(*where, *how),
        functions=words.QUERIES,
        adjectives=words.ADJECTIVES,
        nouns=words.NOUNS,
        unknown=_say_unknown,
        refusal=words.REFUSAL,
    )


def _name(head: str, name: tuple[str, str]) -> str:
    """How an answer begins: ``The red apple``."""
    adjective, noun = name
    return " ".join([head, noun] if adjective == NONE else [head, adjective, noun])


def _say_where(name: tuple[str, str], place: int) -> str:
    """Where something is, by a number of `Kitchen.places`."""
    if place == _ON_YOU:
        return f"{_name(words.HEADS[words.YOU_HAVE], name)} {words.HELD}"
    return f"{_name(words.HEADS[words.THE], name)} {words.place_tail(None if place == _ROOM else place)}"


def _say_unknown(question: source.Words) -> str:
    """What Charlie says of what is not there."""
    function, *name = question
    if function == "where":
        return f"{_name(words.HEADS[words.NOWHERE_HERE], (name[0], name[1]))} {words.ABSENT}"
    return f"{_name(words.HEADS[words.THE], (name[0], name[1]))} {words.CANNOT}"
