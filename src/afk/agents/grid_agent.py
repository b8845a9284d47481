"""The agent for Q-BabyAI (paper, section 3 and appendix B.1): from what is seen and read to five heads."""

from typing import NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from afk.agents.base import ActionEvaluation, Agent, Size, Weights
from afk.agents.networks.encoders import (
    VIEW,
    Linear,
    NoteEncoder,
    SetEncoder,
    TermsEncoder,
    ViewEncoder,
    normalise,
    read_notes,
    words_of,
)
from afk.agents.networks.fusion import FilmBlock, Recurrence
from afk.agents.networks.heads import (
    Perceptron,
    Pointer,
    decide_together,
    entropy,
    log_probability,
    with_terms,
)
from afk.agents.networks.ops import largest
from afk.agents.reading import Reading
from afk.agents.variants import Variant
from afk.envs.qbabyai.world.cells import ACT, ASK
from afk.language import NONE, Vocabulary


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


class GridAgent(Agent):
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
    terms: TermsEncoder | None
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
            self.switch = Perceptron(width, head, ASK + max(1, sources), key=next(keys))
            self.function = Perceptron(width, head, len(vocabulary.functions), key=next(keys))
            adjective_key, noun_key = next(keys), next(keys)
            if variant.pointer:
                self.adjective = Pointer(width, none_at=vocabulary.adjectives.index(NONE), key=adjective_key)
                self.noun = Pointer(width, none_at=None, key=noun_key)
            else:
                self.adjective = Perceptron(width, head, len(vocabulary.adjectives), key=adjective_key)
                self.noun = Perceptron(width, head, len(vocabulary.nouns), key=noun_key)

    def __call__(
        self, state: jax.Array, seen: jax.Array, reading: Reading, starts: jax.Array
    ) -> tuple[jax.Array, Decision]:
        """See `Agent`; the memory is (n, 2, width), and what is seen (steps, n, 7, 7, 4) uint8.

        Where sources have traits the terms, (steps, n, sources, 3) float32, are seen beside it.
        """
        steps, count = starts.shape
        seen, reading = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), (seen, reading))
        image, terms = seen if isinstance(seen, tuple) else (seen, jnp.zeros(()))
        h_w, _, h_s = read_notes(self.note, self.notes, reading, self.size)
        view = self.view(image)
        for block in self.film:
            view = block(view, h_s)
        pooled = largest(view, (1, 2)) if self.readout is None else self.readout(view.reshape(len(view), -1))
        inputs = normalise(pooled) if self.terms is None else normalise(pooled) + self.terms(terms)
        projected = self.recurrence.inputs(inputs).reshape(steps, count, -1)

        state, h_x = self.recurrence.remember(state, projected, starts)
        decision = self._decide(h_x.reshape(steps * count, -1), h_w, reading)
        return state, jax.tree.map(lambda leaf: leaf.reshape(steps, count, *leaf.shape[1:]), decision)

    def with_sources(self, sources: int) -> Self:
        """See `Agent`."""
        if not sources or self.terms is not None or self.switch is None:
            return self
        return with_terms(self, sources, choice=ASK)

    def choose(self, output: Decision, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Draw ``<switch, physical, func, adj, noun>``, (..., 5) int32; see `Agent`."""
        action = sample(output, key)
        return action, joint_log_probability(output, action)

    def evaluate_actions(
        self, output: Decision, action: jax.Array, *, pays_for_asking: bool
    ) -> ActionEvaluation:
        """See `Agent`."""
        entropies = weighted_entropy(output, pays_for_asking=pays_for_asking)
        return ActionEvaluation(joint_log_probability(output, action), *entropies)

    def weigh(self, output: Decision, action: jax.Array) -> Weights:
        """See `Agent`; the published heads choose apart, whatever the others chose."""
        del action
        return weights_of(output)

    def _decide(self, h_x: jax.Array, h_w: jax.Array, reading: Reading) -> Decision:
        """The heads on (n, width) features."""
        if self.switch is None or self.function is None:
            value, physical = decide_together([self.critic, self.physical], h_x)
            only_act = jnp.broadcast_to(jnp.array([0.0, -jnp.inf]), (len(h_x), 2))
            return Decision(only_act, jax.nn.log_softmax(physical), None, None, None, value[:, 0])
        heads = [self.critic, self.physical, self.switch, self.function]
        value, *chosen = decide_together(heads, h_x)
        physical, switch, function = map(jax.nn.log_softmax, chosen)
        tokens, words = words_of(reading, self.size), self.vocabulary
        adjective = _say(
            self.adjective, h_x, h_w, tokens - words.token(words.adjectives[0]), len(words.adjectives)
        )
        noun = _say(self.noun, h_x, h_w, tokens - words.token(words.nouns[0]), len(words.nouns))
        return Decision(switch, physical, function, adjective, noun, value[:, 0])


def _say(
    head: Perceptron | Pointer | None, h_x: jax.Array, h_w: jax.Array, words: jax.Array, size: int
) -> jax.Array | None:
    """The log-probabilities of a query word, pointed to or not."""
    if isinstance(head, Pointer):
        return head(h_x, h_w, words, size)
    return None if head is None else jax.nn.log_softmax(head(h_x))


def weights_of(decision: Decision) -> Weights:
    """What actions are chosen by, head by head."""
    heads = {
        "action": decision.physical,
        "function": decision.function,
        "adjective": decision.adjective,
        "noun": decision.noun,
    }
    given = {title: logits for title, logits in heads.items() if logits is not None}
    return Weights(given, None if decision.function is None else jnp.exp(decision.switch[:, ASK:]).sum(-1))


def sample(decision: Decision, key: jax.Array) -> jax.Array:
    """Draw actions ``<switch, physical, func, adj, noun>``: (..., 5) int32."""
    shape = decision.value.shape
    heads = [jnp.zeros((*shape, 1)) if logits is None else logits for logits in decision[:5]]
    ends = np.cumsum([logits.shape[-1] for logits in heads])
    # One draw for all heads: on a device, each has its price.
    noise = jnp.split(jax.random.gumbel(key, (*shape, ends[-1])), ends[:-1], -1)
    choices = [jnp.argmax(logits + each, -1) for logits, each in zip(heads, noise, strict=True)]
    return jnp.stack(choices, -1).astype(jnp.int32)


def joint_log_probability(decision: Decision, action: jax.Array) -> jax.Array:
    """The log-probability of (..., 5) actions; only the heads that were used count."""
    asks = action[..., 0] >= ASK
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
    act, ask = jnp.exp(decision.switch[..., ACT]), jnp.exp(decision.switch[..., ASK:]).sum(-1)
    if not pays_for_asking:
        act, ask = jax.lax.stop_gradient((act, ask))
    heads = act * entropy(decision.physical)
    for logits in (decision.function, decision.adjective, decision.noun):
        if logits is not None:
            heads += ask * entropy(logits)
    return switch, heads
