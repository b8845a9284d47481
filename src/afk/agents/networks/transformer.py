"""The text encoder of the paper, and attention of one text on another (appendix B.2).

Modules here work on batches: (n, tokens, width) texts with (n, tokens) bool masks, false at padding.
"""

from collections.abc import Callable
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from afk.agents.networks.encoders import Linear, normalise
from afk.agents.networks.ops import look_up
from afk.language import PAD

Result = TypeVar("Result")
HEADS = 4  # of attention
_FEW = 32  # tokens that a text has at most for all heads to be one product
_NEVER = -1e30  # the score of what is not there; a number, so that a text of nothing gives numbers
# Of the texts of a batch in the order of their lengths, up to which share of them are cut to how many tokens.
# What is seen in a cooking game has 130 tokens or so, of 384 that there is room for; seven of eight have
# less than 165 and none has more than 220.
_CUTS = ((7 / 8, 176), (1.0, 256))


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
        gather = _gather_from_few if q.shape[1] <= _FEW else _gather
        return gather(p @ self.query, q @ self.key, q @ self.value, mask) @ self.output


def _gather(query: jax.Array, key: jax.Array, value: jax.Array, mask: jax.Array) -> jax.Array:
    """What tokens of P, (n, |P|, width), find in those of Q, (n, |Q|, width) each with its mask."""
    heads = (each.reshape(*each.shape[:2], HEADS, -1) for each in (query, key, value))
    lengths = jnp.maximum(mask.sum(1, dtype=jnp.int32), 1)
    gathered = jax.nn.dot_product_attention(
        *heads, key_value_seq_lengths=lengths, implementation="cudnn" if _suits_cudnn(query) else None
    )
    return gathered.reshape(query.shape)


def _suits_cudnn(query: jax.Array) -> bool:
    """Whether cuDNN computes attention here: without ever writing the weights of all pairs of tokens."""
    device = jax.devices()[0]
    is_new = device.device_kind.startswith("NVIDIA") and float(device.compute_capability) >= 8
    return is_new and query.dtype == jnp.bfloat16 and query.shape[-1] // HEADS % 8 == 0


def _gather_from_few(query: jax.Array, key: jax.Array, value: jax.Array, mask: jax.Array) -> jax.Array:
    """The same for a short Q: all heads in one product with keys of which each head has its own columns.

    That is more to multiply, but what there is most of, P, is not split into heads and put in another order.
    """
    (count, few, width), dtype = key.shape, key.dtype
    columns = np.repeat(np.eye(HEADS), width // HEADS, axis=1)[:, None]  # (heads, 1, width)
    key, value = ((each[:, None] * columns.astype(dtype)).reshape(count, -1, width) for each in (key, value))
    scores = jnp.einsum("npd,nkd->npk", query, key, preferred_element_type=jnp.float32)
    scores = scores.reshape(*query.shape[:2], HEADS, few) * (width // HEADS) ** -0.5
    weights = jax.nn.softmax(jnp.where(mask[:, None, None], scores, _NEVER), -1)
    return jnp.einsum("npk,nkd->npd", weights.reshape(*query.shape[:2], -1).astype(dtype), value)


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


def by_length(function: Callable[[bool], Result], *texts: jax.Array) -> Result:
    """``function(True)`` if each of some (n, tokens) texts can be cut as `_CUTS` says, otherwise of False.

    The choice is to be made around a gradient, not inside: differentiated, it keeps what either way may need.
    """
    if not all(_parts(text) for text in texts):
        return function(False)
    fits = [
        ((text != PAD).sum(1) > tokens).sum() <= len(text) - rows.stop
        for text in texts
        for rows, tokens in _parts(text)
    ]
    return jax.lax.cond(jnp.stack(fits).all(), lambda: function(True), lambda: function(False))


def read_by_length(read: Callable[..., jax.Array], text: jax.Array, *beside: jax.Array) -> jax.Array:
    """The same as ``read(text, *beside)`` where `by_length` says True, but without most of the padding.

    Args:
        read: a function of rows, each by itself, that gives the same however long a text is padded.
        text: (n, tokens).
        *beside: what is read beside each, (n, ...).
    """
    order = jnp.argsort((text != PAD).sum(1))
    text, *others = (each[order] for each in (text, *beside))
    results = [read(text[rows, :tokens], *(each[rows] for each in others)) for rows, tokens in _parts(text)]
    return jnp.concatenate(results)[jnp.argsort(order)]


def _parts(text: jax.Array) -> list[tuple[slice, int]]:
    """Which of (n, tokens) texts in the order of their lengths are cut to which; none if that is no use."""
    ends = [int(len(text) * share) for share, _ in _CUTS]
    if 0 in np.diff([0, *ends]) or text.shape[1] <= _CUTS[-1][1]:
        return []
    starts, lengths = (0, *ends[:-1]), (tokens for _, tokens in _CUTS)
    return [(slice(start, end), each) for start, end, each in zip(starts, ends, lengths, strict=True)]


def masked_mean(x: jax.Array, mask: jax.Array) -> jax.Array:
    """The mean of (n, tokens, width) over the tokens that are there: (n, width), zero if there are none."""
    total = jnp.where(mask[..., None], x, 0).sum(1, dtype=jnp.float32)
    return (total / jnp.maximum(mask.sum(1, keepdims=True), 1)).astype(x.dtype)


def positions(tokens: int, width: int) -> np.ndarray:
    """Sines and cosines of every position: (tokens, width) float32."""
    channel = np.arange(width)
    angle = np.arange(tokens)[:, None] / 10_000 ** (channel // 2 * 2 / width)
    return np.where(channel % 2, np.cos(angle), np.sin(angle)).astype(np.float32)
