"""Charlie, the oracle of Q-TextWorld: where things are and how they are prepared (paper, appendix A.2).

He does not know the task: he answers for distractors and furniture as well, and for what is not there. What
he says is composed of spans of a book, which the world lays out as text.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from afk.knowledge.facts import matches
from afk.knowledge.reply import NOTHING, Reply
from afk.knowledge.source import TOLD, UNKNOWN

WHERE, HOW = range(2)  # what can be asked


class Kitchen(eqx.Module):
    """What is known of a kitchen now, of every slot that a thing or a piece of furniture may be in.

    Attributes:
        entities: (slots,) int32, what is there; negative numbers stand for nothing.
        places: (slots,) int32, how *where* ends for it: a row of `Phrases.places`.
        recipes: (slots,) int32, how *how* ends for it: a row of `Phrases.recipes`.
    """

    entities: jax.Array
    places: jax.Array
    recipes: jax.Array


class Index(eqx.Module):
    """Which fact a source answers a question with, where that is not what was asked for by its name.

    Attributes:
        keys: (rows, 3) int8, `WHERE` or `HOW`, an adjective or `ANY`, and a noun; or `UNUSED`.
        facts: (rows,) int16, numbers of facts; see `ask`.
    """

    keys: jax.Array
    facts: jax.Array


class Phrases(NamedTuple):
    """What answers are made of; spans have a last axis of start and length.

    Attributes:
        entities: (adjectives, nouns) int, what an adjective and a noun name, or a negative number.
        heads: (places, 2), how *where* begins, by how it ends; *how* begins as the first of them.
        adjectives: (adjectives, 2).
        nouns: (nouns, 2).
        places: (places, 2), how *where* ends; the last is for what is not there.
        recipes: (recipes, 2), how *how* ends; the last is for what is not there.
        names: (entities, 2) int, the adjective and the noun of what is there.
    """

    entities: np.ndarray
    heads: np.ndarray
    adjectives: np.ndarray
    nouns: np.ndarray
    places: np.ndarray
    recipes: np.ndarray
    names: np.ndarray


def ask(facts: Kitchen, query: jax.Array, *, phrases: Phrases) -> Reply:
    """Answer one query; the tokens of the reply are (4, 2) int32 spans, its name in the middle.

    A fact is the slot that *where* tells of, or as many further as there are slots if *how* does.

    Args:
        facts: what is known.
        query: (3,) int, `WHERE` or `HOW`, and an adjective and a noun.
        phrases: what answers are made of.
    """
    _, adjective, noun = query
    entity = jnp.asarray(phrases.entities)[adjective, noun].astype(jnp.int32)
    found = (facts.entities == entity) & (entity >= 0)
    is_known, slot = found.any(), jnp.argmax(found)
    return _reply(facts, is_known, slot, query, phrases)


def consult(facts: Kitchen, index: Index, query: jax.Array, *, phrases: Phrases) -> Reply:
    """Answer one query as the index says; see `ask`.

    A fact is told in Charlie's words and under its own name, which may be another one than was asked for.
    """
    found = matches(index.keys, query)
    is_known, fact = found.any(), index.facts[jnp.argmax(found)].astype(jnp.int32)
    slots = len(facts.entities)
    is_where = fact < slots
    slot = jnp.where(is_where, fact, fact - slots)
    told = jnp.stack([jnp.where(is_where, WHERE, HOW), *jnp.asarray(phrases.names)[facts.entities[slot]]])
    return _reply(facts, is_known, slot, jnp.where(is_known, told, query), phrases)


def compose(query: jax.Array, place: jax.Array, recipe: jax.Array, *, phrases: Phrases) -> jax.Array:
    """What is said to a query, (4, 2) int32 spans.

    Args:
        query: (3,) int, `WHERE` or `HOW`, and an adjective and a noun.
        place: () int32, how *where* ends.
        recipe: () int32, how *how* ends.
        phrases: what answers are made of.
    """
    function, adjective, noun = query
    is_where = function == WHERE
    spans = [
        jnp.asarray(phrases.heads)[jnp.where(is_where, place, 0)],
        jnp.asarray(phrases.adjectives)[adjective],
        jnp.asarray(phrases.nouns)[noun],
        jnp.where(is_where, jnp.asarray(phrases.places)[place], jnp.asarray(phrases.recipes)[recipe]),
    ]
    return jnp.stack(spans)


def _reply(facts: Kitchen, is_known: jax.Array, slot: jax.Array, query: jax.Array, phrases: Phrases) -> Reply:
    """What is said of a slot, or that nothing is known."""
    place = jnp.where(is_known, facts.places[slot], len(phrases.places) - 1)
    recipe = jnp.where(is_known, facts.recipes[slot], len(phrases.recipes) - 1)
    row = slot + jnp.where(query[0] == WHERE, 0, len(facts.entities))
    return Reply(
        tokens=compose(query, place, recipe, phrases=phrases),
        kind=jnp.where(is_known, TOLD, UNKNOWN).astype(jnp.int8),
        fact=jnp.where(is_known, row, NOTHING).astype(jnp.int32),
    )
