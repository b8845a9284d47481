"""The text encoder of the paper, and attention of one text on another (appendix B.2).

Modules here work on batches: (n, tokens, width) texts with (n, tokens) bool masks, false at padding.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from afk.agents.encoders import Linear, normalise
from afk.agents.products import look_up
from afk.language import PAD

HEADS = 4  # of attention


class Norm(eqx.Module):
    """Layer normalisation over the last axis."""

    gain: jax.Array
    bias: jax.Array

    def __init__(self, width: int) -> None:
        self.gain, self.bias = jnp.ones(width), jnp.zeros(width)

    def __call__(self, x: jax.Array) -> jax.Array:
        """From (..., width) to the same."""
        return normalise(x) * self.gain + self.bias


class TokenConvolution(eqx.Module):
    """A convolution along the tokens of a text that keeps their number.

    Attributes:
        weight: (kernel, width, width).
        bias: (width,).
    """

    weight: jax.Array
    bias: jax.Array

    def __init__(self, width: int, *, kernel: int, key: jax.Array) -> None:
        self.weight = jax.nn.initializers.he_normal()(key, (kernel, width, width))
        self.bias = jnp.zeros(width)

    def __call__(self, x: jax.Array) -> jax.Array:
        """From (n, tokens, width) to the same."""
        layout = ("NWC", "WIO", "NWC")
        return (
            jax.lax.conv_general_dilated(x, self.weight, (1,), "SAME", dimension_numbers=layout) + self.bias
        )


class Attention(eqx.Module):
    """Multi-head attention of a text P on a text Q; all fields are (width, width)."""

    query: jax.Array
    key: jax.Array
    value: jax.Array
    output: jax.Array

    def __init__(self, width: int, *, key: jax.Array) -> None:
        orthogonal = jax.nn.initializers.orthogonal()
        self.query, self.key, self.value, self.output = (
            orthogonal(each, (width, width)) for each in jax.random.split(key, 4)
        )

    def __call__(self, p: jax.Array, q: jax.Array, mask: jax.Array) -> jax.Array:
        """P_Q, for every token of P a weighted sum over Q: (n, |P|, width).

        Args:
            p: P, (n, |P|, width).
            q: Q, (n, |Q|, width).
            mask: (n, |Q|) bool, what of Q is there: its first tokens, and one at least where P_Q matters.
        """
        projected = p @ self.query, q @ self.key, q @ self.value
        heads = (x.reshape(*x.shape[:2], HEADS, -1) for x in projected)
        gathered = jax.nn.dot_product_attention(*heads, key_value_seq_lengths=mask.sum(1, dtype=jnp.int32))
        return gathered.reshape(p.shape) @ self.output


class TextEncoder(eqx.Module):
    """f_obs and f_note in one: embeddings with positions, and a transformer block with convolutions.

    Each layer's output is added to its input and normalised, as in the transformer that the paper refers to.
    """

    embedding: jax.Array
    convolutions: list[TokenConvolution]
    attention: Attention
    hidden: Linear
    output: Linear
    norms: list[Norm]

    def __init__(self, tokens: int, width: int, *, layers: int, kernel: int, key: jax.Array) -> None:
        embedding_key, attention_key, hidden_key, output_key, *keys = jax.random.split(key, 4 + layers)
        self.embedding = jax.random.normal(embedding_key, (tokens, width)) * 0.5
        self.convolutions = [TokenConvolution(width, kernel=kernel, key=each) for each in keys]
        self.attention = Attention(width, key=attention_key)
        self.hidden = Linear(width, width, key=hidden_key)
        self.output = Linear(width, width, key=output_key, scale=1.0)
        self.norms = [Norm(width) for _ in range(layers + 2)]

    def __call__(self, tokens: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Texts (n, tokens) as h (n, tokens, width), with their masks (n, tokens)."""
        mask = tokens != PAD
        *convolution_norms, attention_norm, output_norm = self.norms
        x = look_up(tokens, self.embedding)
        x += jnp.asarray(positions(*x.shape[1:]), x.dtype)
        for convolution, norm in zip(self.convolutions, convolution_norms, strict=True):
            # What follows a text is zero, so that it means the same however long it is padded.
            x = norm(x + jax.nn.relu(convolution(jnp.where(mask[..., None], x, 0))))
        x = attention_norm(x + self.attention(x, x, mask))
        return output_norm(x + self.output(jax.nn.relu(self.hidden(x)))), mask


class Aggregator(eqx.Module):
    """h_PQ = Tanh(Linear([P_Q; P])): a text P with what it finds in a text Q."""

    attention: Attention
    linear: Linear

    def __init__(self, width: int, *, key: jax.Array) -> None:
        attention_key, linear_key = jax.random.split(key)
        self.attention = Attention(width, key=attention_key)
        self.linear = Linear(2 * width, width, key=linear_key, scale=1.0)

    def __call__(self, p: jax.Array, q: jax.Array, mask: jax.Array) -> jax.Array:
        """P (n, |P|, width) and Q (n, |Q|, width) with its mask (n, |Q|) as (n, |P|, width)."""
        return jnp.tanh(self.linear(jnp.concatenate([self.attention(p, q, mask), p], -1)))


def masked_mean(x: jax.Array, mask: jax.Array) -> jax.Array:
    """The mean of (n, tokens, width) over the tokens that are there: (n, width), zero if there are none."""
    total = jnp.where(mask[..., None], x, 0).sum(1, dtype=jnp.float32)
    return (total / jnp.maximum(mask.sum(1, keepdims=True), 1)).astype(x.dtype)


def positions(tokens: int, width: int) -> np.ndarray:
    """Sines and cosines of every position: (tokens, width) float32."""
    channel = np.arange(width)
    angle = np.arange(tokens)[:, None] / 10_000 ** (channel // 2 * 2 / width)
    return np.where(channel % 2, np.cos(angle), np.sin(angle)).astype(np.float32)
