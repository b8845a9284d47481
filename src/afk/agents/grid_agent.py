"""The agent for Q-BabyAI (paper, section 3 and appendix B.1): from what is seen and read to five heads."""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from afk.agents.encoders import VIEW, Linear, NoteEncoder, SetEncoder, ViewEncoder, normalise
from afk.agents.fusion import FilmBlock, Recurrence
from afk.agents.heads import Perceptron, Pointer, entropy, log_probability
from afk.agents.reading import Reading
from afk.agents.variants import Variant
from afk.language import PAD, Vocabulary

ACT, ASK = 0, 1  # what the switch chooses


@dataclass(frozen=True)
class Size:
    """How large the network is; the defaults are the paper's.

    Attributes:
        width: l, channels of the convolutions and units of the GRU and the LSTM.
        head: units of the heads' hidden layers.
        view_layers: convolutions before what is seen meets what is read.
        film_blocks: FiLM blocks, of two convolutions each.
        kernel: cells along a convolution's side; with 1 they are matrix products, which a CPU is quick at.
        places: whether the view is read out by a layer over all its cells; by its maximum otherwise.
        instruction_words: words of the instruction that are read.
        notes: notes that are read beside it.
        note_words: words of a note that are read.
        distinct_notes: how many distinct notes a batch may hold; each is encoded once. With 0, every note of
            every step is encoded on its own, which is faster on a CPU.
    """

    width: int = 128
    head: int = 64
    view_layers: int = 2
    film_blocks: int = 2
    kernel: int = 3
    places: bool = False
    instruction_words: int = 16
    notes: int = 20
    note_words: int = 5
    distinct_notes: int = 256

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            least = 0 if name in ("view_layers", "film_blocks", "places", "distinct_notes") else 1
            if value < least:
                raise ValueError(f"the network's {name} is at least {least}, not {value}")


class Decision(NamedTuple):
    """Log-probabilities of the five heads, each (..., choices), and V: (...,) float32.

    The query heads are nothing where the agent cannot ask.
    """

    switch: jax.Array
    physical: jax.Array
    function: jax.Array | None
    adjective: jax.Array | None
    noun: jax.Array | None
    value: jax.Array


