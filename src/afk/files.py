"""Records: files that are either whole or not there."""

import json
import os
from pathlib import Path
from typing import Any


def cache_folder() -> Path:
    """Where what can be made again is kept: ``$XDG_CACHE_HOME/afk``, or ``~/.cache/afk``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "afk"


def keep_compiled_programs() -> None:
    """Keep what JAX compiles in the user's cache folder, so that the second start is quick."""
    import jax

    if not os.environ.get("JAX_COMPILATION_CACHE_DIR"):
        jax.config.update("jax_compilation_cache_dir", str(cache_folder() / "jax"))


def write_file(path: Path, content: bytes) -> None:
    """Write a file under a temporary name, then rename it, so that nobody sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file, whole."""
    write_file(path, (json.dumps(content, indent=2) + "\n").encode())
