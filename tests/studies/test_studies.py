"""The studies behind the records: the files in ``benchmarks/studies`` say how each was made."""

import json
from collections import Counter
from pathlib import Path

import pytest

from afk.studies.plan import read_study
from afk.studies.record import read_record, run_name
from afk.training.config import ADDED_LATER, Config, differences, flatten

ROOT = Path(__file__).parents[2]
STUDIES = sorted((ROOT / "benchmarks" / "studies").glob("*.json"))
RUNS = [run for path in STUDIES for run in read_study(path, preset="fast")]
RECORDS = sorted((ROOT / "results" / "runs").glob("*.json"))


def test_no_seed_of_a_run_is_in_two_studies() -> None:
    counts = Counter((run.identity, seed) for run in RUNS for seed in run.seeds)
    assert RUNS and max(counts.values()) == 1


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_record_can_be_made_again(path: Path) -> None:
    record = read_record(path)
    runs = [run for run in RUNS if run.identity == record.identity]
    assert runs, "no study trains it"
    run = runs[0]
    assert differences(run.to_json(), record.config) == {} and run.preset == record.preset
    assert {each.seed for each in record.seeds} <= {seed for each in runs for seed in each.seeds}
    assert record.config["seeds"] == [each.seed for each in record.seeds]
    assert {*run.held_out, *run.tasks} == record.seeds[0].fresh.keys()
    assert run.held_out == tuple(record.config["held_out"])


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_record_is_written_as_it_would_be_today(path: Path) -> None:
    record = read_record(path)
    assert path.stem == record.name == run_name(record.config)
    today = flatten(Config.from_json(record.config).to_json())
    added = {name: value for name, value in ADDED_LATER.items() if name in today}
    assert today == added | flatten(record.config)
    assert Config.from_json(record.config).identity == record.identity


def test_every_run_has_one_record() -> None:
    identities = [read_record(path).identity for path in RECORDS]
    assert len(set(identities)) == len(identities) > 50


def test_runs_that_were_kept_without_a_record_can_be_read() -> None:
    kept = json.loads((ROOT / "results" / "recipe-runs.json").read_text())["runs"]
    whole = [run for run in kept if "config" in run]
    assert len(whole) > 50
    for run in whole:
        config = Config.from_json(run["config"])
        assert set(next(iter(run["evaluations"].values()))) == set(config.tasks), run["run"]
