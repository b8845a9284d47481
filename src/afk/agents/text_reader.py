"""The paper's agent for Q-TextWorld: a Q-network that reads observation, task and notes (appendix B.2).

Other than `afk.agents.text_agent`, it remembers nothing but its notebook, a note is one vector to it, and the
three words of an action are chosen apart.
"""

from dataclasses import replace
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from afk.agents.base import Agent, Size
from afk.agents.networks.encoders import find_distinct, is_used, words_of
from afk.agents.networks.noisy import NoisyLinear
from afk.agents.networks.ops import look_up
from afk.agents.networks.transformer import (
    HEADS,
    Aggregator,
    TextEncoder,
    by_length,
    masked_mean,
    read_by_length,
)
from afk.agents.reading import Reading
from afk.agents.variants import Variant
from afk.envs.qtextworld.world.words import QUERIES
from afk.language import NONE, Vocabulary

# Something for each of ``<func, adj, noun>``: (..., functions), (..., adjectives) and (..., nouns).
Words = tuple[jax.Array, jax.Array, jax.Array]


class PolicyOutput(eqx.Module):
    """What commands and questions are valued by, with leading axes.

    Attributes:
        h_x: (width,), the mean over the tokens that are seen.
        sayable: which words of each class may be said, bool.
        value: () float32, the value of the best action without noise.
    """

    h_x: jax.Array
    sayable: Words
    value: jax.Array


class ActionValues(eqx.Module):
    """The action generator: a layer that is shared, and a noisy head for each of three words."""

    shared: NoisyLinear
    function: NoisyLinear
    adjective: NoisyLinear
    noun: NoisyLinear

    def __init__(
        self, inputs: int, hidden: int, vocabulary: Vocabulary, *, sigma: float, key: jax.Array
    ) -> None:
        shared_key, *keys = jax.random.split(key, 4)
        self.shared = NoisyLinear(inputs, hidden, sigma=sigma, key=shared_key)
        self.function, self.adjective, self.noun = (
            NoisyLinear(hidden, len(words), sigma=sigma, key=each)
            for words, each in zip(
                (vocabulary.functions, vocabulary.adjectives, vocabulary.nouns), keys, strict=True
            )
        )

    def __call__(self, h_x: jax.Array, key: jax.Array | None) -> Words:
        """Q_func, Q_adj and Q_noun of (..., inputs), all with one draw of the noise, or with none."""
        keys = (None,) * 4 if key is None else tuple(jax.random.split(key, 4))
        shared = jax.nn.relu(self.shared(h_x.astype(jnp.float32), keys[0]))
        return self.function(shared, keys[1]), self.adjective(shared, keys[2]), self.noun(shared, keys[3])


