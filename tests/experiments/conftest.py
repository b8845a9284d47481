"""What tests of runs share."""

from pathlib import Path

import pytest

from afk.experiments.claim import claim
from afk.experiments.train import start_run

from .tiny_run import TINY, train_apart


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The folder of a run that nobody disturbed; the first process that wants it trains it for all."""
    own = tmp_path_factory.getbasetemp()
    place = (own if worker_id == "master" else own.parent) / "finished"
    folder = place / "whole"
    with claim(place, wait=True):
        if not (folder / "state.safetensors").exists():
            start_run(TINY, folder)
            train_apart(folder)
    return folder
