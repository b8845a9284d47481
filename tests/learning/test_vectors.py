"""Optimising one vector: the same as optimising every array, and nothing changes its form."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from afk.learning.ppo import Settings, optimiser
from afk.learning.vectors import as_vectors

SETTINGS = Settings(max_grad_norm=0.5)


def test_an_optimiser_does_the_same_to_a_vector() -> None:
    params = {"weight": jnp.arange(6.0).reshape(2, 3), "bias": (jnp.ones(3), jnp.float32(2))}
    adam = optimiser(SETTINGS)
    state = adam.init(params)
    (vector, restore), (flat, restore_state) = as_vectors(params, state)
    assert vector.shape == (10,)
    for number in range(3):
        change = jax.tree.map(lambda leaf, number=number: jnp.sin(leaf + number), params)
        gradient = as_vectors(change, state)[0][0]
        updates, state = adam.update(change, state)
        params = optax.apply_updates(params, updates)
        update, flat = adam.update(gradient, flat)
        vector = optax.apply_updates(vector, update)
    for got, expected in ((restore(vector), params), (restore_state(flat), state)):
        assert jax.tree.structure(got) == jax.tree.structure(expected)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6), got, expected)
    assert all(leaf.ndim <= 1 for leaf in jax.tree.leaves(flat))
