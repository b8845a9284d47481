"""Programs that are run once or twice, and options for XLA's compiler as far as it knows them."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import numpy as np

# How programs for a CPU are compiled that run once or twice. With all that LLVM can do it takes half as long
# again or longer, and they do the same.
LIGHTLY = {
    "xla_backend_optimization_level": 1,
    "xla_llvm_disable_expensive_passes": True,
    "xla_cpu_use_fusion_emitters": False,
}


def jit_lightly(
    function: Callable[..., Any], options: dict[str, Any] | None = None, **more: Any
) -> Callable[..., Any]:
    """A function that is compiled with less effort for a CPU: with `LIGHTLY`, or with other options."""
    if jax.default_backend() != "cpu":
        return jax.jit(function, **more)
    return jax.jit(function, compiler_options=known_options(options or LIGHTLY), **more)


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
