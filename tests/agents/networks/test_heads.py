"""Heads that decide together: the same as each by itself, and their gradients, too."""

import jax
import jax.numpy as jnp
import numpy as np

from afk.agents.networks.heads import Perceptron, decide_together

WIDTH, HIDDEN, OUTPUTS = 6, 5, (1, 7, 2)


def test_heads_together_are_those_of_each_alone() -> None:
    keys = jax.random.split(jax.random.key(0), len(OUTPUTS) + 1)
    heads = [
        Perceptron(WIDTH, HIDDEN, count, key=key, scale=1.0)
        for count, key in zip(OUTPUTS, keys[1:], strict=True)
    ]
    heads = jax.tree.map(
        lambda leaf: leaf + 0.1 * jnp.arange(leaf.size).reshape(leaf.shape) / leaf.size, heads
    )
    x = jax.random.normal(keys[0], (4, WIDTH))

    def energy(decided: list[jax.Array]) -> jax.Array:
        return jnp.concatenate([jnp.sin(each) ** 2 for each in decided], 1).sum()

    together, alone = decide_together(heads, x), [head(x) for head in heads]
    assert [each.shape for each in together] == [(4, count) for count in OUTPUTS]
    for got, expected in zip(together, alone, strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-5)
    got = jax.grad(lambda heads, x: energy(decide_together(heads, x)), (0, 1))(heads, x)
    expected = jax.grad(lambda heads, x: energy([head(x) for head in heads]), (0, 1))(heads, x)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), got, expected)
