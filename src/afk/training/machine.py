"""What a program runs on, and the code that it is."""

import hashlib
import os
import platform
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax

import afk

_TRAINED_BY = ("agents", "envs", "knowledge", "learning", "training")  # rooms that decide what is learned


def describe_machine() -> dict[str, Any]:
    """The machine, as records and measurements name it."""
    device = jax.devices()[0]
    is_cpu = device.platform == "cpu"
    return {
        "device": platform.machine() if is_cpu else device.device_kind,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "jax": jax.__version__,
        "python": platform.python_version(),
    }


@lru_cache(maxsize=1)
def describe_code() -> dict[str, str]:
    """The code that trains: versions, and a digest of the sources that decide what is learned."""
    package, found = Path(afk.__file__).parent, hashlib.sha256()
    for path in sorted(path for room in _TRAINED_BY for path in (package / room).rglob("*.py")):
        found.update(path.relative_to(package).as_posix().encode() + path.read_bytes())
    return {"afk": afk.__version__, "jax": jax.__version__, "sources": found.hexdigest()[:10]}
