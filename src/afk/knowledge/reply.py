"""What a source says to a query, on the device."""

import equinox as eqx
import jax

from afk.knowledge.source import TOLD

NOTHING = -1  # in a reply: no fact is revealed


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
