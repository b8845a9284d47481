"""What training, evaluation and watching ask of an agent, whichever world it is made for."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp

from afk.agents.reading import Reading
from afk.checks import check_counts, check_types

# Far beyond what has been of use: a slip of the hand is refused before memory runs out.
_MOST = {
    **{"width": 4096, "head": 4096, "view_layers": 64, "film_blocks": 64, "kernel": 31},
    **{"instruction_words": 1024, "notes": 1024, "note_words": 1024, "distinct_notes": 2**16},
}


@dataclass(frozen=True)
class Size:
    """How large the network is; the defaults are the paper's. Numbers beyond `_MOST` are refused.

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
        distinct_notes: how many distinct notes a large batch may hold; each is encoded once. With 0, every
            note of every step is encoded on its own, which is faster on a CPU.
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
        check_types(self)
        for name, most in _MOST.items():
            least = 0 if name in ("view_layers", "film_blocks", "distinct_notes") else 1
            check_counts(self, name, least=least, most=most)


class ActionEvaluation(NamedTuple):
    """What an agent says of actions, (...,) float32 each.

    Attributes:
        log_probability: of the action as a whole; parts of it that mean nothing do not count.
        switch_entropy: of the choice between acting and asking.
        entropy: of the other choices, each weighted by how likely it is made.
    """

    log_probability: jax.Array
    switch_entropy: jax.Array
    entropy: jax.Array


class Weights(NamedTuple):
    """What actions were chosen by.

    Attributes:
        heads: log-probabilities, (n, choices), by what is chosen: action, function, adjective or noun.
        asking: (n,), the probability of asking; None for agents that cannot.
    """

    heads: dict[str, jax.Array]
    asking: jax.Array | None


class Agent(eqx.Module):
    """A network that reads, sees, remembers, acts and asks: batches of sequences in, policy output out.

    The policy output is a pytree of an agent's own, from which actions are drawn and evaluated; all of it has
    the same leading axes, and `value` is V: (...,) float32.
    """

    size: eqx.AbstractVar[Size]

    def first_state(self, count: int) -> jax.Array:
        """The memory before an episode: (count, ...), for most the state of an LSTM, (count, 2, width)."""
        return jnp.zeros((count, 2, self.size.width))

    @abstractmethod
    def __call__(
        self, state: jax.Array, seen: Any, reading: Reading, starts: jax.Array
    ) -> tuple[jax.Array, Any]:
        """Go through sequences of observations.

        Args:
            state: (n, ...), the memory before the first step.
            seen: what is seen at each step, with leading axes (steps, n).
            reading: what is read at each step, with leading axes (steps, n).
            starts: (steps, n) bool, whether an episode starts at this step, with a fresh memory.

        Returns:
            The memory after the last step, and output with leading axes (steps, n).
        """

    @abstractmethod
    def choose(self, output: Any, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Draw actions: (..., components) int32, and their log-probabilities: (...,) float32."""

    def with_sources(self, sources: int) -> Self:
        """This agent where there are so many sources with traits, none for the paper's oracle.

        An agent that was trained with the oracle asks each of them where it asked the oracle, but is less
        sure of it, and knows nothing of their terms yet; so training may begin with it. One that has no room
        for them stays what it is.
        """
        del sources
        return self

    def evaluate_actions(self, output: Any, action: jax.Array, *, pays_for_asking: bool) -> ActionEvaluation:
        """How likely (..., components) actions are, and how open the choice was.

        Agents that draw from no distribution cannot be judged, and are not asked to by what trains them.

        Args:
            output: with leading axes (...,).
            action: what was done.
            pays_for_asking: whether the entropy of richer choices is a reason to make them.
        """
        raise NotImplementedError

    def weigh(self, output: Any, action: jax.Array) -> Weights:
        """What (n, components) actions were chosen by; nothing for agents that draw from no distribution."""
        del output, action
        return Weights({}, None)
