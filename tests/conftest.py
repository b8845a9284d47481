"""Tests compile many small programs and run each a few times: compile quickly rather than well, and once."""

import os
import subprocess
import sys
from tempfile import TemporaryDirectory

import pytest

from .command import Run, make_run

_QUICKLY = (
    "--xla_backend_optimization_level=0",
    "--xla_llvm_disable_expensive_passes=true",
    "--xla_cpu_use_fusion_emitters=false",
    "--xla_cpu_parallel_codegen_split_count=1",  # other tests have the other cores
)
_COMPILED = "JAX_COMPILATION_CACHE_DIR"

os.environ.setdefault("JAX_PLATFORMS", "cpu")


def _are_known(*flags: str) -> bool:
    """Whether the installed XLA knows some flags: it aborts the process on one that it does not know."""
    begin = [sys.executable, "-c", "import jax; jax.devices()"]
    return not subprocess.run(begin, env=_with_flags(*flags), capture_output=True).returncode


def _with_flags(*flags: str) -> dict[str, str]:
    """The environment variables of this process, with some flags more."""
    return {**os.environ, "XLA_FLAGS": " ".join([os.environ.get("XLA_FLAGS", ""), *flags]).strip()}


if "PYTEST_XDIST_WORKER" not in os.environ:  # these inherit the flags
    os.environ |= _with_flags(*(_QUICKLY if _are_known(*_QUICKLY) else filter(_are_known, _QUICKLY)))
# What one process has compiled no other has to: the processes that test inherit the folder from the first,
# and those that a test starts from them.
_folder = None if _COMPILED in os.environ else TemporaryDirectory(ignore_cleanup_errors=True)
if _folder is not None:
    os.environ |= {_COMPILED: _folder.name, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}


def pytest_unconfigure() -> None:
    """Leave no programs behind."""
    if _folder is not None:
        _folder.cleanup()


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command ``afk`` in this process."""
    return make_run(capfd, monkeypatch)
