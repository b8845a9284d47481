"""What tests of runs share."""

import os
from pathlib import Path

import pytest

from afk.experiments.train import start_run

from .tiny_run import TINY, train_apart


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Of a process that shares its compiled programs with others."""
    return os.environ | {"JAX_COMPILATION_CACHE_DIR": str(tmp_path_factory.mktemp("compiled"))}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> Path:
    """The folder of a run that nobody disturbed."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    start_run(TINY, folder)
    train_apart(folder, environment)
    return folder
