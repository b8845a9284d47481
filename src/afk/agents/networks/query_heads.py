"""Autoregressive query heads: the words of a question one after the other, each given those before it.

The paper's heads choose adjective and noun apart, so that with two names at hand the first word of one may be
said with the last word of the other. Here the noun comes before its adjective, and the function word after
both: what to do with a thing is in the notes that name it.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp

from afk.agents.networks.encoders import Linear
from afk.agents.networks.heads import Perceptron, Pointer
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


class QueryHeads(eqx.Module):
    """Heads for ``<func, adj, noun>``.

    Attributes:
        function: the head of the function word.
        noun: a pointer, or a head over all nouns.
        adjective: likewise.
        noun_context: what a noun adds to what is sought next; nothing if words are chosen apart.
        function_context: what a name adds to the choice of a function word; likewise.
    """

    function: Perceptron
    noun: Pointer | Perceptron
    adjective: Pointer | Perceptron
    noun_context: Linear | None
    function_context: Linear | None
    vocabulary: Vocabulary = eqx.field(static=True)

    def __init__(
        self,
        variant: Variant,
        width: int,
        head: int,
        vocabulary: Vocabulary,
        *,
        autoregressive: bool,
        key: jax.Array,
    ) -> None:
        function_key, noun_key, adjective_key, function_context_key, noun_context_key = jax.random.split(
            key, 5
        )
        self.vocabulary = vocabulary
        self.function = Perceptron(width, head, len(vocabulary.functions), key=function_key)
        if variant.pointer:
            self.noun = Pointer(width, none_at=None, key=noun_key)
            self.adjective = Pointer(width, none_at=vocabulary.adjectives.index(NONE), key=adjective_key)
        else:
            self.noun = Perceptron(width, head, len(vocabulary.nouns), key=noun_key)
            self.adjective = Perceptron(width, head, len(vocabulary.adjectives), key=adjective_key)
        self.function_context = (
            Linear(width, width, key=function_context_key, scale=1.0) if autoregressive else None
        )
        self.noun_context = Linear(width, width, key=noun_context_key, scale=1.0) if autoregressive else None

    def __call__(
        self, h_x: jax.Array, heard: Heard, sayable: jax.Array, pick: Pick
    ) -> tuple[tuple[jax.Array, ...], jax.Array]:
        """Say three words in each of many episodes.

        Args:
            h_x: (..., width).
            heard: what can be pointed to, with the same leading axes.
            sayable: (functions,) bool, the function words that may be said.
            pick: how a word is chosen; leading axes are flat there.

        Returns:
            The log-probabilities that each of ``<func, adj, noun>`` was chosen by, and the words: (..., 3).
        """
        leading = h_x.shape[:-1]
        h_x, heard = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[len(leading) :]), (h_x, heard))
        spoken = self._speak(h_x, heard, sayable, pick)
        return jax.tree.map(lambda leaf: leaf.reshape(*leading, *leaf.shape[1:]), spoken)

    def _speak(
        self, h_x: jax.Array, heard: Heard, sayable: jax.Array, pick: Pick
    ) -> tuple[tuple[jax.Array, ...], jax.Array]:
        """The same with one leading axis."""
        adjectives, nouns, name, is_named = self._name(h_x, heard, pick)
        sought = (
            h_x
            if self.function_context is None
            else h_x + self.function_context(_mean(heard.encodings, is_named))
        )
        functions = jax.nn.log_softmax(jnp.where(sayable, self.function(sought), -jnp.inf))
        function = pick(0, functions)
        return (functions, adjectives, nouns), jnp.concatenate([function[:, None], name], -1)

    def _name(
        self, sought: jax.Array, heard: Heard, pick: Pick
    ) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
        """Choose a noun, then an adjective for it.

        Returns:
            The log-probabilities of adjectives and of nouns, the choices, (n, 2) int32 ``<adj, noun>``, and
            where the name is in what is heard, (n, words) bool.
        """
        words = self.vocabulary
        nouns = self._point(self.noun, sought, heard, words.nouns)
        noun = pick(2, nouns)
        # The encoding of a noun in its place has read the adjective before it.
        is_noun = heard.tokens == (noun + words.token(words.nouns[0]))[:, None]
        if self.noun_context is not None:
            sought = sought + self.noun_context(_mean(heard.encodings, is_noun))
        adjectives = self._point(self.adjective, sought, heard, words.adjectives)
        adjective = pick(1, adjectives)
        before = jnp.pad(heard.tokens, ((0, 0), (1, 0)))[:, :-1]
        follows = before == (adjective + words.token(words.adjectives[0]))[:, None]
        is_bare = adjective == words.adjectives.index(NONE)
        return adjectives, nouns, jnp.stack([adjective, noun], -1), is_noun & (follows | is_bare[:, None])

    def _point(
        self, head: Pointer | Perceptron, sought: jax.Array, heard: Heard, words: tuple[str, ...]
    ) -> jax.Array:
        """The log-probabilities of the words of a class."""
        if isinstance(head, Perceptron):
            return jax.nn.log_softmax(head(sought))
        return head(sought, heard.encodings, heard.tokens - self.vocabulary.token(words[0]), len(words))


def _mean(encodings: jax.Array, mask: jax.Array) -> jax.Array:
    """The mean of (n, words, width) where an (n, words) mask is, zero if it is nowhere: (n, width)."""
    weights = mask.astype(encodings.dtype)
    return jnp.einsum("nw,nwd->nd", weights, encodings) / jnp.maximum(weights.sum(1, keepdims=True), 1)
