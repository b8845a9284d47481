"""Event files: read back record by record, and as TensorBoard does: what is superseded does not count."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from afk.training import tensorboard
from afk.training.log import Row, read_log
from afk.training.tensorboard import EventLog, scalars

event_pb2: Any = pytest.importorskip("tensorboardX.proto.event_pb2", reason="tensorboardX is not installed")
checksums: Any = pytest.importorskip("tensorboardX.record_writer")


def make_row(steps: int, *, seed: int = 24, success: float = 0.5, evaluated: bool = False) -> Row:
    """A line of a log."""
    row: Row = {
        "seed": seed,
        "updates": steps // 160,
        "steps": steps,
        "episodes": 31,
        "training": {"success": success, "steps": 20.25},
        "losses": {"policy": -0.125},
        "seconds": 12.5,
        "training_seconds": 10.0,
        "steps_per_second": 32768.0,
    }
    if evaluated:
        row["evaluation"] = {"episodes": 8, "success": 0.75, "success_interval": [0.5, 1.0], "f1": 0.25}
        row["evaluation_by_task"] = {"qbabyai/danger": {"success": 0.25, "f1": 0.5}}
    return row


def records(path: Path) -> Iterator[Any]:
    """The events of a file, whose checksums are good."""
    content = path.read_bytes()
    while content:
        (length,) = struct.unpack("<Q", content[:8])
        data, rest = content[12 : 12 + length], content[12 + length :]
        assert content[8:12] == struct.pack("<I", checksums.masked_crc32c(content[:8]))
        assert rest[:4] == struct.pack("<I", checksums.masked_crc32c(data)) and len(data) == length
        yield event_pb2.Event.FromString(data)
        content = rest[4:]


def read_events(folder: Path, seed: int = 24) -> dict[int, dict[str, float]]:
    """What TensorBoard shows of a seed: values by step and tag; a session begins by dropping what follows."""
    shown: dict[int, dict[str, float]] = {}
    for path in sorted((folder / "tensorboard" / f"seed-{seed}").iterdir()):
        assert "tfevents" in path.name
        first, *events = records(path)
        assert first.file_version == "brain.Event:2"
        for event in events:
            if event.session_log.status == event_pb2.SessionLog.START:
                shown = {step: values for step, values in shown.items() if step < event.step}
            else:
                assert event.step not in shown and event.wall_time > 1e9
                shown[event.step] = {value.tag: value.simple_value for value in event.summary.value}
    return shown


def test_a_line_becomes_scalars_by_their_path() -> None:
    assert scalars(make_row(160)) == {
        "training/success": 0.5,
        "training/steps": 20.25,
        "losses/policy": -0.125,
        "time/steps_per_second": 32768.0,
    }
    assert scalars(make_row(160, evaluated=True)) == scalars(make_row(160)) | {
        "evaluation/success": 0.75,
        "evaluation/f1": 0.25,
        "evaluation/success/qbabyai/danger": 0.25,
    }


def test_what_is_written_is_there_at_once(tmp_path: Path) -> None:
    events = EventLog(tmp_path, after=0)
    assert not (tmp_path / "tensorboard").exists()
    rows = [make_row(160), make_row(160, seed=7, success=0.25), make_row(320, evaluated=True)]
    for index, row in enumerate(rows):
        events.write([row])  # not closed: a run may be killed
        for seed in (24, 7):
            mine = {each["steps"]: scalars(each) for each in rows[: index + 1] if each["seed"] == seed}
            assert not mine or read_events(tmp_path, seed) == mine
    assert sorted(path.name for path in (tmp_path / "tensorboard").iterdir()) == ["seed-24", "seed-7"]


@pytest.mark.parametrize("after", [0, 160, 320])
def test_what_was_logged_but_not_saved_is_superseded(after: int, tmp_path: Path) -> None:
    EventLog(tmp_path, after=0).write([make_row(160), make_row(320), make_row(480)])
    later = EventLog(tmp_path, after=after)
    again = [make_row(steps, success=0.75) for steps in range(after + 160, 641, 160)]
    for row in again:
        later.write([row])
    kept = [make_row(steps) for steps in range(160, after + 1, 160)]
    assert read_events(tmp_path) == {row["steps"]: scalars(row) for row in (*kept, *again)}


def test_a_run_leaves_its_log_for_tensorboard(finished: Path) -> None:
    shown, rows = read_events(finished), read_log(finished)
    assert [*shown] == [row["steps"] for row in rows] == [160 * updates for updates in range(1, 7)]
    for row in rows:
        assert shown[row["steps"]] == pytest.approx(scalars(row))


def test_nothing_is_written_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensorboard, "find_spec", lambda name: None)
    EventLog(tmp_path, after=0).write([make_row(160)])
    assert not [*tmp_path.iterdir()]
