"""The oracle of the paper (section 2.1): facts as key-value pairs, and one vectorised look-up."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from afk.knowledge import source
from afk.knowledge.source import ANYTHING, TOLD, UNKNOWN, Fact
from afk.language import Vocabulary

ANY = -1  # in a key: whatever word stands there
UNUSED = -2  # in a key: a row that holds no fact
NOTHING = -1  # in a reply: no fact is revealed

EVERYWHERE, ON_THE_SPOT, NEVER = 0, 1, 2  # where a fact can be asked for: everywhere; at its place; not now


class FactTable(eqx.Module):
    """The facts of one level.

    Attributes:
        keys: (facts, 3) int8, ``<func, adj, noun>`` as indices into the word classes, `ANY` or `UNUSED`.
        answers: (facts, words) uint8 tokens.
        scope: (facts,) int8, one of `EVERYWHERE`, `ON_THE_SPOT` and `NEVER`.
    """

    keys: jax.Array
    answers: jax.Array
    scope: jax.Array


class Reply(eqx.Module):
    """What a source says to a query.

    Attributes:
        tokens: what is said: (words,) tokens, or, where texts are laid out later, the spans of a book.
        kind: () int8, one of `TOLD`, `UNKNOWN` and `REFUSED` of `afk.knowledge.source`.
        fact: () int32, the row of the fact that is revealed, or `NOTHING`.
    """

    tokens: jax.Array
    kind: jax.Array
    fact: jax.Array

    @property
    def is_told(self) -> jax.Array:
        """Whether there was an answer: () bool."""
        return self.kind == TOLD


def matches(keys: jax.Array, query: jax.Array) -> jax.Array:
    """Which of the (facts, 3) keys fit a (3,) query: (facts,) bool."""
    return ((keys == query) | (keys == ANY)).all(-1)


def available(facts: FactTable, on_the_spot: jax.Array) -> FactTable:
    """The facts that can be had now; facts of one place only where the () bool says that it is here."""
    here = facts.scope <= on_the_spot.astype(jnp.int8)
    return replace(facts, keys=jnp.where(here[:, None], facts.keys, UNUSED))


def ask(facts: FactTable, query: jax.Array, *, unknown: jax.Array) -> Reply:
    """Answer one query.

    Args:
        facts: what can be had now.
        query: (3,) int, ``<func, adj, noun>``.
        unknown: (words,) uint8, the answer when nothing matches.
    """
    found = matches(facts.keys, query)
    is_known, row = found.any(), jnp.argmax(found)
    return Reply(
        tokens=jnp.where(is_known, facts.answers[row], unknown),
        kind=jnp.where(is_known, TOLD, UNKNOWN).astype(jnp.int8),
        fact=jnp.where(is_known, row, NOTHING).astype(jnp.int32),
    )


def host_facts(facts: FactTable, vocabulary: Vocabulary, *, unknown: str, refusal: str) -> source.Facts:
    """A table of facts that can be had now, read for sources on the host."""
    keys, answers = np.asarray(facts.keys), np.asarray(facts.answers)
    classes = vocabulary.functions, vocabulary.adjectives, vocabulary.nouns

    def words(key: np.ndarray) -> source.Words:
        function, adjective, noun = (
            ANYTHING if index == ANY else names[index] for names, index in zip(classes, key, strict=True)
        )
        return function, adjective, noun

    rows = [
        Fact(words(key), vocabulary.decode(answer), row)
        for row, (key, answer) in enumerate(zip(keys, answers, strict=True))
        if (key != UNUSED).all()
    ]
    return source.Facts(tuple(rows), *classes, unknown=lambda _: unknown, refusal=refusal)
