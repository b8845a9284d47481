"""A cache of compiled programs that other tests do not see."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
from jax.experimental.compilation_cache.compilation_cache import reset_cache


@contextmanager
def own_cache(folder: Path, *, least_seconds: float = 1) -> Iterator[None]:
    """Keep programs that take so many seconds to compile in a folder, until the block is left."""
    own = {
        "jax_compilation_cache_dir": str(folder),
        "jax_persistent_cache_min_compile_time_secs": least_seconds,
    }
    before = {name: getattr(jax.config, name) for name in own}
    _change(own)
    try:
        yield
    finally:
        _change(before)


def _change(settings: dict[str, Any]) -> None:
    for name, value in settings.items():
        jax.config.update(name, value)
    reset_cache()
