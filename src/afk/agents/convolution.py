"""A convolution for several networks that are trained side by side under `jax.vmap`.

Batched over its weights, XLA's convolution becomes a grouped one, a form that libraries serve less well. Each
network's convolution is large enough to fill a device, so here they run one after another instead, while
everything else is batched. What this gains over grouped convolutions has not been measured yet.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap


class Convolution(eqx.Module):
    """A convolution that keeps the size of its (n, height, width, channels) input."""

    weight: jax.Array
    bias: jax.Array

    def __init__(self, inputs: int, outputs: int, *, kernel: int, key: jax.Array) -> None:
        self.weight = jax.nn.initializers.he_normal()(key, (kernel, kernel, inputs, outputs))
        self.bias = jnp.zeros(outputs)

    def __call__(self, x: jax.Array) -> jax.Array:
        """From (n, height, width, inputs) to (n, height, width, outputs)."""
        if self.weight.shape[:2] == (1, 1):
            return x @ self.weight[0, 0] + self.bias
        return convolve(x, self.weight) + self.bias


def _convolve(x: jax.Array, weight: jax.Array) -> jax.Array:
    return jax.lax.conv_general_dilated(x, weight, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def _pull_back(x: jax.Array, weight: jax.Array, gradient: jax.Array) -> tuple[jax.Array, jax.Array]:
    return jax.vjp(_convolve, x, weight)[1](gradient)


def _one_by_one(function: Callable) -> Callable:
    """The function, which under `jax.vmap` runs on one element of the batch after another."""
    batched = custom_vmap(function)

    @batched.def_vmap
    def rule(size: int, is_batched: list[bool], *arguments: jax.Array) -> tuple:
        del size
        stacked = [each for each, has in zip(arguments, is_batched, strict=True) if has]

        def run(chosen: list[jax.Array]) -> Any:
            elements = iter(chosen)
            return function(
                *(next(elements) if has else each for each, has in zip(arguments, is_batched, strict=True))
            )

        outputs = jax.lax.map(run, stacked)
        return outputs, jax.tree.map(lambda _: True, outputs)

    return batched


@jax.custom_vjp
def convolve(x: jax.Array, weight: jax.Array) -> jax.Array:
    """Cross-correlate (n, height, width, inputs) with (k, k, inputs, outputs), padded to keep the size."""
    return _one_by_one(_convolve)(x, weight)


def _forward(x: jax.Array, weight: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    return convolve(x, weight), (x, weight)


def _backward(saved: tuple[jax.Array, jax.Array], gradient: jax.Array) -> tuple[jax.Array, jax.Array]:
    return _one_by_one(_pull_back)(*saved, gradient)


convolve.defvjp(_forward, _backward)
