"""Lets the expert play 10,000 fresh levels of every task; fails if it loses one.

Writes ``results/expert.json``, in which rows of other tasks stay if they were played with the same seed.
Planning for Q-BabyAI is done on the host, in as many processes as there are cores.
"""

import argparse
import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from afk.envs.registry import WORLDS, make, task_named, task_names, tasks_by_letters
from afk.files import write_json
from afk.training.evaluate import expert, play, summarise

RESULT = Path(__file__).parents[1] / "results" / "expert.json"


def main() -> None:
    """Evaluate all tasks, print a table and write the record."""
    parser = argparse.ArgumentParser(description="The expert on every task.")
    parser.add_argument("--levels", type=int, default=10_000, help="levels a task")
    parser.add_argument("--seed", type=int, default=0)
    names = (*task_names(), *tasks_by_letters())
    # Levels of other editions may have no solution.
    sound = [task.name for world in WORLDS.values() for task in world.paper_tasks()]
    parser.add_argument("--task", nargs="+", choices=names, default=sound, metavar="TASK")
    arguments = parser.parse_args()
    console = Console()
    jobs = [(task_named(name), arguments.levels, arguments.seed) for name in arguments.task]
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as workers:
        rows = list(track(workers.map(_evaluate, jobs), "playing", total=len(jobs), console=console))
    table = Table("task", "levels", "success", "steps", "queries", "|Q_t|", "F1")
    for row in rows:
        numbers = (
            f"{row[name]:.3f}" for name in ("success", "episode_length", "queries", "good_queries", "f1")
        )
        table.add_row(row["task"], str(row["episodes"]), *numbers)
    console.print(table)
    write_json(RESULT, {"seed": arguments.seed, "tasks": _merge(rows, arguments.seed)})
    sys.exit(any(min(row["success"], row["f1"]) < 1 for row in rows if row["task"] in sound))


def _merge(rows: list[dict[str, Any]], seed: int) -> list[dict[str, Any]]:
    """The rows of the record with these in the place of older ones, in the order of the tasks."""
    record = json.loads(RESULT.read_text()) if RESULT.exists() else {"seed": seed, "tasks": []}
    kept = record["tasks"] if record["seed"] == seed else []
    by_task = {row["task"]: row for row in (*kept, *rows)}
    return [by_task[name] for name in task_names() if name in by_task]


def _evaluate(job: tuple[str, int, int]) -> dict[str, Any]:
    """The expert's summary on one task."""
    name, levels, seed = job
    return {"task": name} | summarise(play(make(name), expert, episodes=levels, seed=seed))


if __name__ == "__main__":
    main()
