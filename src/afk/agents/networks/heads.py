"""Heads: the switch, the physical action, and a query's three words; distributions over each."""

import math
from collections.abc import Sequence
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from afk.agents.networks.encoders import Linear, TermsEncoder
from afk.agents.networks.ops import relu

Heads = TypeVar("Heads", bound=Any)  # a network with them
_TINY = 1e-8
_PARTS = ("weight", "bias")
_CERTAINTY = 0.15  # what is left of log-odds of 10 for asking and of -20 against, as agents end with


class Perceptron(eqx.Module):
    """Two hidden layers."""

    layers: list[Linear]

    def __init__(
        self, inputs: int, hidden: int, outputs: int, *, key: jax.Array, scale: float = 0.01
    ) -> None:
        first, second, third = jax.random.split(key, 3)
        self.layers = [
            Linear(inputs, hidden, key=first),
            Linear(hidden, hidden, key=second),
            Linear(hidden, outputs, key=third, scale=scale),
        ]

    def __call__(self, x: jax.Array) -> jax.Array:
        """Features (n, inputs) as float32 (n, outputs)."""
        for layer in self.layers[:-1]:
            x = relu(layer(x))
        return self.layers[-1](x).astype(jnp.float32)


def decide_together(heads: Sequence[Perceptron], x: jax.Array) -> list[jax.Array]:
    """What heads of one size make of the same (n, inputs) features: (n, outputs) float32 each.

    A layer of all of them is one product: each of its own would have next to nothing to do on a GPU.
    """
    counts = [head.layers[-1].weight.shape[-1] for head in heads]
    x = jnp.broadcast_to(x, (len(heads), *x.shape))
    for number in range(len(heads[0].layers)):
        weight, bias = (_stack([getattr(head.layers[number], name) for head in heads]) for name in _PARTS)
        x = jnp.einsum("hni,hio->hno", x, weight) + bias[:, None]
        x = x if number == len(heads[0].layers) - 1 else relu(x)
    return [each[:, :count].astype(jnp.float32) for each, count in zip(x, counts, strict=True)]


def _stack(parts: Sequence[jax.Array]) -> jax.Array:
    """Arrays of different last axes as one, with zeros where there is nothing."""
    most = max(part.shape[-1] for part in parts)
    return jnp.stack(
        [jnp.pad(each, [(0, 0)] * (each.ndim - 1) + [(0, most - each.shape[-1])]) for each in parts]
    )


def soften(head: Perceptron, certainty: float) -> Perceptron:
    """A head with a part of its log-odds.

    Who asks, or acts, all but always never finds out what else is worth.
    """
    return eqx.tree_at(_last, head, [certainty * each for each in _last(head)])


def split_choice(head: Perceptron, choice: int, ways: int) -> Perceptron:
    """A head with some ways, each as likely, in the place of its last choice of a number; see `soften`."""
    columns = np.array([*range(choice), *[choice] * ways])
    weight, bias = (each[..., columns] for each in _last(soften(head, _CERTAINTY)))
    bias -= jnp.where(columns == choice, math.log(ways), 0.0)
    return eqx.tree_at(_last, head, [weight, bias])


def with_terms(agent: Heads, sources: int, *, choice: int) -> Heads:
    """An agent that chooses among so many sources what it chose of one, and sees nothing of their terms yet.

    Args:
        agent: with `terms`, which are None, and a `switch`.
        sources: how many there are.
        choice: what asking is for the switch, its last choice.
    """
    parts = TermsEncoder.blind(sources, agent.size.width), split_choice(agent.switch, choice, sources)
    return eqx.tree_at(
        lambda each: (each.terms, each.switch), agent, parts, is_leaf=lambda leaf: leaf is None
    )


def _last(head: Perceptron) -> list[jax.Array]:
    """What the log-odds of a head's choices are made of."""
    return [head.layers[-1].weight, head.layers[-1].bias]


class Pointer(eqx.Module):
    """A distribution over words by attention on the words that are read (section 3.2).

    Attributes:
        query: (width, width) W_q.
        key: (width, width) W_k.
        none: (width,) the key of `none`, which can be said though nobody wrote it; nothing for nouns.
        none_at: where `none` is in the word class.
    """

    query: jax.Array
    key: jax.Array
    none: jax.Array | None
    none_at: int | None = eqx.field(static=True)

    def __init__(self, width: int, *, none_at: int | None, key: jax.Array) -> None:
        query_key, key_key, none_key = jax.random.split(key, 3)
        orthogonal = jax.nn.initializers.orthogonal()
        self.query = orthogonal(query_key, (width, width))
        self.key = orthogonal(key_key, (width, width))
        # Rounded before it is scaled, whether what makes it is compiled as a whole or not.
        drawn = jax.lax.optimization_barrier(jax.random.normal(none_key, (width,)))
        self.none = None if none_at is None else drawn * 0.1
        self.none_at = none_at

    def __call__(self, h_x: jax.Array, h_w: jax.Array, words: jax.Array, size: int) -> jax.Array:
        """The distribution over a word class, as log-probabilities.

        Args:
            h_x: (n, width).
            h_w: (n, words, width), the encodings of all words that are read.
            words: (n, words) int, the index of each in the word class, outside of it if it is another word.
            size: how many words the class has.

        Returns:
            (n, size) float32, minus infinity for words that are not read; if none is, all are as likely.
        """
        query = h_x @ self.query
        # q k^T = (q W_k^T) h_w^T: to project the one query is cheaper than to project every word.
        scores = jnp.einsum("nd,nwd->nw", query @ self.key.T, h_w).astype(jnp.float32)
        legal = (words >= 0) & (words < size)
        if self.none is not None and self.none_at is not None:
            scores = jnp.concatenate([scores, (query @ self.none)[:, None].astype(jnp.float32)], 1)
            legal = jnp.pad(legal, ((0, 0), (0, 1)), constant_values=True)
            words = jnp.pad(words, ((0, 0), (0, 1)), constant_values=self.none_at)
        attention = jax.nn.softmax(jnp.where(legal, scores * h_x.shape[-1] ** -0.5, -jnp.inf), -1)
        # Repeated words add up: pi(w) = sum_i e_i I[d(i) = w].
        spelled = jax.nn.one_hot(words, size) * legal[..., None]
        probabilities = jnp.einsum("nw,nws->ns", attention, spelled)
        known = jnp.where(spelled.any(1), jnp.log(jnp.maximum(probabilities, _TINY)), -jnp.inf)
        # A word that is drawn from nothing would have a ratio of nothing to nothing in the loss.
        return jnp.where(legal.any(1, keepdims=True), known, -math.log(size))


def log_probability(logits: jax.Array, choice: jax.Array) -> jax.Array:
    """The log-probability of (n,) choices under (n, size) log-probabilities."""
    chosen = jax.nn.one_hot(choice, logits.shape[-1], dtype=bool)
    return jnp.where(chosen, logits, 0).sum(-1)


def entropy(logits: jax.Array) -> jax.Array:
    """The entropy of (n, size) log-probabilities: (n,)."""
    possible = jnp.isfinite(logits)
    finite = jnp.where(possible, logits, 0)
    return -jnp.where(possible, jnp.exp(finite) * finite, 0).sum(-1)
