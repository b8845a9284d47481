"""The improved agent for Q-BabyAI, on the parts of the published one.

What is in a cell is embedded as the words that name it, beside symbols of its own; every cell attends to the
notes that name what is in it; and the words of a question are chosen one after the other.
"""

from typing import Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from afk.agents.base import ActionEvaluation, Agent, Size, Weights
from afk.agents.grid_agent import Decision, joint_log_probability, weighted_entropy, weights_of
from afk.agents.networks.encoders import (
    SYMBOLS,
    VIEW,
    Linear,
    NoteEncoder,
    SetEncoder,
    TermsEncoder,
    around_words,
    is_used,
    normalise,
    read_notes,
    symbols_around,
    words_of,
)
from afk.agents.networks.fusion import FilmBlock, Recurrence
from afk.agents.networks.heads import Perceptron, decide_together, with_terms
from afk.agents.networks.ops import align, look_up, weigh_rows
from afk.agents.networks.query_heads import Heard, Pick, QueryHeads
from afk.agents.reading import Reading
from afk.agents.variants import Variant
from afk.envs.qbabyai.world.cells import ASK, COLOURS
from afk.language import PAD, Vocabulary

# The word for each of the symbols of a cell, where there is one: types as in Minigrid, then colours.
_TYPE_WORDS = ("", "", "", "zone", "door", "key", "ball", "box", "square", "", "", "", "")
SYMBOL_WORDS = (*_TYPE_WORDS, *COLOURS, *[""] * (SYMBOLS - len(_TYPE_WORDS) - len(COLOURS)))


class PolicyOutput(eqx.Module):
    """What actions are drawn from, with leading axes.

    Attributes:
        h_x: (width,).
        heard: what can be pointed to.
        switch: (2,) log-probabilities.
        physical: (actions,) log-probabilities.
        value: () float32, V.
    """

    h_x: jax.Array
    heard: Heard
    switch: jax.Array
    physical: jax.Array
    value: jax.Array


class CellNoteAttention(eqx.Module):
    """Cells attend to notes: what is said of what is in a cell.

    Attributes:
        query: from what is in a cell.
        key: from the words of a note.
        value: from the note as a whole.
    """

    query: Linear
    key: Linear
    value: Linear

    def __init__(self, width: int, *, key: jax.Array) -> None:
        both_key, value_key = jax.random.split(key)
        # The same at first: what is in a cell then finds the notes that name it before anything is learned.
        self.query = self.key = Linear(width, width, key=both_key, scale=1.0)
        self.value = Linear(width, width, key=value_key, scale=1.0)

    def __call__(self, cells: jax.Array, words: jax.Array, notes: jax.Array, used: jax.Array) -> jax.Array:
        """Look up every cell in the notes; it may find nothing.

        Args:
            cells: (n, 7, 7, width).
            words: (n, notes, width), the words of each note added up.
            notes: (n, notes, width), the encodings of the notes.
            used: (n, notes) bool, which there are.

        Returns:
            (n, 7, 7, width).
        """
        scores = jnp.einsum("nyxd,nkd->nyxk", self.query(cells), self.key(words)).astype(jnp.float32)
        scores = jnp.where(used[:, None, None], scores * cells.shape[-1] ** -0.5, -jnp.inf)
        nothing = ((0, 0), (0, 0), (0, 0), (0, 1))
        attention = jax.nn.softmax(jnp.pad(scores, nothing), -1)[..., :-1].astype(notes.dtype)
        return jnp.einsum("nyxk,nkd->nyxd", attention, self.value(notes))


