"""Recurrences over steps or words, whose weights get their gradient from one product at the end.

Differentiated by JAX, a loop adds a product for the weights at every step, and keeps every number on the way.
Here a step back is computed anew from the state before it, and a loop has two kernels a step on a GPU: a
small product, and all else.
"""

from collections.abc import Callable
from typing import Any

import jax

State = tuple[jax.Array, ...]
# From what the weights make of the state, the state, a step's input and its flag, to the state after it and
# what is shown of it.
Cell = Callable[[jax.Array, State, jax.Array, jax.Array], tuple[State, jax.Array]]


def _recur(
    cell: Cell, weight: jax.Array, bias: jax.Array, state: State, inputs: jax.Array, flags: jax.Array
) -> tuple[State, jax.Array]:
    """Go through steps.

    Args:
        cell: what a step does; it learns nothing itself.
        weight: (width, gates); the first part of the state is multiplied by it.
        bias: (gates,).
        state: before the first step, (n, width) each.
        inputs: (steps, n, gates).
        flags: (steps, n) bool.

    Returns:
        The state after the last step, and what is shown at each: (steps, n, width).
    """
    return _forward(cell, weight, bias, state, inputs, flags)[0]


def _forward(
    cell: Cell, weight: jax.Array, bias: jax.Array, state: State, inputs: jax.Array, flags: jax.Array
) -> tuple[tuple[State, jax.Array], tuple[jax.Array, jax.Array, State, jax.Array, jax.Array]]:
    """The result, and what going back needs of it."""

    def step(
        state: State, now: tuple[jax.Array, jax.Array]
    ) -> tuple[State, tuple[jax.Array, jax.Array, State]]:
        given = state[0] @ weight + bias
        after, shown = cell(given, state, *now)
        return after, (shown, given, state)

    after, (shown, given, before) = jax.lax.scan(step, state, (inputs, flags), unroll=_unrolls())
    return (after, shown), (weight, given, before, inputs, flags)


def _back(
    cell: Cell,
    saved: tuple[jax.Array, jax.Array, State, jax.Array, jax.Array],
    changes: tuple[State, jax.Array],
) -> tuple[jax.Array, jax.Array, State, jax.Array, None]:
    """The gradients of weights, first state and inputs."""
    weight, given, before, inputs, flags = saved

    def step(of_after: State, now: Any) -> tuple[State, tuple[jax.Array, jax.Array]]:
        of_shown, flag, *seen = now
        _, pull_back = jax.vjp(lambda given, before, inputs: cell(given, before, inputs, flag), *seen)
        of_given, of_before, of_inputs = pull_back((of_after, of_shown))
        return (of_before[0] + of_given @ weight.T, *of_before[1:]), (of_given, of_inputs)

    steps: Any = changes[1], flags, given, before, inputs
    of_first, (of_given, of_inputs) = jax.lax.scan(step, changes[0], steps, reverse=True, unroll=_unrolls())
    # Otherwise XLA adds up what belongs to the bias step by step, a kernel each.
    of_given = jax.lax.optimization_barrier(of_given)
    rows, of_rows = (each.reshape(-1, each.shape[-1]) for each in (before[0], of_given))
    return rows.T @ of_rows, of_rows.sum(0), of_first, of_inputs, None


recur = jax.custom_vjp(_recur, nondiff_argnums=(0,))
recur.defvjp(_forward, _back)


def _unrolls() -> bool:
    """Whether there is less to start for it, as on a GPU; a CPU would compute much of it twice."""
    return jax.default_backend() != "cpu"
