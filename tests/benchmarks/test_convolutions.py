"""Forms of a convolution that are measured: all of them compute the same, and so do their gradients."""

import importlib.util
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks/convolutions.py"
NETWORKS, IMAGES, CHANNELS = 2, 3, 16


def load() -> Any:
    spec = importlib.util.spec_from_file_location("convolutions", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


convolutions = load()


@pytest.mark.parametrize("name", convolutions.FORMS)
def test_a_form_and_its_gradients_are_those_of_a_convolution(name: str) -> None:
    keys = jax.random.split(jax.random.key(0), 2)
    weight = jax.random.normal(keys[0], (NETWORKS, 3, 3, CHANNELS, CHANNELS))
    x = jax.random.normal(keys[1], (NETWORKS, IMAGES, 7, 7, CHANNELS))
    form, plain = convolutions.FORMS[name], convolutions.grouped

    def energy(form: Any, weight: jax.Array, x: jax.Array) -> jax.Array:
        return (jnp.sin(form(weight, x) / 10) ** 2).sum()

    found = jax.vmap(form)(weight, x)
    gradients = jax.vmap(jax.grad(lambda *each: energy(form, *each), (0, 1)))(weight, x)
    for number in range(NETWORKS):
        own = weight[number], x[number]
        np.testing.assert_allclose(found[number], plain(*own), atol=1e-3)
        expected = jax.grad(lambda *each: energy(plain, *each), (0, 1))(*own)
        for got, wanted in zip(gradients, expected, strict=True):
            np.testing.assert_allclose(got[number], wanted, atol=1e-3)
