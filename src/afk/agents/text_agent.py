"""An agent for Q-TextWorld on the parts of the one for Q-BabyAI: notes, memory, words that are pointed to.

What is seen is a long text of which little changes. Its first words are the reply to the last command and
its last words the inventory: both are read in order, like a note. Of the description between them it is
enough to know which words it has.
"""

from typing import Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from afk.agents.base import ActionEvaluation, Agent, Size, Weights
from afk.agents.networks.encoders import (
    Linear,
    NoteEncoder,
    SetEncoder,
    TermsEncoder,
    around_words,
    normalise,
    read_notes,
    words_of,
)
from afk.agents.networks.fusion import Recurrence
from afk.agents.networks.heads import Perceptron, entropy, log_probability, soften
from afk.agents.networks.ops import relu
from afk.agents.networks.query_heads import Heard, Pick, QueryHeads
from afk.agents.reading import Reading
from afk.agents.variants import Variant
from afk.envs.qtextworld.world.words import QUERIES
from afk.language import PAD, Vocabulary

_REPLY, _INVENTORY = 8, 20  # words that are read in order at either end of what is seen
_CERTAINTY = 0.25  # what is left of log-odds of 8 for asking and of -12 against, as agents end with


class PolicyOutput(eqx.Module):
    """What commands and questions are drawn from, with leading axes.

    Attributes:
        h_x: (width,).
        heard: what can be pointed to.
        value: () float32, V.
    """

    h_x: jax.Array
    heard: Heard
    value: jax.Array


