"""Runs and studies that are trained, in toy size: what has a record is not trained again."""

import os
import shutil
import signal
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from afk.cli.main import app
from afk.studies import study
from afk.studies.record import RunRecord, find_record, read_record
from afk.studies.study import RECORD, do_run, do_study, finish_run, run_folder
from afk.training import progress
from afk.training.config import Config, read_config
from afk.training.log import Row, read_log
from afk.training.trainer import start_run

from ..training.tiny_run import TINY, add_tiny_preset, log_row

RUN = replace(TINY, steps=2 * 160, preset="tiny", tasks=("S",))
UNSEEN = "qbabyai/open-door"
QUIET = Console(quiet=True)
LEVELS = TINY.evaluation_episodes  # as many as in an evaluation: it is compiled


def do(place: Path, *runs: Config) -> list[str]:
    """A study in a folder."""
    runs_place, records = place / "runs", place / "records"
    return do_study(runs, runs=runs_place, records=records, console=QUIET, levels=LEVELS)


def record_of(place: Path, run: Config = RUN) -> RunRecord:
    path = find_record(place / "records", run.identity)
    assert path is not None
    return read_record(path)


def without_times(record: RunRecord) -> RunRecord:
    return replace(record, seconds=0, training_seconds=0, compile_seconds=0, steps_per_second=0)


