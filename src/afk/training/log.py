"""The log of a run: a line for each seed and `log_every` updates, and what evaluations in it come to."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from afk.files import write_file
from afk.training.config import FINAL

Row = dict[str, Any]
_NAME = "log.jsonl"


def read_log(folder: Path) -> list[Row]:
    """The lines of a run's log; one that was cut off by a kill as it was written does not count."""
    path = folder / _NAME
    if not path.exists():
        return []
    whole, _, _ = path.read_text().rpartition("\n")
    try:
        return list(map(json.loads, whole.splitlines()))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def write_log(folder: Path, rows: Sequence[Row]) -> None:
    """Write a log, whole."""
    write_file(folder / _NAME, _encode(rows))


def append_log(folder: Path, rows: Sequence[Row]) -> None:
    """Add lines to a log, so that they are on disk."""
    with (folder / _NAME).open("ab") as file:
        file.write(_encode(rows))
        file.flush()
        os.fsync(file.fileno())


def _encode(rows: Sequence[Row]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def evaluation_of(row: Row, task: str) -> dict[str, Any]:
    """What an evaluation came to on one task of a run."""
    return row.get("evaluation_by_task", {}).get(task, row["evaluation"])


def final_evaluation(rows: Sequence[Row], *, last: int = FINAL) -> dict[str, float]:
    """The paper's final metric: the means over the last evaluations of a seed, ten if there are as many."""
    evaluations = [row["evaluation"] for row in rows if "evaluation" in row][-last:]
    measures = [name for name, value in evaluations[-1].items() if isinstance(value, float)]
    return {name: sum(each[name] for each in evaluations) / len(evaluations) for name in measures}
