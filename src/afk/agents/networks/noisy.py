"""Noisy nets: layers that explore by themselves (Fortunato et al., 2018; paper, appendix C.2)."""

import equinox as eqx
import jax
import jax.numpy as jnp


class NoisyLinear(eqx.Module):
    """x W + b with factorised Gaussian noise on W and b, as strong as is learned.

    Attributes:
        weight: (inputs, outputs), the mean of W.
        bias: (outputs,), the mean of b.
        weight_noise: (inputs, outputs), how strong the noise on W is.
        bias_noise: (outputs,), how strong the noise on b is.
    """

    weight: jax.Array
    bias: jax.Array
    weight_noise: jax.Array
    bias_noise: jax.Array

    def __init__(self, inputs: int, outputs: int, *, sigma: float, key: jax.Array) -> None:
        weight_key, bias_key = jax.random.split(key)
        bound = inputs**-0.5
        self.weight = jax.random.uniform(weight_key, (inputs, outputs), minval=-bound, maxval=bound)
        self.bias = jax.random.uniform(bias_key, (outputs,), minval=-bound, maxval=bound)
        # Of the type that they have once learned or loaded: otherwise all is compiled once more then.
        self.weight_noise = jnp.full((inputs, outputs), sigma * bound, jnp.float32)
        self.bias_noise = jnp.full(outputs, sigma * bound, jnp.float32)

    def __call__(self, x: jax.Array, key: jax.Array | None) -> jax.Array:
        """From (..., inputs) to (..., outputs), with the noise that a key draws, or with none."""
        if key is None:
            return x @ self.weight + self.bias
        inputs_key, outputs_key = jax.random.split(key)
        inputs, outputs = self.weight.shape
        noise_in, noise_out = _noise(inputs_key, inputs), _noise(outputs_key, outputs)
        # x (W + S * in out^T) = x W + ((x * in) S) * out
        noise = ((x * noise_in) @ self.weight_noise + self.bias_noise) * noise_out
        return x @ self.weight + self.bias + noise


def _noise(key: jax.Array, size: int) -> jax.Array:
    """f(e) = sgn(e) sqrt|e| of Gaussian e: (size,)."""
    drawn = jax.random.normal(key, (size,))
    return jnp.sign(drawn) * jnp.sqrt(jnp.abs(drawn))
