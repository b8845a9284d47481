"""Parameters as one vector while an optimiser works on them.

A network has some sixty arrays, most of them small. To clip, average and add them array by array takes a GPU
hundreds of kernels that have next to nothing to do; on one vector it takes a few.
"""

from collections.abc import Callable
from typing import Any

import jax
from jax.flatten_util import ravel_pytree

Restore = Callable[[Any], Any]


def as_vectors(params: Any, state: Any) -> tuple[tuple[jax.Array, Restore], tuple[Any, Restore]]:
    """Parameters as a vector, and an optimiser's state with each part that is like them as one.

    Beside each there is the function that gives it its form back.
    """
    vector, restore = ravel_pytree(params)
    form = jax.tree.structure(params)

    def is_like(part: Any) -> bool:
        return jax.tree.structure(part) == form

    def restore_state(flat: Any) -> Any:
        return jax.tree.map(
            lambda part, vector: restore(vector) if is_like(part) else vector, state, flat, is_leaf=is_like
        )

    flat = jax.tree.map(lambda part: ravel_pytree(part)[0] if is_like(part) else part, state, is_leaf=is_like)
    return (vector, restore), (flat, restore_state)
