"""A network of your own: what the agent does between reading, seeing and choosing is up to you.

This one reads what is noted as a bag of words and what is seen as a flat vector, through two plain layers and
an LSTM; it points to nothing and says any word. Registered as a network, an agent with it trains, resumes,
evaluates, and is watched like any other, wherever this module is imported.

python examples/own_network.py
afk train C --agent bag-of-words --import examples/own_network.py
"""

from tempfile import TemporaryDirectory
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from rich.console import Console

import afk
from afk.agents.base import ActionEvaluation, Agent, Size
from afk.agents.build import register_network
from afk.agents.grid_agent import Decision, joint_log_probability, sample, weighted_entropy
from afk.agents.networks.encoders import VIEW, Linear, normalise, words_of
from afk.agents.networks.fusion import Recurrence
from afk.agents.networks.heads import Perceptron
from afk.agents.reading import Reading
from afk.agents.variants import Variant, register_agent
from afk.envs.core import Environment

_CHANNELS = 4  # of a cell of the view


class BagOfWords(Agent):
    """Words that are read as a bag, cells as numbers, an LSTM, and a head for each part of an action."""

    words: Linear
    view: Linear
    both: Linear
    recurrence: Recurrence
    heads: list[Perceptron]
    size: Size = eqx.field(static=True)

    def __init__(self, size: Size, env: Environment[Any], *, key: jax.Array) -> None:
        keys = jax.random.split(key, 5)
        tokens, width = len(env.vocabulary.tokens), size.width
        self.size = size
        self.words = Linear(tokens, width, key=keys[0])
        self.view = Linear(VIEW * VIEW * _CHANNELS, width, key=keys[1])
        self.both = Linear(2 * width, width, key=keys[2])
        self.recurrence = Recurrence(width, key=keys[3])
        outputs = (*env.action_sizes, 1)  # switch, physical, func, adj, noun, and V
        self.heads = [
            Perceptron(width, size.head, each, key=head_key)
            for each, head_key in zip(outputs, jax.random.split(keys[4], len(outputs)), strict=True)
        ]

    def __call__(
        self, state: jax.Array, seen: jax.Array, reading: Reading, starts: jax.Array
    ) -> tuple[jax.Array, Decision]:
        """See `Agent`; what is seen is (steps, n, 7, 7, 4) uint8."""
        steps, count = starts.shape
        image, reading = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), (seen, reading))
        tokens = len(self.words.weight)
        bag = jax.nn.one_hot(words_of(reading, self.size), tokens).max(1).at[:, 0].set(0)
        flat = image.reshape(len(image), -1).astype(bag.dtype) / 10
        both = jnp.concatenate([self.words(bag), self.view(flat)], -1)
        features = normalise(jax.nn.relu(self.both(jax.nn.relu(both))))
        projected = self.recurrence.inputs(features).reshape(steps, count, -1)
        state, h_x = self.recurrence.remember(state, projected, starts)
        switch, physical, function, adjective, noun, value = (head(h_x) for head in self.heads)
        soft = jax.nn.log_softmax
        return state, Decision(
            soft(switch), soft(physical), soft(function), soft(adjective), soft(noun), value[..., 0]
        )

    def choose(self, output: Decision, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        """See `Agent`."""
        action = sample(output, key)
        return action, joint_log_probability(output, action)

    def evaluate_actions(
        self, output: Decision, action: jax.Array, *, pays_for_asking: bool
    ) -> ActionEvaluation:
        """See `Agent`."""
        entropies = weighted_entropy(output, pays_for_asking=pays_for_asking)
        return ActionEvaluation(joint_log_probability(output, action), *entropies)


def build(variant: Variant, size: Size, env: Environment[Any], settings: Any, key: jax.Array) -> Agent:
    """The network for a run."""
    return BagOfWords(size, env, key=key)


register_network("qbabyai", "bag-of-words", build)
# An agent that has it: the notebook and the bonus of AFK, no pointer.
register_agent("bag-of-words", Variant(network="bag-of-words", pointer=False))


def main(steps: int = 60_000, episodes: int = 200) -> None:
    """Train it on Object in Box for a moment, and evaluate it."""
    with TemporaryDirectory() as folder:
        afk.train(
            "C",
            out=f"{folder}/run",
            agent="bag-of-words",
            preset_name="laptop",
            steps=steps,
            levels=episodes,
            console=Console(stderr=True),
        )
        found = afk.evaluate(f"{folder}/run", "C", episodes=episodes)
    print(f"bag-of-words on Object in Box: success {found['success']:.0%}, {found['queries']:.1f} questions")


if __name__ == "__main__":
    main()
