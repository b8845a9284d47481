"""Convolutions of several networks: the same as of each by itself, and computed so."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from afk.agents.networks.convolution import Convolution, convolve

NETWORKS, IMAGES, SIDE, CHANNELS = 3, 4, 7, 5


@pytest.fixture(scope="module")
def several() -> tuple[jax.Array, jax.Array]:
    """A kernel and images for each of some networks."""
    weight_key, image_key = jax.random.split(jax.random.key(3))
    weight = jax.random.normal(weight_key, (NETWORKS, 3, 3, CHANNELS, CHANNELS))
    return weight, jax.random.normal(image_key, (NETWORKS, IMAGES, SIDE, SIDE, CHANNELS))


def by_hand(weight: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Every cell: the sum over the three by three around it."""
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    parts = (
        padded[:, row : row + SIDE, column : column + SIDE] @ weight[row, column]
        for row in range(3)
        for column in range(3)
    )
    return np.sum(list(parts), 0)


def energy(weight: jax.Array, x: jax.Array) -> jax.Array:
    return (jnp.sin(convolve(weight, x)) ** 2).sum()


def test_a_convolution_sums_over_the_cells_around(several: tuple[jax.Array, jax.Array]) -> None:
    weight, x = several
    layer = Convolution(CHANNELS, CHANNELS, kernel=3, key=jax.random.key(0))
    expected = by_hand(np.asarray(layer.weight), np.asarray(x[0])) + np.asarray(layer.bias)
    np.testing.assert_allclose(layer(x[0]), expected, atol=1e-4)
    together = jax.vmap(convolve)(weight, x)
    for number in range(NETWORKS):
        np.testing.assert_allclose(
            together[number], by_hand(np.asarray(weight[number]), np.asarray(x[number])), atol=1e-4
        )


@pytest.mark.parametrize("stacked", [(0, 0), (0, None), (None, 0)])
def test_gradients_side_by_side_are_those_of_each_alone(
    several: tuple[jax.Array, jax.Array], stacked: tuple[int | None, int | None]
) -> None:
    weight, x = (leaf if axis == 0 else leaf[0] for leaf, axis in zip(several, stacked, strict=True))
    together = jax.vmap(jax.grad(energy, (0, 1)), stacked)(weight, x)
    for number in range(NETWORKS):
        own = [leaf[number] if axis == 0 else leaf for leaf, axis in zip((weight, x), stacked, strict=True)]
        reference = jax.grad(lambda weight, x: (jnp.sin(plain(weight, x)) ** 2).sum(), (0, 1))(*own)
        for got, expected in zip(together, reference, strict=True):
            np.testing.assert_allclose(got[number], expected, atol=1e-3)


def test_no_convolution_is_a_grouped_one(several: tuple[jax.Array, jax.Array]) -> None:
    def program(function: Any) -> str:
        return jax.jit(jax.vmap(function)).lower(*several).as_text()

    gradients = program(jax.grad(energy, (0, 1)))
    assert gradients.count("stablehlo.convolution") == 3 * NETWORKS
    groups = "feature_group_count = ", "batch_group_count = "
    assert all(f"{name}{NETWORKS}" not in gradients and f"{name}1" in gradients for name in groups)


def plain(weight: jax.Array, x: jax.Array) -> jax.Array:
    layout = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(x, weight, (1, 1), "SAME", dimension_numbers=layout)
