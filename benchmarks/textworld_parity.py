"""Plays cooking games in our engine and in TextWorld's side by side, and counts the states that differ.

Games are made by TextWorld's maker and compiled; commands are random, plausible and the expert's. Beside the
paper's tasks two tasks with all that the family has are played. Writes ``results/textworld-parity.json``;
fails on any difference.
"""

import argparse
import math
import sys
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from afk.envs.qtextworld.levels.tasks import Task, paper_tasks
from afk.envs.qtextworld.parity import PLAYERS, compare
from afk.files import write_json

RESULT = Path(__file__).parents[1] / "results" / "textworld-parity.json"
GAMES = 500  # made, compiled and played at once
TASKS = (
    *paper_tasks(),
    Task("take-3-cut-cook", ingredients=3, cut=True, cook=True, furniture=4, distractors=4, max_steps=30),
    Task("take-5-knife", ingredients=5, cut=True, knife_held=False, furniture=7, max_steps=40),
)


def main() -> None:
    """Compare all tasks, print a table and write the record."""
    parser = argparse.ArgumentParser(description="Q-TextWorld against TextWorld's own engine.")
    parser.add_argument("--states", type=int, default=100_000, help="states in all, at least")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    console, rows = Console(), []
    pairs = [(task, player) for task in TASKS for player in PLAYERS]
    for task, player in track(pairs, "comparing", console=console):
        row = _compare(
            task, player, states=-(-arguments.states // len(pairs)), seed=arguments.seed, console=console
        )
        rows.append(row)
    console.print(_table(rows))
    write_json(
        RESULT,
        {
            "textworld": version("textworld"),
            "jax": version("jax"),
            "seed": arguments.seed,
            "compared": "tokens of text, instruction and answer, score, end, success and possible commands",
            "states": sum(row["states"] for row in rows),
            "mismatches": sum(row["mismatches"] for row in rows),
            "tasks": rows,
        },
    )
    sys.exit(any(row["mismatches"] for row in rows))


def _compare(task: Task, player: str, *, states: int, seed: int, console: Console) -> dict:
    """Play games until so many states are compared; gives a row of the table."""
    compared, games, mismatches = 0, 0, 0
    while compared < states:
        states_a_game = compared / games if games else task.max_steps
        size = min(GAMES, math.ceil((states - compared) / states_a_game))
        more, found = compare(task, PLAYERS[player], games=size, seed=seed + games)
        compared, games, mismatches = compared + more, games + size, mismatches + len(found)
        for line in found[:3]:
            console.print(line, style="red")
    return {"task": task.name, "player": player, "games": games, "states": compared, "mismatches": mismatches}


def _table(rows: list[dict]) -> Table:
    """The rows for the terminal."""
    table = Table("task", "commands")
    for heading in ("games", "states", "mismatches"):
        table.add_column(heading, justify="right")
    for row in rows:
        name, player, *numbers = row.values()
        table.add_row(name, player, *(f"{number:,}" for number in numbers))
    return table


if __name__ == "__main__":
    main()
