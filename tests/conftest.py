"""Tests compile many small programs and run each a few times: compile quickly rather than well."""

import os

_QUICKLY = (
    "--xla_backend_optimization_level=0",
    "--xla_llvm_disable_expensive_passes=true",
    "--xla_cpu_use_fusion_emitters=false",
)
os.environ["XLA_FLAGS"] = " ".join([os.environ.get("XLA_FLAGS", ""), *_QUICKLY]).strip()
os.environ.setdefault("JAX_PLATFORMS", "cpu")
