"""Words one after the other: a function word, then a noun for it, then the adjective that belongs to it.

The paper's heads choose adjective and noun apart, so that with two names at hand the first word of one may be
said with the last word of the other. Here each word is chosen given those before it.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp

from afk.agents.encoders import Linear, look_up
from afk.agents.heads import Perceptron, Pointer
from afk.agents.variants import Variant
from afk.language import NONE, Vocabulary

# From the number of a word in ``<func, adj, noun>`` and (n, size) log-probabilities to (n,) int32 choices.
Pick = Callable[[int, jax.Array], jax.Array]


class Heard(eqx.Module):
    """The words that can be pointed to.

    Attributes:
        tokens: (n, words) int32.
        encodings: h_w, (n, words, width).
    """

    tokens: jax.Array
    encodings: jax.Array


class Speech(eqx.Module):
    """Heads for ``<func, adj, noun>``.

    Attributes:
        function: the first head.
        noun: a pointer, or a head over all nouns.
        adjective: likewise.
        asked: (functions, width), what a function word adds to what is sought next.
        named: what a noun adds to it.
    """

    function: Perceptron
    noun: Pointer | Perceptron
    adjective: Pointer | Perceptron
    asked: jax.Array
    named: Linear
    vocabulary: Vocabulary = eqx.field(static=True)

    def __init__(
        self, variant: Variant, width: int, head: int, vocabulary: Vocabulary, *, key: jax.Array
    ) -> None:
        function_key, noun_key, adjective_key, asked_key, named_key = jax.random.split(key, 5)
        self.vocabulary = vocabulary
        self.function = Perceptron(width, head, len(vocabulary.functions), key=function_key)
        if variant.pointer:
            self.noun = Pointer(width, none_at=None, key=noun_key)
            self.adjective = Pointer(width, none_at=vocabulary.adjectives.index(NONE), key=adjective_key)
        else:
            self.noun = Perceptron(width, head, len(vocabulary.nouns), key=noun_key)
            self.adjective = Perceptron(width, head, len(vocabulary.adjectives), key=adjective_key)
        self.asked = jax.random.normal(asked_key, (len(vocabulary.functions), width)) * 0.5
        self.named = Linear(width, width, key=named_key, scale=1.0)

    def __call__(
        self, h_x: jax.Array, heard: Heard, sayable: jax.Array, pick: Pick
    ) -> tuple[tuple[jax.Array, ...], jax.Array]:
        """Say three words in each of n episodes.

        Args:
            h_x: (n, width).
            heard: what can be pointed to.
            sayable: (functions,) bool, the function words that may be said.
            pick: how a word is chosen.

        Returns:
            The log-probabilities that each of ``<func, adj, noun>`` was chosen by, and the words: (n, 3).
        """
        words = self.vocabulary
        functions = jax.nn.log_softmax(jnp.where(sayable, self.function(h_x), -jnp.inf))
        function = pick(0, functions)
        sought = h_x + look_up(function, self.asked)
        nouns = self._point(self.noun, sought, heard, words.nouns)
        noun = pick(2, nouns)
        # The encoding of a noun in its place has read the adjective before it.
        is_noun = (heard.tokens == (noun + words.token(words.nouns[0]))[:, None]).astype(h_x.dtype)
        in_place = jnp.einsum("nw,nwd->nd", is_noun, heard.encodings)
        in_place /= jnp.maximum(is_noun.sum(1, keepdims=True), 1)
        adjectives = self._point(self.adjective, sought + self.named(in_place), heard, words.adjectives)
        adjective = pick(1, adjectives)
        return (functions, adjectives, nouns), jnp.stack([function, adjective, noun], -1)

    def _point(
        self, head: Pointer | Perceptron, sought: jax.Array, heard: Heard, words: tuple[str, ...]
    ) -> jax.Array:
        """The log-probabilities of the words of a class."""
        if isinstance(head, Perceptron):
            return jax.nn.log_softmax(head(sought))
        return head(sought, heard.encodings, heard.tokens - self.vocabulary.token(words[0]), len(words))
