"""The oracle of the paper (section 2.1): facts as key-value pairs, and one vectorised look-up."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from afk.knowledge import source
from afk.knowledge.reply import NOTHING, Reply
from afk.knowledge.source import ANYTHING, TOLD, UNKNOWN, Fact
from afk.knowledge.traits import Falsify, Traits, temper
from afk.language import Vocabulary

ANY = -1  # in a key: whatever word stands there
UNUSED = -2  # in a key: a row that holds no fact

EVERYWHERE, ON_THE_SPOT, NEVER = 0, 1, 2  # where a fact can be asked for: everywhere; at its place; not now


class FactTable(eqx.Module):
    """The facts of one level.

    Attributes:
        keys: (facts, 3) int8, ``<func, adj, noun>`` as indices into the word classes, `ANY` or `UNUSED`.
        answers: (facts, words) uint8 tokens.
        scope: (facts,) int8, one of `EVERYWHERE`, `ON_THE_SPOT` and `NEVER`.
        reveals: (facts, wanted facts) bool, which wanted facts of the level a row reveals, of sources whose
            answers may be about something else than the question; None if each answers its own question.
        is_true: (facts,) bool, whether a row is a fact, and not a source's false answer; None if each is.
    """

    keys: jax.Array
    answers: jax.Array
    scope: jax.Array
    reveals: jax.Array | None = None
    is_true: jax.Array | None = None


def matches(keys: jax.Array, query: jax.Array) -> jax.Array:
    """Which of the (facts, 3) keys fit a (3,) query: (facts,) bool; one that is `UNUSED` fits none."""
    return ((keys == query) | (keys == ANY)).all(-1) & (keys[..., 0] != UNUSED)


def available(facts: FactTable, on_the_spot: jax.Array) -> FactTable:
    """The facts that can be had now; facts of one place only where the () bool says that it is here."""
    here = facts.scope <= on_the_spot.astype(jnp.int8)
    return replace(facts, keys=jnp.where(here[:, None], facts.keys, UNUSED))


def ask(
    facts: FactTable,
    query: jax.Array,
    traits: Traits | None = None,
    key: jax.Array | None = None,
    *,
    unknown: jax.Array,
    refusal: jax.Array | None = None,
    falsify: Falsify | None = None,
) -> Reply:
    """Answer one query.

    Args:
        facts: what can be had now.
        query: (3,) int, ``<func, adj, noun>``.
        traits: what the source is like; without them it answers truly, and the rest is not needed.
        key: what lies and refusals are drawn with.
        unknown: (words,) uint8, the answer when nothing matches.
        refusal: (words,) uint8, what is said to refuse.
        falsify: see `temper`.
    """
    found = matches(facts.keys, query)
    is_known, row = found.any(), jnp.argmax(found)
    is_fact = is_known if facts.is_true is None else is_known & facts.is_true[row]
    reply = Reply(
        tokens=jnp.where(is_known, facts.answers[row], unknown),
        kind=jnp.where(is_known, TOLD, UNKNOWN).astype(jnp.int8),
        fact=jnp.where(is_fact, row, NOTHING).astype(jnp.int32),
    )
    if traits is None or key is None or refusal is None or falsify is None:
        return reply
    return temper(reply, traits, key, falsify=falsify, refusal=refusal)


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