class PlusAgent(Agent):
    """Encoders, aggregator, heads and critic; it always asks, points and keeps a notebook.

    What it has beyond the published agent may be left out, part by part: see `Variant`. Of `Size` it has no
    `view_layers`, and it always reads out all `places`.
    """

    note: NoteEncoder
    notes: SetEncoder
    context: Linear
    symbols: jax.Array
    places: jax.Array
    attention: CellNoteAttention | None
    film: list[FilmBlock]
    readout: Linear
    recurrence: Recurrence
    switch: Perceptron
    physical: Perceptron
    query_heads: QueryHeads
    critic: Perceptron
    terms: TermsEncoder | None
    word_embedded_cells: bool = eqx.field(static=True)
    size: Size = eqx.field(static=True)
    vocabulary: Vocabulary = eqx.field(static=True)

    def __init__(
        self,
        variant: Variant,
        size: Size,
        vocabulary: Vocabulary,
        actions: int,
        *,
        sources: int = 0,
        key: jax.Array,
    ) -> None:
        """A new network; `sources` are those with traits, none for the paper's oracle."""
        self.terms = TermsEncoder.make(sources, size.width, key=key)
        keys = iter(jax.random.split(key, 13))
        width, head = size.width, size.head
        self.size, self.vocabulary, self.word_embedded_cells = size, vocabulary, variant.word_embedded_cells
        self.note = NoteEncoder(len(vocabulary.tokens), width, key=next(keys))
        self.notes = SetEncoder(width, key=next(keys))
        self.context = Linear(width, width, key=next(keys), scale=1.0)
        self.symbols = jax.random.normal(next(keys), (SYMBOLS, width)) * 0.5
        self.places = jax.random.normal(next(keys), (VIEW, VIEW, width)) * 0.5
        attention_key = next(keys)
        attends = variant.cell_note_attention
        self.attention = CellNoteAttention(width, key=attention_key) if attends else None
        film_keys = jax.random.split(next(keys), size.film_blocks)
        self.film = [FilmBlock(width, kernel=size.kernel, key=each) for each in film_keys]
        self.readout = Linear(VIEW * VIEW * width, width, key=next(keys))
        self.recurrence = Recurrence(width, key=next(keys))
        self.switch = Perceptron(width, head, ASK + max(1, sources), key=next(keys))
        self.physical = Perceptron(width, head, actions, key=next(keys))
        self.query_heads = QueryHeads(
            variant,
            width,
            head,
            vocabulary,
            autoregressive=variant.autoregressive_query,
            key=next(keys),
        )
        self.critic = Perceptron(width, head, 1, key=next(keys), scale=1.0)

    def __call__(
        self, state: jax.Array, seen: jax.Array, reading: Reading, starts: jax.Array
    ) -> tuple[jax.Array, PolicyOutput]:
        """See `GridAgent`."""
        steps, count = starts.shape
        seen, reading = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), (seen, reading))
        image, terms = seen if isinstance(seen, tuple) else (seen, jnp.zeros(()))
        h_w, every, h_s = read_notes(self.note, self.notes, reading, self.size)
        h_w = h_w + around_words(self.context(every), self.size)
        view = self._look(image, reading, every)
        for block in self.film:
            view = block(view, h_s)
        inputs = normalise(self.readout(view.reshape(len(view), -1)))
        projected = self.recurrence.inputs(inputs if self.terms is None else inputs + self.terms(terms))
        state, h_x = self.recurrence.remember(state, projected.reshape(steps, count, -1), starts)
        h_x = h_x.reshape(steps * count, -1)
        value, switch, physical = decide_together([self.critic, self.switch, self.physical], h_x)
        output = PolicyOutput(
            h_x=h_x,
            heard=Heard(words_of(reading, self.size), h_w),
            switch=jax.nn.log_softmax(switch),
            physical=jax.nn.log_softmax(physical),
            value=value[:, 0],
        )
        return state, jax.tree.map(lambda leaf: leaf.reshape(steps, count, *leaf.shape[1:]), output)

    def with_sources(self, sources: int) -> Self:
        """See `Agent`."""
        if not sources or self.terms is not None:
            return self
        return with_terms(self, sources, choice=ASK)

    def choose(self, output: PolicyOutput, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Draw ``<switch, physical, func, adj, noun>``, (..., 5) int32; see `Agent`."""
        switch_key, physical_key, *keys = jax.random.split(key, 5)
        switch = jax.random.categorical(switch_key, output.switch)
        physical = jax.random.categorical(physical_key, output.physical)
        decision, words = self.decide(
            output, lambda word, logits: jax.random.categorical(keys[word], logits).astype(jnp.int32)
        )
        action = jnp.concatenate([jnp.stack([switch, physical], -1).astype(jnp.int32), words], -1)
        return action, joint_log_probability(decision, action)

    def evaluate_actions(
        self, output: PolicyOutput, action: jax.Array, *, pays_for_asking: bool
    ) -> ActionEvaluation:
        """See `Agent`."""
        said = action[..., 2:].reshape(-1, 3)
        decision, _ = self.decide(output, lambda word, _: said[:, word])
        entropies = weighted_entropy(decision, pays_for_asking=pays_for_asking)
        return ActionEvaluation(joint_log_probability(decision, action), *entropies)

    def weigh(self, output: PolicyOutput, action: jax.Array) -> Weights:
        """See `Agent`."""
        return weights_of(self.decide(output, lambda word, _: action[:, 2 + word])[0])

    def decide(self, output: PolicyOutput, pick: Pick) -> tuple[Decision, jax.Array]:
        """All heads, those of words given the ones picked before; and ``<func, adj, noun>``: (..., 3)."""
        sayable = jnp.ones(len(self.vocabulary.functions), bool)
        (function, adjective, noun), words = self.query_heads(output.h_x, output.heard, sayable, pick)
        heads = output.switch, output.physical, function, adjective, noun
        return Decision(*heads, output.value), words

    def _look(self, image: jax.Array, reading: Reading, every: jax.Array) -> jax.Array:
        """What is in every cell, where it is, and what the notes say of it: (n, 7, 7, width)."""
        has = symbols_around(image, 1, self.symbols.dtype)
        known = sought = weigh_rows(has, self.symbols)
        if self.word_embedded_cells:
            sought = self._name(image, has)
            known += sought
        known += self.places
        if self.attention is not None:
            rows = reading.instruction[:, None, : self.size.instruction_words], reading.notes
            words = jnp.concatenate([self._add_words(each) for each in rows], 1)
            known += self.attention(sought, words, every, is_used(reading))
        return jax.nn.relu(known)

    def _name(self, image: jax.Array, has: jax.Array) -> jax.Array:
        """What is in every cell as the words that name it, added up: (n, 7, 7, width).

        Args:
            image: (n, 7, 7, 4) uint8.
            has: (n, 7, 7, 32), which symbols there are.
        """
        tokens = np.array([self.vocabulary.token(word) if word else PAD for word in SYMBOL_WORDS])
        named = look_up(tokens, self.note.embedding) * (tokens != PAD)[:, None]
        # Empty cells have a colour, too, which nobody means.
        is_thing = jnp.array([bool(word) for word in _TYPE_WORDS])[image[..., :1]]
        return weigh_rows(has, named.astype(has.dtype)) * is_thing

    def _add_words(self, tokens: jax.Array) -> jax.Array:
        """The words of (n, notes, words) notes added up: (n, notes, width); padding does not count."""
        table = self.note.embedding
        size = align(len(table))
        counts = ((tokens[..., None] == np.arange(size)) & (tokens != PAD)[..., None]).sum(-2)
        return weigh_rows(counts.astype(table.dtype), jnp.pad(table, ((0, size - len(table)), (0, 0))))
