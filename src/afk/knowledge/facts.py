"""The oracle of the paper (section 2.1): facts as key-value pairs, and one vectorised look-up."""

import equinox as eqx
import jax
import jax.numpy as jnp

ANY = -1  # in a key: whatever word stands there
UNUSED = -2  # in a key: a row that holds no fact

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


def matches(keys: jax.Array, query: jax.Array) -> jax.Array:
    """Which of the (facts, 3) keys fit a (3,) query: (facts,) bool."""
    return ((keys == query) | (keys == ANY)).all(-1)


def ask(
    facts: FactTable, query: jax.Array, *, on_the_spot: jax.Array, unknown: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Answer one query.

    Args:
        facts: what is known.
        query: (3,) int, ``<func, adj, noun>``.
        on_the_spot: () bool, whether facts that are known at one place only are known here.
        unknown: (words,) uint8, the answer when nothing matches.

    Returns:
        The (words,) tokens of the answer, and whether there was one.
    """
    found = matches(facts.keys, query) & (facts.scope <= on_the_spot.astype(jnp.int8))
    known = found.any()
    return jnp.where(known, facts.answers[jnp.argmax(found)], unknown), known