def written(place: Path, names: Sequence[str]) -> dict[Path, int]:
    """When files of these names were written, in all runs."""
    found = [path for name in names for path in (place / "runs").glob(f"*/{name}")]
    return {path: path.stat().st_mtime_ns for path in found}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a study of one run and one seed was done."""
    place = tmp_path_factory.mktemp("trained")
    assert do(place, RUN) == []
    return place


@pytest.fixture
def place(trained: Path, tmp_path: Path) -> Path:
    """A copy, to go on with."""
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_a_study_leaves_a_record_in_the_folder_and_among_the_records(trained: Path) -> None:
    folder = run_folder(trained / "runs", RUN)
    assert [folder] == list((trained / "runs").iterdir()) and folder.name.endswith("--seeds-24")
    own = read_record(folder / RECORD)
    assert own == record_of(trained) and own.identity == RUN.identity
    assert Config.from_json(own.config) == RUN == read_config(folder)
    assert own.seeds[0].curve["steps"] == [160, 320] and own.seeds[0].fresh.keys() == {*RUN.tasks}
    assert own.compile_seconds and own.training_seconds < own.seconds


def test_training_by_hand_leaves_the_same_record(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_tiny_preset(monkeypatch)
    folder = tmp_path / "mine"
    options = ["--preset", "tiny", "--steps", str(RUN.steps), "--levels", str(LEVELS)]
    app(["train", "S", *options, "--out", str(folder)], standalone_mode=False)
    record = read_record(folder / RECORD)
    assert without_times(record) == without_times(record_of(trained))
    assert record.compile_seconds and record.steps_per_second > 0

    kept = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    app(["train", "--resume", str(folder), "--levels", str(LEVELS)], standalone_mode=False)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == kept

    (folder / RECORD).unlink()  # as of a run from before there were records
    app(["train", "--resume", str(folder), "--levels", str(LEVELS)], standalone_mode=False)
    again = read_record(folder / RECORD)
    assert again.compile_seconds is None and without_times(again) == without_times(record)
    assert again.seconds == record.seconds


def test_what_is_recorded_is_left_alone(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "do_run", None)
    before = written(place, ["*"])
    assert do(place, RUN, replace(RUN, preset="another name")) == []
    assert written(place, ["*"]) == before
    shutil.rmtree(place / "runs")
    assert do(place, RUN) == [], "a record is enough"
    assert not (place / "runs").exists()


def test_a_further_seed_is_trained_alone_and_comes_into_the_record(place: Path) -> None:
    before, first = written(place, ["*"]), record_of(place)
    assert do(place, replace(RUN, seeds=(24, 7))) == []
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert sorted(path.name.rpartition("--")[2] for path in (place / "runs").iterdir()) == [
        *("seeds-24", "seeds-7")
    ]
    both = record_of(place)
    assert both.seeds[0] == first.seeds[0] and [each.seed for each in both.seeds] == [24, 7]
    assert both.config == first.config | {"seeds": [24, 7]}
    assert both.seconds > first.seconds and len(list((place / "records").glob("*.json"))) == 1

    # A task that is to be played unseen is played by all of them, wherever each was trained.
    logs = written(place, ["log.jsonl", "state.safetensors", "last-*.safetensors"])
    assert len(logs) == 6 and do(place, replace(RUN, seeds=(7,), held_out=(UNSEEN,))) == []
    assert written(place, ["log.jsonl", "state.safetensors", "last-*.safetensors"]) == logs
    unseen = record_of(place)
    assert [each.seed for each in unseen.seeds] == [24, 7]
    for old, new in zip(both.seeds, unseen.seeds, strict=True):
        assert new.fresh.keys() == {*RUN.tasks, UNSEEN} and new.fresh[UNSEEN]["episodes"] == LEVELS
        assert new == replace(old, fresh=old.fresh | {UNSEEN: new.fresh[UNSEEN]})
    assert unseen.config["held_out"] == [UNSEEN] and unseen.identity == both.identity
    assert unseen.compile_seconds == pytest.approx(both.compile_seconds)
    assert do(place, replace(RUN, seeds=(24, 7))) == [], "it knows more than is asked for"
    assert record_of(place) == unseen


def test_a_seed_and_an_unseen_task_may_be_asked_for_at_once(place: Path) -> None:
    logs = written(place, ["log.jsonl"])
    assert do(place, replace(RUN, seeds=(7, 24), held_out=(UNSEEN,))) == []
    record = record_of(place)
    assert {each.seed for each in record.seeds} == {24, 7}
    assert all(each.fresh.keys() == {*RUN.tasks, UNSEEN} for each in record.seeds)
    assert {path: path.stat().st_mtime_ns for path in logs} == logs


def test_other_settings_are_another_run(place: Path, tmp_path: Path) -> None:
    other = replace(RUN, steps=160)
    assert do(place, other) == []
    assert len(list((place / "records").glob("*.json"))) == len(list((place / "runs").iterdir())) == 2
    assert record_of(place, other).seeds[0].curve["steps"] == [160]
    folder = run_folder(place / "runs", RUN)
    with pytest.raises(ValueError, match="holds another run: steps is 320, not 160; choose another folder"):
        do_run(other, folder, console=QUIET, levels=LEVELS)


def test_a_run_that_is_stopped_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(study, "train_with_bar", lambda *arguments, **options: False)
        with pytest.raises(KeyboardInterrupt):
            do(tmp_path, RUN)
        folder = run_folder(tmp_path / "runs", RUN)
        with pytest.raises(KeyboardInterrupt):
            finish_run(folder, QUIET, levels=LEVELS)
    assert not (folder / RECORD).exists() and not (tmp_path / "records").exists()
    assert do(tmp_path, replace(RUN, seeds=(42, 24))) == []
    assert len(read_log(folder)) == 2, "it went on where it was"
    assert {each.seed for each in record_of(tmp_path).seeds} == {24, 42}


def test_who_is_told_to_stop_as_a_run_ends_does_not_begin_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def train(folder: Path, **options: Any) -> Iterator[list[Row]]:
        begun.append(folder)
        os.kill(os.getpid(), signal.SIGINT)  # as the last line of the log is written
        measures = dict.fromkeys(("success", "steps", "queries"), 0.5)
        yield [log_row(updates=RUN.updates, steps=RUN.steps, training=measures)]

    begun: list[Path] = []
    monkeypatch.setattr(progress, "train", train)
    with pytest.raises(KeyboardInterrupt):
        do(tmp_path, RUN, replace(RUN, seeds=(7,)))
    assert begun == [run_folder(tmp_path / "runs", RUN)]


def test_what_cannot_be_trained_does_not_keep_others_from_it(place: Path) -> None:
    broken = replace(RUN, steps=160 * 3)
    record = place / "records" / f"notes--{broken.identity}.json"
    record.write_text("{")
    folder = run_folder(place / "runs", other := replace(RUN, steps=160 * 4))
    start_run(replace(other, steps=7), folder)
    more = replace(RUN, seeds=(7,))
    said = do(place, broken, other, more)
    assert len(said) == 2 and f"{record} cannot be read: it is not JSON" in said[0]
    assert f"{folder} holds another run: steps is 7, not 640" in said[1]
    assert [each.seed for each in record_of(place).seeds] == [24, 7]
