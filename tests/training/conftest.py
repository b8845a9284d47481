"""What tests of runs share."""

from pathlib import Path

import pytest

from afk.training.lock import lock
from afk.training.trainer import start_run

from .tiny_run import TINY, train_apart


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder that all processes that test share."""
    own = tmp_path_factory.getbasetemp()
    return (own if worker_id == "master" else own.parent) / "runs"


@pytest.fixture(scope="session")
def finished(shared: Path) -> Path:
    """The folder of a run that nobody disturbed; the first process that wants it trains it for all."""
    folder = shared / "whole"
    with lock(shared, wait=True):
        if not (folder / "state.safetensors").exists():
            start_run(TINY, folder)
            train_apart(folder)
    return folder
