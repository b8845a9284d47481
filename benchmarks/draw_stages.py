"""Draws how one agent learned all tasks, stage after stage: ``python benchmarks/draw_stages.py P6 P7``.

Names are runs in ``results/recipe-runs.json``, each begun with the agent of the one before. Leaves
``docs/pictures/all-tasks.png``.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from afk.files import write_file
from afk.report.figures import draw_levels, encode
from afk.studies.record import short_name

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "pictures" / "all-tasks.png"


def main() -> None:
    """Draw the success on every task, a panel a level, dotted where a stage ends."""
    kept = {
        run["run"]: run for run in json.loads((ROOT / "results" / "recipe-runs.json").read_text())["runs"]
    }
    figure = draw_levels(join([kept[name] for name in sys.argv[1:]]))
    borders = np.cumsum([kept[name]["steps"] for name in sys.argv[1:-1]]) / 1e6
    for axis in figure.axes:
        for border in borders:
            axis.axvline(border, color="#767171", linestyle=":", linewidth=1)
    write_file(PICTURE, encode(figure, "png"))


def join(runs: list[dict[str, Any]]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Steps and success of the first seed of runs in a row, by the letters of tasks."""
    joined: dict[str, list[np.ndarray]] = {}
    before = 0
    for run in runs:
        for task, points in next(iter(run["evaluations"].values())).items():
            joined.setdefault(short_name(task), []).append(np.add(points, (before, 0, 0, 0, 0)))
        before += run["steps"]
    return {name: tuple(np.concatenate(parts).T[:2]) for name, parts in joined.items()}


if __name__ == "__main__":
    main()
