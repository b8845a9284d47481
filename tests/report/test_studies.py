"""The studies behind the records: the files in ``benchmarks/studies`` say how each was made."""

from dataclasses import replace
from pathlib import Path

import pytest

from afk.experiments.config import Config
from afk.experiments.run_record import read_record
from afk.experiments.study import Run
from afk.report.plan import read_study

ROOT = Path(__file__).parents[2]
RUNS = [
    run
    for path in (ROOT / "benchmarks" / "studies").glob("*.json")
    for run in read_study(path, preset="fast")
]
RECORDS = sorted((ROOT / "results" / "runs").glob("*.json"))


def test_no_run_is_in_two_studies() -> None:
    names = [run.name for run in RUNS]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_record_can_be_made_again(path: Path) -> None:
    record = read_record(path)
    if record.tasks[0].startswith("qtextworld"):
        pytest.importorskip("textworld", reason="textworld is not installed; it takes a C compiler")
    run: Run = next(run for run in RUNS if run.name == record.name)
    made, again = Config.from_json(record.config), run.config
    assert again.to_json() == made.to_json()
    assert set(run.also) | set(run.tasks) == record.seeds[0].fresh.keys()


def test_a_record_from_before_there_was_clutter_is_of_a_run_without() -> None:
    path = next(path for path in RECORDS if "cluttered" not in read_record(path).config)
    run: Run = next(run for run in RUNS if run.name == path.stem)
    cluttered = replace(run, changes=(*run.changes, ("cluttered", 0.5)))
    assert run.differs_from(read_record(path)) == ""
    assert cluttered.differs_from(read_record(path)) == "cluttered is 0.0, not 0.5"
