"""Options for XLA's compiler, as far as the installed version knows them."""

from functools import lru_cache
from typing import Any

import jax
import numpy as np


def known_options(options: dict[str, Any]) -> dict[str, Any]:
    """The options that the compiler knows: XLA drops and renames some from version to version."""
    if _are_known(**options):
        return options
    return {name: value for name, value in options.items() if _are_known(**{name: value})}


@lru_cache
def _are_known(**options: Any) -> bool:
    """Whether a trivial program compiles with some options."""
    try:
        jax.jit(lambda x: x, compiler_options=options).lower(np.float32(0)).compile()
    except (RuntimeError, ValueError):  # JAX's own error for it is a RuntimeError
        return False
    return True
