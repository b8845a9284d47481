"""The aggregator f_att: what is seen is modulated by what is read (FiLM), then remembered (LSTM)."""

import equinox as eqx
import jax
import jax.numpy as jnp

from afk.agents.networks.convolution import Convolution
from afk.agents.networks.encoders import Linear
from afk.agents.networks.ops import relu
from afk.agents.networks.recurrence import State, recur


class FilmBlock(eqx.Module):
    """Two convolutions whose channels are scaled and shifted by h_s, around which the input passes."""

    first: Convolution
    second: Convolution
    modulation: Linear

    def __init__(self, width: int, *, kernel: int, key: jax.Array) -> None:
        first_key, second_key, modulation_key = jax.random.split(key, 3)
        self.first = Convolution(width, width, kernel=kernel, key=first_key)
        self.second = Convolution(width, width, kernel=kernel, key=second_key)
        self.modulation = Linear(width, 2 * width, key=modulation_key, scale=0.5)

    def __call__(self, x: jax.Array, h_s: jax.Array) -> jax.Array:
        """What is seen (n, 7, 7, width) and what is read (n, width), as (n, 7, 7, width)."""
        scale, shift = jnp.split(self.modulation(h_s)[:, None, None], 2, -1)
        modulated = self.second(relu(self.first(x))) * (1 + scale) + shift
        return x + jax.nn.relu(modulated)


class Recurrence(eqx.Module):
    """An LSTM; its state is (n, 2, width): what is shown and what is kept."""

    inputs: Linear
    hidden: Linear

    def __init__(self, width: int, *, key: jax.Array) -> None:
        inputs_key, hidden_key = jax.random.split(key)
        self.inputs = Linear(width, 4 * width, key=inputs_key, scale=1.0)
        self.hidden = Linear(width, 4 * width, key=hidden_key, scale=1.0)

    def remember(
        self, state: jax.Array, projected: jax.Array, starts: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Go through (steps, n, 4 * width) inputs that `inputs` has projected; an episode starts afresh.

        Returns:
            The state after the last step, and what is shown at each: (steps, n, width).
        """
        first = jnp.where(starts[0][:, None, None], 0, state.astype(projected.dtype))
        ends = jnp.pad(starts[1:], ((0, 1), (0, 0)))
        weight, bias = self.hidden.weight, self.hidden.bias
        last, shown = recur(_lstm, weight, bias, (first[:, 0], first[:, 1]), projected, ends)
        return jnp.stack(last, 1), shown


def _lstm(given: jax.Array, state: State, projected: jax.Array, ends: jax.Array) -> tuple[State, jax.Array]:
    """A step: nothing is remembered beyond it where an episode ends."""
    gates = (projected + given).astype(jnp.float32)
    write, forget, show, candidate = jnp.split(gates, 4, -1)
    kept = jax.nn.sigmoid(forget + 1) * state[1] + jax.nn.sigmoid(write) * jnp.tanh(candidate)
    shown = (jax.nn.sigmoid(show) * jnp.tanh(kept)).astype(projected.dtype)
    kept = jnp.where(ends[:, None], 0, kept.astype(projected.dtype))
    return (jnp.where(ends[:, None], 0, shown), kept), shown
