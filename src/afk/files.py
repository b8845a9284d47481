"""Files that are either whole or not there, and JSON that anybody may have written."""

import contextlib
import errno
import json
import math
import os
import re
import secrets
from pathlib import Path
from typing import Any, NoReturn

MOST_COMPILED = 4 * 2**30  # bytes of compiled programs that are kept
_DEEPEST = 50  # objects and lists inside each other; what we write has five
# A file that was being written when its process was killed; earlier ones were named after the process.
_REMAINS = re.compile(r"\.([0-9a-f]{16}\.part|.+\.(json|jsonl|safetensors)\.[0-9]+)")


def cache_folder() -> Path:
    """Where what can be made again is kept: ``$XDG_CACHE_HOME/afk``, or ``~/.cache/afk``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "afk"


def keep_compiled_programs() -> None:
    """Keep what JAX compiles in the user's cache folder, so that the second start is quick.

    Of `MOST_COMPILED` bytes and more, those that were not used for longest are removed at the next start,
    unless ``JAX_COMPILATION_CACHE_MAX_SIZE`` leaves the limit to JAX.
    """
    import jax

    if not os.environ.get("JAX_COMPILATION_CACHE_DIR"):
        folder = cache_folder() / "jax"
        if not os.environ.get("JAX_COMPILATION_CACHE_MAX_SIZE"):
            _remove_oldest(folder, MOST_COMPILED)
        jax.config.update("jax_compilation_cache_dir", str(folder))
    if not os.environ.get("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"):
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)  # small ones add up: all of them


def _remove_oldest(folder: Path, most: int) -> None:
    """Remove the files of a folder that were not used for longest, until the rest has so many bytes."""
    found: list[tuple[float, int, str]] = []
    with contextlib.suppress(OSError):  # others remove files, too, and a folder may be for reading only
        for entry in os.scandir(folder):
            known = entry.stat(follow_symlinks=False)
            found.append((max(known.st_atime, known.st_mtime), known.st_size, entry.path))
        total = sum(size for _, size, _ in found)
        for _, size, path in sorted(found):
            if total <= most:
                return
            os.unlink(path)
            total -= size


def write_file(path: Path, content: bytes) -> None:
    """Write a file under a temporary name, then rename it, so that nobody sees half of it.

    The name is random and the file is new: processes of different machines never share one, and a link that
    lies in wait is not followed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
        try:
            _write(descriptor, content)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def append_file(path: Path, content: bytes) -> None:
    """Add to a file, so that it is on disk; never through a link."""
    _write(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o666), content)


def _write(descriptor: int, content: bytes) -> None:
    with open(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def is_remains(path: Path) -> bool:
    """Whether a file is what `write_file` left where its process was killed."""
    return _REMAINS.fullmatch(path.name) is not None and (path.is_symlink() or path.is_file())


def remove_remains(folder: Path) -> None:
    """Remove what was left where processes were killed as they wrote; nobody else may be writing there."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if is_remains(path):
            path.unlink(missing_ok=True)


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file, whole."""
    write_file(path, (json.dumps(content, indent=2) + "\n").encode())


def read_json(path: Path) -> Any:
    """The content of a JSON file from outside; a ValueError of one line that names it if it is no such."""
    try:
        return parse_json(read_bytes(path))
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"{path} cannot be read: it is not JSON: {error}") from error


def read_bytes(path: Path) -> bytes:
    """The content of a file from outside; an OSError if it is a pipe or a device, which may have no end."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise OSError(errno.EINVAL, "it is a pipe or a device", str(path))
    return path.read_bytes()


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file from outside; a ValueError of one line if there is none."""
    content = read_json(path)
    if not isinstance(content, dict):
        raise ValueError(f"{path} cannot be read: it holds no JSON object")
    return content


def parse_json(text: bytes | str) -> Any:
    """JSON from outside: finite numbers, not nested deeply; a ValueError of one line if it is not such."""
    try:
        content = json.loads(text, parse_constant=_refuse_constant, parse_float=_parse_finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    except ValueError as error:
        raise ValueError(" ".join(str(error).split())) from error
    level, depth = [content], 0
    while level := [child for each in level for child in _children(each)]:
        depth += 1
        if depth > _DEEPEST:
            raise ValueError("it is nested too deeply")
    return content


def _children(content: Any) -> list[Any]:
    if isinstance(content, dict):
        return [*content.values()]
    return content if isinstance(content, list) else []


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _parse_finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is too large")
    return value