class TextReader(Agent):
    """Encoder, aggregators and action generator.

    Of `Size` it has `view_layers` convolutions of `kernel` tokens, and `head` units in the shared layer.
    """

    encoder: TextEncoder
    with_task: Aggregator
    with_notes: Aggregator
    heads: ActionValues
    size: Size = eqx.field(static=True)
    variant: Variant = eqx.field(static=True)
    vocabulary: Vocabulary = eqx.field(static=True)

    def __init__(
        self, variant: Variant, size: Size, vocabulary: Vocabulary, *, sigma: float, key: jax.Array
    ) -> None:
        if size.width % HEADS:
            raise ValueError(f"the network's width is a multiple of {HEADS}, not {size.width}")
        encoder_key, task_key, notes_key, heads_key = jax.random.split(key, 4)
        width = size.width
        # Without a notebook there is one note at most: the latest answer. It may be about any two words, so
        # that there are many distinct ones.
        self.size = size if variant.notebook else replace(size, notes=1, distinct_notes=0)
        self.variant, self.vocabulary = variant, vocabulary
        self.encoder = TextEncoder(
            len(vocabulary.tokens), width, layers=size.view_layers, kernel=size.kernel, key=encoder_key
        )
        self.with_task = Aggregator(width, key=task_key)
        self.with_notes = Aggregator(width, key=notes_key)
        self.heads = ActionValues(width, size.head, vocabulary, sigma=sigma, key=heads_key)

    def first_state(self, count: int) -> jax.Array:
        """No memory: (count, 0)."""
        return jnp.zeros((count, 0))

    def __call__(
        self, state: jax.Array, seen: jax.Array, reading: Reading, starts: jax.Array
    ) -> tuple[jax.Array, PolicyOutput]:
        """See `Agent`; what is seen is (steps, n, tokens) uint16, and it has no eye for terms beside it."""
        text = seen[0] if isinstance(seen, tuple) else seen
        text, reading = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), (text, reading))
        output = by_length(partial(self.think, text, reading), text)
        return state, jax.tree.map(lambda leaf: leaf.reshape(*starts.shape, *leaf.shape[1:]), output)

    def think(self, text: jax.Array, reading: Reading, mostly_short: bool) -> PolicyOutput:
        """What it makes of (n, tokens) texts and of what it reads beside them; see `by_length`."""
        h_task, task_mask = self.encoder(reading.instruction[:, : self.size.instruction_words])
        # The instruction v_0 is a note of A_0, too, so that there always is one.
        h_s = jnp.concatenate([masked_mean(h_task, task_mask)[:, None], self._note_vectors(reading.notes)], 1)
        look = partial(read_by_length, self._look) if mostly_short else self._look
        h_x = look(text, h_task, task_mask, h_s, is_used(reading))
        sayable = self._sayable(reading)
        return PolicyOutput(h_x, sayable, best_value(self.heads(h_x, None), sayable))

    def _look(
        self, text: jax.Array, h_task: jax.Array, task_mask: jax.Array, h_s: jax.Array, used: jax.Array
    ) -> jax.Array:
        """What is seen, (n, tokens), with what it finds in task and notes: (n, width)."""
        h_obs, mask = self.encoder(text)
        return masked_mean(self.with_notes(self.with_task(h_obs, h_task, task_mask), h_s, used), mask)

    def choose(self, output: PolicyOutput, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The best ``<func, adj, noun>``, (..., 3) int32, each under noise of its own; see `Agent`."""
        h_x, shape = output.h_x.reshape(-1, self.size.width), output.value.shape
        every = jax.vmap(self.heads)(h_x, jax.random.split(key, len(h_x)))
        values = (each.reshape(*shape, -1) for each in every)
        best = [jnp.argmax(_only(*each), -1) for each in zip(values, output.sayable, strict=True)]
        return jnp.stack(best, -1).astype(jnp.int32), jnp.zeros(output.value.shape)

    def _note_vectors(self, notes: jax.Array) -> jax.Array:
        """Each of (n, notes, words) notes as the mean over its words: (n, notes, width)."""
        rows, distinct = notes.reshape(-1, notes.shape[-1]), self.size.distinct_notes
        if not 0 < distinct < len(rows):
            vectors = masked_mean(*self.encoder(rows))
        else:
            # A batch holds the same few notes over and over; with more of them than there may be, encodings
            # are not a number, and training stops.
            rows, which, right = find_distinct(rows, distinct)
            vectors = look_up(which, masked_mean(*self.encoder(rows)))
            vectors = jnp.where(right[:, None], vectors, jnp.nan)
        return vectors.reshape(*notes.shape[:2], -1)

    def _sayable(self, reading: Reading) -> Words:
        """The words that may be said: those of A_0 and `none` for a pointer, all of them otherwise."""
        vocabulary, count = self.vocabulary, len(reading.instruction)
        functions = np.array([self.variant.asks or word not in QUERIES for word in vocabulary.functions])
        heard = words_of(reading, self.size)[:, :, None]

        def said(words: tuple[str, ...]) -> jax.Array:
            if not self.variant.pointer:
                return jnp.ones((count, len(words)), bool)
            return (heard == vocabulary.token(words[0]) + np.arange(len(words))).any(1)

        without = np.array([word == NONE for word in vocabulary.adjectives])
        return (
            jnp.broadcast_to(functions, (count, len(functions))),
            said(vocabulary.adjectives) | without,
            said(vocabulary.nouns),
        )


def best_value(values: Words, sayable: Words) -> jax.Array:
    """The largest Q_<u,v,w> among what may be said: (...,) float32."""
    function, adjective, noun = (_only(*each).max(-1) for each in zip(values, sayable, strict=True))
    return (function + adjective + noun) / 3


def value_of(values: Words, action: jax.Array) -> jax.Array:
    """Q_<u,v,w> = (Q_u + Q_v + Q_w) / 3 of (..., 3) actions: (...,) float32."""
    function, adjective, noun = (
        jnp.where(jax.nn.one_hot(action[..., word], each.shape[-1], dtype=bool), each, 0).sum(-1)
        for word, each in enumerate(values)
    )
    return (function + adjective + noun) / 3


def _only(values: jax.Array, sayable: jax.Array) -> jax.Array:
    return jnp.where(sayable, values, -jnp.inf)
