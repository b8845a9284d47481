"""The log of a run: a line for each seed and `log_every` updates, and what evaluations in it come to."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from afk.checks import is_number
from afk.files import append_file, parse_json, read_bytes, write_file
from afk.training.config import FINAL

Row = dict[str, Any]
MEASURES = ("success", "episode_length", "reward", "queries", "precision", "recall", "f1")
_NAME = "log.jsonl"
_COUNTS = ("seed", "updates", "steps")
_TIMES = ("seconds", "training_seconds", "steps_per_second")


def read_log(folder: Path) -> list[Row]:
    """The lines of a run's log, checked; one that was cut off by a kill as it was written does not count."""
    path = folder / _NAME
    if not path.exists():
        return []
    try:
        whole, _, _ = read_bytes(path).rpartition(b"\n")
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    rows = []
    for number, line in enumerate(whole.split(b"\n") if whole else [], start=1):
        try:
            rows.append(_check_row(parse_json(line)))
        except ValueError as error:
            raise ValueError(f"{path} cannot be read: line {number}: {error}") from error
    return rows


def _check_row(row: Any) -> Row:
    """A line of a log from outside; a ValueError if it lacks what all have, or has it in another form."""
    if not isinstance(row, dict):
        raise ValueError("it is no JSON object")
    for name in _COUNTS:
        _check(is_number(row.get(name), whole=True) and row[name] >= 0, name, "a whole number from 0 on")
    for name in _TIMES:
        _check(is_number(row.get(name)) and row[name] >= 0, name, "a number from 0 on")
    for name in ("training", "losses"):
        _check_numbers(row.get(name), name)
    tasks = row.get("evaluation_by_task", {})
    _check(isinstance(tasks, dict), "evaluation_by_task", "an object")
    evaluations = {f"evaluation of {task}": measures for task, measures in tasks.items()}
    if "evaluation" in row or evaluations:
        evaluations["evaluation"] = row.get("evaluation")
    for what, measures in evaluations.items():
        _check(isinstance(measures, dict), what, "an object")
        _check_numbers({name: measures.get(name) for name in MEASURES}, what)
    return row


def _check_numbers(content: Any, what: str) -> None:
    _check(isinstance(content, dict), what, "an object")
    for name, value in content.items():
        _check(isinstance(value, float), f"{name} in {what}", "a number such as 0.5")


def _check(sound: bool, what: str, allowed: str) -> None:
    if not sound:
        raise ValueError(f"{what} is missing, or is not {allowed}")


def write_log(folder: Path, rows: Sequence[Row]) -> None:
    """Write a log, whole."""
    write_file(folder / _NAME, _encode(rows))


def append_log(folder: Path, rows: Sequence[Row]) -> None:
    """Add lines to a log, so that they are on disk."""
    append_file(folder / _NAME, _encode(rows))


def remove_log(folder: Path) -> None:
    """Forget a log."""
    (folder / _NAME).unlink(missing_ok=True)


def _encode(rows: Sequence[Row]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def evaluation_of(row: Row, task: str) -> dict[str, Any]:
    """What an evaluation came to on one task of a run."""
    return row.get("evaluation_by_task", {}).get(task, row["evaluation"])


def final_evaluation(rows: Sequence[Row], *, last: int = FINAL) -> dict[str, float]:
    """The paper's final metric: the means over the last evaluations of a seed, ten if there are as many."""
    evaluations = [row["evaluation"] for row in rows if "evaluation" in row][-last:]
    measures = [
        name for name in evaluations[-1] if all(isinstance(each.get(name), float) for each in evaluations)
    ]
    return {name: sum(each[name] for each in evaluations) / len(evaluations) for name in measures}
