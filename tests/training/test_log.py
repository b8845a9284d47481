"""Logs that anybody may have written: a line that is not one of ours is named."""

import json
from pathlib import Path
from typing import Any

import pytest

from afk.plugins import VARIABLE
from afk.training.log import final_evaluation, read_log, write_log
from afk.training.progress import _command, _share

from .tiny_run import log_row


def test_a_sound_log_is_read_with_an_evaluation_or_without(tmp_path: Path) -> None:
    plain = log_row()
    del plain["evaluation"]
    mixed = log_row(updates=2, evaluation_by_task={"a": log_row()["evaluation"]})
    write_log(tmp_path, [plain, mixed])
    assert read_log(tmp_path) == [plain, mixed]
    assert final_evaluation(read_log(tmp_path))["success"] == 0.5
    write_log(tmp_path, [])
    assert read_log(tmp_path) == []


@pytest.mark.parametrize(
    "line",
    [
        *("null", "3", "[]", '"text"', "", "{}", '{"seed": 24}'),
        *("[" * 5_000, "{" * 3, json.dumps(log_row())[:-1] + ', "x": NaN}', "\x00"),
    ],
)
def test_a_line_that_is_none_is_named(line: str, tmp_path: Path) -> None:
    _assert_refused(tmp_path, line.encode())


def test_a_line_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    _assert_refused(tmp_path, b'{"seed": "\xff\xfe"}')


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("seed", value) for value in ("../../x", 1.5, None, True, -1, [])),
        *(("updates", value) for value in ("1", 1.5, None, False, -1)),
        *(("steps", value) for value in ("1", None, {})),
        *(("seconds", value) for value in ("1", None, [], -1)),
        *(("training_seconds", None), ("steps_per_second", "fast")),
        *(("training", value) for value in (None, [], {"success": "high"}, {"success": None})),
        *(("losses", value) for value in (None, 3, {"policy": []})),
        *(("evaluation", value) for value in (None, [], 3, {}, {"success": 0.5}, {"success": "high"})),
        *(("evaluation_by_task", value) for value in (None, [], {"a": None}, {"a": {"success": 0.5}})),
    ],
)
def test_a_value_of_another_kind_is_named(name: str, value: Any, tmp_path: Path) -> None:
    said = _assert_refused(tmp_path, json.dumps(log_row(**{name: value})).encode())
    assert name.partition("_by")[0] in said


def _assert_refused(folder: Path, line: bytes) -> str:
    (folder / "log.jsonl").write_bytes(json.dumps(log_row()).encode() + b"\n" + line + b"\n")
    with pytest.raises(ValueError, match=r"log\.jsonl cannot be read: line 2: ") as caught:
        read_log(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_is_suggested_knows_modules_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "my_module")
    assert _command("eval", "run 1") == "afk eval 'run 1' --import my_module"


def test_short_runs_are_told_in_thousands() -> None:
    assert (_share(26_000, 30_000), _share(260_000, 3_000_000)) == ("26/30K", "0.26/3.00M")
