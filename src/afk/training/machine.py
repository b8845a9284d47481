"""What a program runs on."""

import os
import platform
from typing import Any

import jax


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
