"""Options for XLA's compiler, as far as the installed version knows them."""

from functools import lru_cache
from typing import Any

import jax


def known_options(options: dict[str, Any]) -> dict[str, Any]:
    """The options that the compiler knows: XLA drops and renames some from version to version."""
    return {name: value for name, value in options.items() if _is_known(name, value)}


@lru_cache
def _is_known(name: str, value: Any) -> bool:
    """Whether a trivial program compiles with an option."""
    try:
        jax.jit(lambda x: x, compiler_options={name: value}).lower(0.0).compile()
    except (RuntimeError, ValueError):  # JAX's own error for it is a RuntimeError
        return False
    return True
