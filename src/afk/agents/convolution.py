"""Convolutions.

Several networks that are trained side by side under `jax.vmap` convolve as one grouped convolution: on a
large GPU that is nearly as fast as one network on all of the images, and twice as fast as one network after
another.
"""

import equinox as eqx
import jax
import jax.numpy as jnp


class Convolution(eqx.Module):
    """A convolution that keeps the size of its (n, height, width, channels) input."""

    weight: jax.Array
    bias: jax.Array

    def __init__(self, inputs: int, outputs: int, *, kernel: int, key: jax.Array) -> None:
        self.weight = jax.nn.initializers.he_normal()(key, (kernel, kernel, inputs, outputs))
        self.bias = jnp.zeros(outputs)

    def __call__(self, x: jax.Array) -> jax.Array:
        """From (n, height, width, inputs) to (n, height, width, outputs)."""
        if len(self.weight) == 1:
            return x @ self.weight[0, 0] + self.bias
        layout = ("NHWC", "HWIO", "NHWC")
        return (
            jax.lax.conv_general_dilated(x, self.weight, (1, 1), "SAME", dimension_numbers=layout) + self.bias
        )
