"""Draws how one agent learned all tasks, stage after stage: ``python benchmarks/draw_stages.py P6 P7``.

Names are runs in ``results/recipe-runs.json``, each begun with the agent of the one before. Leaves
``docs/pictures/all-tasks.png``.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from afk.experiments.run_record import short_name
from afk.records import write_whole
from afk.report.figures import LEVEL_COLOURS, encode, lay_out

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "pictures" / "all-tasks.png"


def main() -> None:
    """Draw the success on every task, a panel a level."""
    kept = {
        run["run"]: run for run in json.loads((ROOT / "results" / "recipe-runs.json").read_text())["runs"]
    }
    curves = join([kept[name] for name in sys.argv[1:]])
    figure, axes = lay_out(len(LEVEL_COLOURS), len(LEVEL_COLOURS))
    for level, axis in enumerate(axes, start=1):
        shown = {name: points for name, points in curves.items() if len(name) == level}
        for number, (name, points) in enumerate(shown.items()):
            shade = 1 - 0.6 * number / max(1, len(shown) - 1)
            axis.plot(
                points[:, 0] / 1e6,
                100 * points[:, 1],
                label=name,
                color=LEVEL_COLOURS[level - 1],
                alpha=shade,
            )
        axis.set_title(f"level {level}")
        axis.set_xlabel("million steps, all tasks together")
        axis.set_ylim(-4, 104)
        axis.legend(loc="lower right", frameon=False, ncols=2)
    axes[0].set_ylabel("success in percent")
    write_whole(PICTURE, encode(figure, "png"))


def join(runs: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    """The evaluations of the first seed of runs in a row, by the letters of tasks: (points, 5)."""
    joined: dict[str, list[np.ndarray]] = {}
    before = 0
    for run in runs:
        for task, points in next(iter(run["evaluations"].values())).items():
            joined.setdefault(short_name(task), []).append(np.add(points, (before, 0, 0, 0, 0)))
        before += run["steps"]
    return {name: np.concatenate(parts) for name, parts in joined.items()}


if __name__ == "__main__":
    main()
