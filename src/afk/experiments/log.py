"""The log of a run: a line for each seed and chunk, and what evaluations in it come to."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from afk.experiments.config import FINAL
from afk.experiments.tensorboard import encode_events, event_rows
from afk.records import write_whole

Row = dict[str, Any]
_NAME = "log.jsonl"


def read_log(folder: Path) -> list[Row]:
    """The lines of a run's log."""
    path = folder / _NAME
    try:
        return list(map(json.loads, path.read_text().splitlines())) if path.exists() else []
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def write_log(folder: Path, rows: Sequence[Row]) -> None:
    """Write a log, whole, and what TensorBoard reads."""
    write_whole(folder / _NAME, "".join(json.dumps(row) + "\n" for row in rows).encode())
    for seed in {row["seed"] for row in rows}:
        events = folder / "tensorboard" / f"seed-{seed}" / "events.out.tfevents.0.afk"
        events.parent.mkdir(parents=True, exist_ok=True)
        # In place: TensorBoard keeps the file open. It can be made again from the log at any time.
        events.write_bytes(encode_events(event_rows([row for row in rows if row["seed"] == seed])))


def evaluation_of(row: Row, task: str) -> dict[str, Any]:
    """What an evaluation came to on one task of a run."""
    return row.get("evaluation_by_task", {}).get(task, row["evaluation"])


def final_evaluation(rows: Sequence[Row], *, last: int = FINAL) -> dict[str, float]:
    """The paper's final metric: the means over the last evaluations of a seed, ten if there are as many."""
    evaluations = [row["evaluation"] for row in rows if "evaluation" in row][-last:]
    measures = [name for name, value in evaluations[-1].items() if isinstance(value, float)]
    return {name: sum(each[name] for each in evaluations) / len(evaluations) for name in measures}