class TextAgent(Agent):
    """Encoders, aggregator, heads and critic."""

    note: NoteEncoder
    notes: SetEncoder
    context: Linear
    words: jax.Array
    layers: list[Linear]
    recurrence: Recurrence
    query_heads: QueryHeads
    critic: Perceptron
    terms: TermsEncoder | None
    asks: bool = eqx.field(static=True)
    size: Size = eqx.field(static=True)
    vocabulary: Vocabulary = eqx.field(static=True)

    def __init__(
        self, variant: Variant, size: Size, vocabulary: Vocabulary, *, sources: int = 0, key: jax.Array
    ) -> None:
        """A new network; `sources` are those with traits, none for the paper's oracle."""
        self.terms = TermsEncoder.make(sources, size.width, key=key)
        keys = iter(jax.random.split(key, 9))
        width = size.width
        self.size, self.vocabulary, self.asks = size, vocabulary, variant.asks
        self.note = NoteEncoder(len(vocabulary.tokens), width, key=next(keys))
        self.notes = SetEncoder(width, key=next(keys))
        # A word is read before what follows it; which recipe a name belongs to is in the note as a whole.
        self.context = Linear(width, width, key=next(keys), scale=1.0)
        self.words = jax.random.normal(next(keys), (len(vocabulary.tokens), width)) * 0.5
        self.layers = [Linear(4 * width, width, key=next(keys)), Linear(width, width, key=next(keys))]
        self.recurrence = Recurrence(width, key=next(keys))
        self.query_heads = QueryHeads(
            variant, width, size.head, vocabulary, autoregressive=True, key=next(keys)
        )
        self.critic = Perceptron(width, size.head, 1, key=next(keys), scale=1.0)

    def __call__(
        self, state: jax.Array, seen: jax.Array, reading: Reading, starts: jax.Array
    ) -> tuple[jax.Array, PolicyOutput]:
        """See `Agent`; the memory is (n, 2, width), and what is seen (steps, n, tokens) uint16.

        Where the source has traits the terms, (steps, n, 1, 3) float32, are seen beside it.
        """
        steps, count = starts.shape
        seen, reading = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), (seen, reading))
        text, terms = seen if isinstance(seen, tuple) else (seen, jnp.zeros(()))
        h_w, every, h_s = read_notes(self.note, self.notes, reading, self.size)
        h_w = h_w + around_words(self.context(every), self.size)
        x = jnp.concatenate([h_s, self._see(text)], -1)
        for layer in self.layers:
            x = relu(layer(x))
        inputs = normalise(x) if self.terms is None else normalise(x) + self.terms(terms)
        projected = self.recurrence.inputs(inputs).reshape(steps, count, -1)
        state, h_x = self.recurrence.remember(state, projected, starts)
        h_x = h_x.reshape(steps * count, -1)
        output = PolicyOutput(h_x, Heard(words_of(reading, self.size), h_w), self.critic(h_x)[:, 0])
        return state, jax.tree.map(lambda leaf: leaf.reshape(steps, count, *leaf.shape[1:]), output)

    def with_sources(self, sources: int) -> Self:
        """See `Agent`; asking is saying one of two words, so that it is less sure of verbs, too."""
        if not sources or self.terms is not None:
            return self
        function = soften(self.query_heads.function, _CERTAINTY)
        return eqx.tree_at(
            lambda agent: (agent.terms, agent.query_heads.function),
            self,
            (TermsEncoder.blind(sources, self.size.width), function),
            is_leaf=lambda leaf: leaf is None,
        )

    def choose(self, output: PolicyOutput, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Draw ``<func, adj, noun>``, (..., 3) int32; see `Agent`."""
        keys = jax.random.split(key, 3)
        logits, action = self.speak(
            output, lambda word, logits: jax.random.categorical(keys[word], logits).astype(jnp.int32)
        )
        return action, _joint(logits, action)

    def evaluate_actions(
        self, output: PolicyOutput, action: jax.Array, *, pays_for_asking: bool
    ) -> ActionEvaluation:
        """See `Agent`; asking is saying one of two words, and pays no more than saying another."""
        del pays_for_asking
        flat = action.reshape(-1, 3)
        logits, _ = self.speak(output, lambda word, _: flat[:, word])
        open_to = sum((entropy(each) for each in logits), start=jnp.zeros(action.shape[:-1]))
        asking = jnp.array([word in QUERIES for word in self.vocabulary.functions])
        ask = jnp.where(asking, jnp.exp(logits[0]), 0).sum(-1)
        return ActionEvaluation(_joint(logits, action), _open_choice(ask), open_to)

    def weigh(self, output: PolicyOutput, action: jax.Array) -> Weights:
        """See `Agent`; asking is saying one of the words that ask."""
        logits, _ = self.speak(output, lambda word, _: action[:, word])
        asking = np.array([word in QUERIES for word in self.vocabulary.functions])
        heads = {"function": logits[0], "adjective": logits[1], "noun": logits[2]}
        return Weights(heads, jnp.exp(logits[0][:, asking]).sum(-1) if self.asks else None)

    def _see(self, text: jax.Array) -> jax.Array:
        """What (n, tokens) texts say: (n, 3 * width)."""
        rows = jnp.arange(len(text))[:, None]
        has_word = jnp.zeros((len(text), len(self.words)), self.words.dtype).at[rows, text].set(1)
        described = normalise(has_word @ self.words)
        length = (text != PAD).sum(1, keepdims=True)
        ending = jnp.maximum(length - _INVENTORY, 0) + jnp.arange(_INVENTORY)
        ends = text[:, :_REPLY], jnp.take_along_axis(text, jnp.minimum(ending, text.shape[1] - 1), 1)
        return jnp.concatenate([described, *(self.note(each)[1] for each in ends)], -1)

    def speak(self, output: PolicyOutput, pick: Pick) -> tuple[tuple[jax.Array, ...], jax.Array]:
        """The log-probabilities of three words, and the words; see `QueryHeads`."""
        sayable = jnp.array([self.asks or word not in QUERIES for word in self.vocabulary.functions])
        return self.query_heads(output.h_x, output.heard, sayable, pick)


def _joint(logits: tuple[jax.Array, ...], action: jax.Array) -> jax.Array:
    """The log-probability of (..., 3) words."""
    every = (log_probability(each, action[..., word]) for word, each in enumerate(logits))
    return sum(every, start=jnp.zeros(action.shape[:-1]))


def _open_choice(probability: jax.Array) -> jax.Array:
    """The entropy of a choice between two."""
    inside = jnp.clip(probability, 1e-6, 1 - 1e-6)
    return -inside * jnp.log(inside) - (1 - inside) * jnp.log(1 - inside)
