"""Encoders: what is seen (f_obs), what is read (f_note), and a set of notes as a whole (f_set).

Modules here work on batches: (n, ...) arrays.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from afk.agents.base import Size
from afk.agents.networks.convolution import Convolution
from afk.agents.networks.ops import for_wanted, largest, look_up, relu, weigh_rows
from afk.agents.networks.recurrence import State, recur
from afk.agents.reading import Reading
from afk.language import PAD

_MANY_NOTES = 16_384  # from so many on it is faster to look for the distinct ones first
VIEW = 7  # cells along the view
CELL_FEATURES = (13, 6, 3, 4)  # types, colours, states and directions of a cell's four channels
SYMBOLS = 32  # of them all, and some to spare


_TERMS = 1  # what of a network's key its view of terms is drawn with
_TERMS_SCALE = 4.0  # terms are small numbers, what they are added to has unit variance
_TERMS_READ = 5  # numbers that are read of each source
_FINEST = 50.0  # prices from the inverse of this on are told apart by their logarithm


class Linear(eqx.Module):
    """x W + b over the last axis."""

    weight: jax.Array
    bias: jax.Array

    def __init__(self, inputs: int, outputs: int, *, key: jax.Array, scale: float = 2**0.5) -> None:
        self.weight = jax.nn.initializers.orthogonal(scale)(key, (inputs, outputs))
        self.bias = jnp.zeros(outputs)

    def __call__(self, x: jax.Array) -> jax.Array:
        """From (..., inputs) to (..., outputs)."""
        return x @ self.weight + self.bias


class TermsEncoder(eqx.Module):
    """What sources cost, as an agent sees it; see `afk.knowledge.traits.terms_of`.

    Prices are read as they are and by their logarithm: half a success and a fiftieth of it both matter.
    """

    linear: Linear

    @staticmethod
    def make(sources: int, width: int, *, key: jax.Array) -> "TermsEncoder | None":
        """One for so many sources with traits; None if there are none."""
        if not sources:
            return None
        key = jax.random.fold_in(key, _TERMS)
        return TermsEncoder(Linear(_TERMS_READ * sources, width, key=key, scale=1.0))

    @staticmethod
    def blind(sources: int, width: int) -> "TermsEncoder":
        """One for so many sources that sees nothing yet."""
        shape = jax.eval_shape(lambda: TermsEncoder.make(sources, width, key=jax.random.key(0)))
        return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shape)

    def __call__(self, terms: jax.Array) -> jax.Array:
        """From (n, sources, 3) float32 to (n, width)."""
        paid, answered = terms[..., :2], terms[..., 2:]
        read = [paid, jnp.log1p(_FINEST * paid) / math.log1p(_FINEST), jnp.log1p(answered)]
        # Scaled here and not in the weights: who begins without them learns to see prices sooner.
        features = _TERMS_SCALE * jnp.concatenate(read, -1).reshape(len(terms), -1)
        return self.linear(features.astype(self.linear.weight.dtype))


def normalise(x: jax.Array) -> jax.Array:
    """Zero mean and unit variance over the last axis."""
    x = x - x.mean(-1, keepdims=True)
    return x * jax.lax.rsqrt((x**2).mean(-1, keepdims=True) + 1e-5)


class ViewEncoder(eqx.Module):
    """f_obs: the symbols of every visible cell embedded and added up, then convolutions."""

    embedding: jax.Array
    places: jax.Array
    convolutions: list[Convolution]

    def __init__(self, width: int, layers: int, *, kernel: int, key: jax.Array) -> None:
        embedding_key, places_key, *keys = jax.random.split(key, 2 + layers)
        self.embedding = jax.random.normal(embedding_key, (sum(CELL_FEATURES), width)) * 0.5
        # What is right ahead matters most, and the maximum over the view forgets where it was.
        self.places = jax.random.normal(places_key, (VIEW, VIEW, width)) * 0.5
        self.convolutions = [Convolution(width, width, kernel=kernel, key=each) for each in keys]

    def __call__(self, image: jax.Array) -> jax.Array:
        """Images (n, 7, 7, 4) uint8 as (n, 7, 7, width)."""
        embedding = jnp.pad(self.embedding, ((0, SYMBOLS - len(self.embedding)), (0, 0)))
        if not self.convolutions:
            return weigh_rows(symbols_around(image, 1, embedding.dtype), embedding) + self.places
        # Nothing bends between the embedding and the first convolution: together they are one product with
        # the few symbols there are around a cell.
        first, *others = self.convolutions
        weight = jnp.einsum("sw,klwo->klso", embedding, first.weight)
        around = symbols_around(image, len(weight), weight.dtype)
        x = weigh_rows(around, weight.reshape(-1, weight.shape[-1]))
        x = relu(x + first(self.places[None]))
        for convolution in others:
            x = relu(convolution(x))
        return x


def symbols_around(image: jax.Array, side: int, dtype: jnp.dtype) -> jax.Array:
    """Which symbols are where in the square around every cell, in rows that a GPU multiplies well.

    Args:
        image: (n, 7, 7, 4) uint8.
        side: cells along the square's side, an odd number.
        dtype: of the result.

    Returns:
        Zeros and ones, (n, 7, 7, side * side * 32); nothing but zeros outside of the view.
    """
    codes = image + np.cumsum((0, *CELL_FEATURES[:-1])).astype(np.uint8)
    margin = side // 2
    codes = jnp.pad(codes, ((0, 0), (margin, margin), (margin, margin), (0, 0)), constant_values=SYMBOLS)
    shifted = [codes[:, y : y + VIEW, x : x + VIEW] for y in range(side) for x in range(side)]
    found = (jnp.stack(shifted, -2)[..., None] == np.arange(SYMBOLS, dtype=np.uint8)).any(-2)
    return found.reshape(*image.shape[:3], -1).astype(dtype)


class NoteEncoder(eqx.Module):
    """f_note: a GRU over the words of a note; every word has an encoding, the last one is the note's."""

    embedding: jax.Array
    inputs: Linear
    hidden: Linear

    def __init__(self, tokens: int, width: int, *, key: jax.Array) -> None:
        embedding_key, inputs_key, hidden_key = jax.random.split(key, 3)
        self.embedding = jax.random.normal(embedding_key, (tokens, width)) * 0.5
        self.inputs = Linear(width, 3 * width, key=inputs_key, scale=1.0)
        self.hidden = Linear(width, 3 * width, key=hidden_key, scale=1.0)

    def __call__(self, tokens: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Notes (n, words) as word encodings (n, words, width) and note encodings (n, width)."""
        # The input side of the GRU depends on the word alone: it is computed once for every word there is.
        projected = look_up(tokens.T, self.inputs(self.embedding))
        start = jnp.zeros((len(tokens), self.hidden.weight.shape[0]), projected.dtype)
        weight, bias = self.hidden.weight, self.hidden.bias
        (last,), every = recur(_gru, weight, bias, (start,), projected, (tokens != PAD).T)
        return every.swapaxes(0, 1), last

    def shared(self, tokens: jax.Array, distinct: int) -> tuple[jax.Array, jax.Array]:
        """The same, but encoding each distinct note once: a batch holds the same few notes many times over.

        Args:
            tokens: (n, words).
            distinct: how many distinct notes there may be; if there are more, encodings are not a number.
        """
        rows, which, right = find_distinct(tokens, distinct)
        words, notes = self(rows)
        chosen = jnp.where(right[:, None], jax.nn.one_hot(which, distinct, dtype=notes.dtype), jnp.nan)
        every = chosen @ words.reshape(distinct, -1)
        return every.reshape(*tokens.shape, -1), chosen @ notes


def _gru(given: jax.Array, state: State, projected: jax.Array, is_word: jax.Array) -> tuple[State, jax.Array]:
    """A step: the state stays where there is no word."""
    from_input, from_state = jnp.split(projected, 3, -1), jnp.split(given, 3, -1)
    reset = jax.nn.sigmoid(from_input[0] + from_state[0])
    update = jax.nn.sigmoid(from_input[1] + from_state[1])
    candidate = jnp.tanh(from_input[2] + reset * from_state[2])
    after = jnp.where(is_word[:, None], update * state[0] + (1 - update) * candidate, state[0])
    return (after,), after


def find_distinct(tokens: jax.Array, distinct: int) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The distinct ones of (n, words) notes.

    Returns:
        The notes, (distinct, words); the number of each of the n in them, (n,) int32; and whether it is
        there, (n,) bool, as all are unless there are more distinct ones, or two have the same mark.
    """
    marks = _mark(tokens)
    found, first = jnp.unique(marks, return_index=True, size=distinct, fill_value=jnp.uint32(2**32 - 1))
    rows = tokens[first]
    # Compared with all of them: to search takes a loop.
    which = jnp.minimum((found < marks[:, None]).sum(1), distinct - 1)
    return rows, which, (rows[which] == tokens).all(-1)


def _mark(tokens: jax.Array) -> jax.Array:
    """A number for each of (n, words) notes, the same for two different ones by rare accident only: (n,)."""
    mark = jnp.full(tokens.shape[:1], 2166136261, jnp.uint32)
    for word in range(tokens.shape[1]):
        mark = (mark ^ tokens[:, word].astype(jnp.uint32)) * jnp.uint32(16777619)
    return mark


class SetEncoder(eqx.Module):
    """f_set, a Deep Set: a network on every note, then the maximum over notes."""

    layers: list[Linear]

    def __init__(self, width: int, *, key: jax.Array) -> None:
        self.layers = [Linear(width, width, key=each) for each in jax.random.split(key)]

    def __call__(self, notes: jax.Array, used: jax.Array) -> jax.Array:
        """Notes (n, notes, width), of which (n, notes) are used, as h_s: (n, width)."""
        for layer in self.layers:
            notes = relu(layer(notes))
        return largest(jnp.where(used[..., None], notes, 0), (1,))


def read_notes(
    note: NoteEncoder, notes: SetEncoder, reading: Reading, size: Size
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """What is read, as encodings.

    Returns:
        h_w of every word of the instruction and of all notes, (n, words, width); the encodings of the
        instruction and of the notes themselves, (n, 1 + notes, width); and h_s, (n, width).
    """
    count = len(reading.instruction)
    instruction_words, instruction = note(reading.instruction[:, : size.instruction_words])
    rows = reading.notes.reshape(-1, size.note_words)
    is_shared = size.distinct_notes and len(rows) >= _MANY_NOTES
    note_words, encoded = note.shared(rows, size.distinct_notes) if is_shared else _encode_used(note, rows)
    h_w = jnp.concatenate([instruction_words, note_words.reshape(count, -1, size.width)], 1)
    every = jnp.concatenate([instruction[:, None], encoded.reshape(count, -1, size.width)], 1)
    return h_w, every, notes(every, is_used(reading))


@jax.custom_vjp
def _encode_used(note: NoteEncoder, tokens: jax.Array) -> tuple[jax.Array, jax.Array]:
    """As `NoteEncoder`, for (n, words) of which most are no notes: the encodings of nothing are zeros."""
    return for_wanted(note, tokens[:, 0] != PAD, tokens)


_encode_used.defvjp(
    lambda note, tokens: jax.vjp(lambda each: each(tokens), note), lambda back, change: (*back(change), None)
)


def is_used(reading: Reading) -> jax.Array:
    """Whether there is an instruction, as there always is, and which notes there are: (n, 1 + notes) bool."""
    return jnp.pad(reading.notes[..., 0] != PAD, ((0, 0), (1, 0)), constant_values=True)


def around_words(every: jax.Array, size: Size) -> jax.Array:
    """The encoding of what each word is in, of (n, 1 + notes, width): (n, words, width), as h_w."""
    count, _, width = every.shape
    first = jnp.broadcast_to(every[:, :1], (count, size.instruction_words, width))
    # Copies, not rows that are looked up: the gradient is a sum then, and nothing is scattered.
    notes = jnp.broadcast_to(every[:, 1:, None], (*every[:, 1:].shape[:2], size.note_words, width))
    return jnp.concatenate([first, notes.reshape(count, -1, width)], 1)


def words_of(reading: Reading, size: Size) -> jax.Array:
    """The tokens that h_w of `read_notes` encodes: (n, words) int32."""
    instruction = reading.instruction[:, : size.instruction_words]
    notes = reading.notes.reshape(len(instruction), -1)
    return jnp.concatenate([instruction, notes], 1).astype(jnp.int32)
