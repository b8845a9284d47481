"""Recurrences: what they remember, and gradients as of the same steps written one after the other."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from afk.agents.networks.encoders import NoteEncoder
from afk.agents.networks.fusion import Recurrence
from afk.language import PAD

WIDTH, COUNT, STEPS = 6, 3, 5


def lstm(width: int = WIDTH, seed: int = 1) -> Recurrence:
    layer = Recurrence(width, key=jax.random.key(seed))
    bias = jax.random.normal(jax.random.key(seed + 10), (4 * width,))
    return jax.tree.map(lambda leaf: leaf + bias if leaf.ndim == 1 else leaf, layer)


def lstm_by_hand(layer: Recurrence, state: jax.Array, inputs: jax.Array, starts: Any) -> Any:
    """An LSTM as in its definition, step by step."""
    every = []
    for now, is_start in zip(inputs, starts, strict=True):
        state = jnp.where(is_start[:, None, None], 0, state)
        gates = now + state[:, 0] @ layer.hidden.weight + layer.hidden.bias
        write, forget, show, candidate = jnp.split(gates, 4, -1)
        kept = jax.nn.sigmoid(forget + 1) * state[:, 1] + jax.nn.sigmoid(write) * jnp.tanh(candidate)
        state = jnp.stack([jax.nn.sigmoid(show) * jnp.tanh(kept), kept], 1)
        every.append(state[:, 0])
    return state, jnp.stack(every)


def gru_by_hand(layer: NoteEncoder, tokens: jax.Array) -> Any:
    """A GRU as in its definition, word by word."""
    state, every = jnp.zeros((len(tokens), WIDTH)), []
    for word in tokens.T:
        from_input = layer.embedding[word] @ layer.inputs.weight + layer.inputs.bias
        from_state = state @ layer.hidden.weight + layer.hidden.bias
        reset, update = (
            jax.nn.sigmoid(from_input[:, part] + from_state[:, part])
            for part in (np.s_[:WIDTH], np.s_[WIDTH : 2 * WIDTH])
        )
        candidate = jnp.tanh(from_input[:, 2 * WIDTH :] + reset * from_state[:, 2 * WIDTH :])
        state = jnp.where((word != PAD)[:, None], update * state + (1 - update) * candidate, state)
        every.append(state)
    return jnp.stack(every, 1), state


def energy(result: Any) -> jax.Array:
    """A number that all of a result counts in."""
    parts = [(jnp.sin(leaf + number) ** 2).sum() for number, leaf in enumerate(jax.tree.leaves(result))]
    return jnp.stack(parts).sum()


def assert_alike(got: Any, expected: Any) -> None:
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=2e-5, rtol=1e-4), got, expected)


@pytest.mark.parametrize("steps", [1, STEPS])
def test_an_lstm_and_its_gradients_are_those_of_its_definition(steps: int) -> None:
    keys = jax.random.split(jax.random.key(0), 2)
    inputs = jax.random.normal(keys[0], (steps, COUNT, 4 * WIDTH))
    state = jax.random.normal(keys[1], (COUNT, 2, WIDTH))
    starts = jnp.zeros((steps, COUNT), bool).at[0, 0].set(True).at[-1, 1].set(True)

    def remember(layer: Recurrence, state: jax.Array, inputs: jax.Array) -> Any:
        return layer.remember(state, inputs, starts)

    def by_hand(layer: Recurrence, state: jax.Array, inputs: jax.Array) -> Any:
        return lstm_by_hand(layer, state, inputs, starts)

    assert_alike(remember(lstm(), state, inputs), by_hand(lstm(), state, inputs))
    got, expected = (
        jax.jit(jax.grad(lambda *each, way=way: energy(way(*each)), (0, 1, 2)))(lstm(), state, inputs)
        for way in (remember, by_hand)
    )
    assert_alike(got, expected)
    assert np.abs(got[0].hidden.weight).max() > 0.01 or steps == 1


def test_a_note_and_its_gradients_are_those_of_the_definition() -> None:
    layer = NoteEncoder(11, WIDTH, key=jax.random.key(2))
    tokens = jnp.array([[3, 4, 5, PAD], [7, PAD, PAD, PAD], [PAD, PAD, PAD, PAD], [9, 10, 3, 8]])
    assert_alike(layer(tokens), gru_by_hand(layer, tokens))
    got, expected = (
        jax.jit(jax.grad(lambda layer, way=way: energy(way(layer))))(layer)
        for way in (lambda layer: layer(tokens), lambda layer: gru_by_hand(layer, tokens))
    )
    assert_alike(got, expected)


def test_recurrences_side_by_side_are_those_of_each_alone() -> None:
    layers = jax.tree.map(lambda *leaves: jnp.stack(leaves), lstm(seed=1), lstm(seed=2))
    inputs = jax.random.normal(jax.random.key(3), (2, STEPS, COUNT, 4 * WIDTH))
    starts = jnp.zeros((STEPS, COUNT), bool).at[2, 1].set(True)

    def learn(layer: Recurrence, inputs: jax.Array) -> Any:
        state = jnp.ones((COUNT, 2, WIDTH))
        return jax.grad(lambda layer: energy(layer.remember(state, inputs, starts)))(layer)

    together = jax.jit(jax.vmap(learn))(layers, inputs)
    for number in range(2):
        alone = learn(lstm(seed=1 + number), inputs[number])
        assert_alike(jax.tree.map(lambda leaf, number=number: leaf[number], together), alone)


def test_weights_get_their_gradient_from_one_product_at_the_end() -> None:
    """Not from one at every step: the loops have a product of the state alone."""
    starts = jnp.zeros((STEPS, COUNT), bool)

    def learn(layer: Recurrence, inputs: jax.Array) -> Any:
        return jax.grad(lambda layer: energy(layer.remember(jnp.ones((COUNT, 2, WIDTH)), inputs, starts)))(
            layer
        )

    program = str(jax.make_jaxpr(learn)(lstm(), jnp.ones((STEPS, COUNT, 4 * WIDTH))))
    assert program.count("dot_general") == 3  # forwards, backwards, and the gradient of the weights