class GridAgent(eqx.Module):
    """Encoders, aggregator, heads and critic; batches of sequences in, decisions out."""

    view: ViewEncoder
    note: NoteEncoder
    notes: SetEncoder
    film: list[FilmBlock]
    readout: Linear | None
    recurrence: Recurrence
    physical: Perceptron
    critic: Perceptron
    switch: Perceptron | None
    function: Perceptron | None
    adjective: Perceptron | Pointer | None
    noun: Perceptron | Pointer | None
    size: Size = eqx.field(static=True)
    vocabulary: Vocabulary = eqx.field(static=True)

    def __init__(
        self, variant: Variant, size: Size, vocabulary: Vocabulary, actions: int, *, key: jax.Array
    ) -> None:
        keys = iter(jax.random.split(key, 13))
        width, head = size.width, size.head
        self.size, self.vocabulary = size, vocabulary
        self.view = ViewEncoder(width, size.view_layers, kernel=size.kernel, key=next(keys))
        self.note = NoteEncoder(len(vocabulary.tokens), width, key=next(keys))
        self.notes = SetEncoder(width, key=next(keys))
        film_keys = jax.random.split(next(keys), size.film_blocks)
        self.film = [FilmBlock(width, kernel=size.kernel, key=each) for each in film_keys]
        readout_key = next(keys)
        self.readout = Linear(VIEW * VIEW * width, width, key=readout_key) if size.places else None
        self.recurrence = Recurrence(width, key=next(keys))
        self.physical = Perceptron(width, head, actions, key=next(keys))
        self.critic = Perceptron(width, head, 1, key=next(keys), scale=1.0)
        self.switch = self.function = self.adjective = self.noun = None
        if variant.asks:
            self.switch = Perceptron(width, head, 2, key=next(keys))
            self.function = Perceptron(width, head, len(vocabulary.functions), key=next(keys))
            adjective_key, noun_key = next(keys), next(keys)
            if variant.pointer:
                self.adjective = Pointer(width, has_none=True, key=adjective_key)
                self.noun = Pointer(width, has_none=False, key=noun_key)
            else:
                self.adjective = Perceptron(width, head, len(vocabulary.adjectives), key=adjective_key)
                self.noun = Perceptron(width, head, len(vocabulary.nouns), key=noun_key)

    def first_state(self, count: int) -> jax.Array:
        """The LSTM's state before an episode: (count, 2, width)."""
        return jnp.zeros((count, 2, self.size.width))

    def __call__(
        self, state: jax.Array, image: jax.Array, reading: Reading, starts: jax.Array
    ) -> tuple[jax.Array, Decision]:
        """Go through sequences of observations.

        Args:
            state: (n, 2, width), the LSTM's state before the first step.
            image: (steps, n, 7, 7, 4) uint8.
            reading: what is read at each step, with leading axes (steps, n).
            starts: (steps, n) bool, whether an episode starts at this step, with a fresh state.

        Returns:
            The state after the last step, and decisions with leading axes (steps, n).
        """
        steps, count = starts.shape
        image, reading = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), (image, reading))
        h_w, h_s = self._read(reading)
        seen = self.view(image)
        for block in self.film:
            seen = block(seen, h_s)
        pooled = seen.max((1, 2)) if self.readout is None else self.readout(seen.reshape(len(seen), -1))
        projected = self.recurrence.inputs(normalise(pooled)).reshape(steps, count, -1)

        def remember(state: jax.Array, step: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            projection, is_start = step
            state = self.recurrence(jnp.where(is_start[:, None, None], 0, state), projection)
            return state, state[:, 0]

        state, h_x = jax.lax.scan(remember, state.astype(projected.dtype), (projected, starts))
        decision = self._decide(h_x.reshape(steps * count, -1), h_w, reading)
        return state, jax.tree.map(lambda leaf: leaf.reshape(steps, count, *leaf.shape[1:]), decision)

    def _read(self, reading: Reading) -> tuple[jax.Array, jax.Array]:
        """Word encodings h_w (n, words, width) of the instruction and all notes, and h_s (n, width)."""
        size = self.size
        count = len(reading.instruction)
        instruction = reading.instruction[:, : size.instruction_words]
        notes = reading.notes.reshape(-1, size.note_words)
        encode = partial(self.note.shared, distinct=size.distinct_notes) if size.distinct_notes else self.note
        instruction_words, instruction = encode(instruction)
        note_words, notes = encode(notes)
        h_w = jnp.concatenate([instruction_words, note_words.reshape(count, -1, size.width)], 1)
        notes = jnp.concatenate([instruction[:, None], notes.reshape(count, -1, size.width)], 1)
        used = jnp.pad(reading.notes[..., 0] != PAD, ((0, 0), (1, 0)), constant_values=True)
        return h_w, self.notes(notes, used)

    def _decide(self, h_x: jax.Array, h_w: jax.Array, reading: Reading) -> Decision:
        """The heads on (n, width) features."""
        value = self.critic(h_x)[:, 0]
        physical = jax.nn.log_softmax(self.physical(h_x))
        if self.switch is None or self.function is None:
            only_act = jnp.broadcast_to(jnp.array([0.0, -jnp.inf]), (len(h_x), 2))
            return Decision(only_act, physical, None, None, None, value)
        switch = jax.nn.log_softmax(self.switch(h_x))
        function = jax.nn.log_softmax(self.function(h_x))
        tokens = reading.instruction[:, : self.size.instruction_words]
        tokens = jnp.concatenate([tokens, reading.notes.reshape(len(h_x), -1)], 1).astype(jnp.int32)
        words = self.vocabulary
        adjective = _say(
            self.adjective, h_x, h_w, tokens - words.token(words.adjectives[0]), len(words.adjectives)
        )
        noun = _say(self.noun, h_x, h_w, tokens - words.token(words.nouns[0]), len(words.nouns))
        return Decision(switch, physical, function, adjective, noun, value)


def _say(
    head: Perceptron | Pointer | None, h_x: jax.Array, h_w: jax.Array, words: jax.Array, size: int
) -> jax.Array | None:
    """The log-probabilities of a query word, pointed to or not."""
    if isinstance(head, Pointer):
        return head(h_x, h_w, words, size)
    return None if head is None else jax.nn.log_softmax(head(h_x))


def sample(decision: Decision, key: jax.Array) -> jax.Array:
    """Draw actions ``<switch, physical, func, adj, noun>``: (..., 5) int32."""
    keys = jax.random.split(key, 5)
    choices = [
        jnp.zeros(decision.value.shape, jnp.int32) if logits is None else jax.random.categorical(each, logits)
        for each, logits in zip(keys, decision[:5], strict=True)
    ]
    return jnp.stack(choices, -1).astype(jnp.int32)


def joint_log_probability(decision: Decision, action: jax.Array) -> jax.Array:
    """The log-probability of (..., 5) actions; only the heads that were used count."""
    asks = action[..., 0] == ASK
    used = (jnp.ones_like(asks), ~asks, asks, asks, asks)
    parts = [
        jnp.where(counts, log_probability(logits, action[..., index]), 0)
        for index, (logits, counts) in enumerate(zip(decision[:5], used, strict=True))
        if logits is not None
    ]
    return sum(parts, start=jnp.zeros(decision.value.shape))


def weighted_entropy(decision: Decision, *, pays_for_asking: bool) -> tuple[jax.Array, jax.Array]:
    """The entropy of the switch, and that of the other heads weighted by how likely each is used.

    Args:
        decision: with leading axes (...,).
        pays_for_asking: whether the weights pass gradients. The query heads hold more entropy than the
            physical one, so an entropy bonus whose weights do pays the switch for asking.
    """
    switch = entropy(decision.switch)
    act, ask = (jnp.exp(decision.switch[..., choice]) for choice in (ACT, ASK))
    if not pays_for_asking:
        act, ask = jax.lax.stop_gradient((act, ask))
    heads = act * entropy(decision.physical)
    for logits in (decision.function, decision.adjective, decision.noun):
        if logits is not None:
            heads += ask * entropy(logits)
    return switch, heads
