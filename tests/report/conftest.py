"""A folder of records that tests share."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from afk.studies.plan import GRID_TASKS
from afk.studies.record import keep_record, short_name

from .made_records import RESULTS, SEEDS, make_run

NAMES = (
    *("published", "expert", "textworld-games", "pretrained", "pretrained-sources"),
    *("knowledge-agents", "knowledge-experts"),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Records of some agents on some tasks, and the paper's numbers."""
    place = tmp_path / "records"
    for agent, success in (("no-query", 0.4), ("afk", 0.95), ("afk-plus", 0.99), ("afk-no-pointer", 0.8)):
        for task in ("C", "S", "CH", "SD", "CS"):
            spread = np.linspace(-0.01, 0.01, len(SEEDS))
            keep_record(place / "runs", make_run(agent, task, (success + spread).tolist()))
    keep_record(place / "runs", make_run("afk", "qtextworld/take-1", [0.9, 0.8]))
    keep_record(place / "runs", make_run("afk", ["SD", "CD"], [0.9, 0.8], unseen={"CS": [0.2, 0.3]}))
    keep_record(place / "runs", make_run("afk-plus", [short_name(task) for task in GRID_TASKS], [0.98]))
    for name in NAMES:
        shutil.copy(RESULTS / f"{name}.json", place)
    return place
