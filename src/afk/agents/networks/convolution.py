"""Convolutions of images, which several networks that are trained side by side compute one after the other.

Under `jax.vmap` they would be one grouped convolution, for which a GPU wants the channels of all networks
side by side, image by image. Putting them in that order and back took a quarter of the time of training, and
the gradient of the kernels was slow besides.
"""

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
        if len(self.weight) == 1:
            return x @ self.weight[0, 0] + self.bias
        return convolve(self.weight, x) + self.bias


@jax.custom_vjp
def convolve(weight: jax.Array, x: jax.Array) -> jax.Array:
    """A convolution of (n, height, width, inputs) with a (side, side, inputs, outputs) kernel."""
    return _forward(weight, x)


def _convolve(weight: jax.Array, x: jax.Array) -> jax.Array:
    return jax.lax.conv_general_dilated(x, weight, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def _pull_back(weight: jax.Array, x: jax.Array, change: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The gradients of kernel and input, from that of the output."""
    (of_weight,) = jax.linear_transpose(lambda each: _convolve(each, x), weight)(change)
    (of_x,) = jax.linear_transpose(lambda each: _convolve(weight, each), x)(change)
    return of_weight, of_x


def _network_by_network(function: Any) -> Any:
    """A function of a kernel and of images; under `jax.vmap` over kernels it is computed one by one.

    Unless there is another `jax.vmap`, over images only, inside: then the convolution is a grouped one.
    """
    alone = custom_vmap(function)

    @alone.def_vmap
    def _(count: int, is_stacked: list[bool], *arguments: jax.Array) -> tuple[Any, Any]:
        given = list(zip(arguments, is_stacked, strict=True))
        if is_stacked[0]:
            each = [alone(*(leaf[i] if stacked else leaf for leaf, stacked in given)) for i in range(count)]
            results = jax.tree.map(lambda *leaves: jnp.stack(leaves), *each)
        else:
            results = jax.vmap(function, [0 if stacked else None for stacked in is_stacked])(*arguments)
        return results, jax.tree.map(lambda _: True, results)

    return alone


_forward, _backward = _network_by_network(_convolve), _network_by_network(_pull_back)
convolve.defvjp(
    lambda weight, x: (_forward(weight, x), (weight, x)), lambda seen, change: _backward(*seen, change)
)
