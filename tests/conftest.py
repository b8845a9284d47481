"""Tests compile many small programs and run each a few times: compile quickly rather than well, and once."""

import os
from pathlib import Path

_QUICKLY = (
    "--xla_backend_optimization_level=0",
    "--xla_llvm_disable_expensive_passes=true",
    "--xla_cpu_use_fusion_emitters=false",
)
os.environ["XLA_FLAGS"] = " ".join([os.environ.get("XLA_FLAGS", ""), *_QUICKLY]).strip()
os.environ.setdefault("JAX_PLATFORMS", "cpu")
# All of them, the processes that they start, and the next `make test` share what was compiled.
os.environ.setdefault(
    "JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".pytest_cache" / "compiled")
)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")
