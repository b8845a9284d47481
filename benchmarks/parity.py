"""Plays every task in our world and in Minigrid side by side, and counts the steps after which they differ.

Half of the steps are random, half are the expert's. Writes ``results/parity.json``; fails on any difference.
"""

import argparse
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import jax
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from afk.envs.level_pool import Pool, draw_pool
from afk.envs.qbabyai.levels.tasks import paper_tasks
from afk.envs.qbabyai.reference import compare, random_actions
from afk.envs.qbabyai.world.state import State
from afk.envs.registry import make
from afk.files import write_json
from afk.training.evaluate import expert as expert_actions

RESULT = Path(__file__).parents[1] / "results" / "parity.json"
BATCH = 32  # levels that are played at once
SHORTEST_PLAN = 4  # the expert needs about this many steps at least, so this settles how many levels to draw


def main() -> None:
    """Compare all tasks, print a table and write the record."""
    parser = argparse.ArgumentParser(description="Q-BabyAI against Minigrid's own code.")
    parser.add_argument("--steps", type=int, default=20_000, help="steps a task, at least")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    console = Console()
    rows = []
    for name in track([task.name for task in paper_tasks()], "comparing", console=console):
        row, mismatches = _compare_task(name, steps=arguments.steps, seed=arguments.seed)
        rows.append(row)
        for line in mismatches[:5]:
            console.print(f"{name}: {line}", style="red")
    console.print(_table(rows))
    write_json(
        RESULT,
        {
            "minigrid": version("minigrid"),
            "jax": version("jax"),
            "seed": arguments.seed,
            "compared": "view, grid, position, direction and hands after every step",
            "tasks": rows,
        },
    )
    sys.exit(any(row["mismatches"] for row in rows))


def _compare_task(name: str, *, steps: int, seed: int) -> tuple[dict[str, str | int], list[str]]:
    """Play at least so many steps of a task; gives its row of the table and what differed."""
    size = max(BATCH, steps // 2 // SHORTEST_PLAN)
    env, key = make(name), jax.random.key(seed)
    pool = draw_pool(env, key, size)
    rng = np.random.default_rng(seed)
    random, found = _play(pool, lambda states: _random(states, rng), steps - steps // 2)
    expert, found_by_expert = _play(pool, lambda states: expert_actions(env, states, key), steps // 2)
    mismatches = found + found_by_expert
    row = {
        "task": name,
        "steps": random + expert,
        "random_steps": random,
        "expert_steps": expert,
        "mismatches": len(mismatches),
    }
    return row, mismatches


def _play(pool: Pool[State], act: Callable[[State], np.ndarray], steps: int) -> tuple[int, list[str]]:
    """Go through the levels of a pool until so many steps are compared."""
    states = jax.device_get(pool.states)
    played, start, mismatches = 0, 0, []
    while played < steps:
        indices = np.arange(start, start + BATCH) % pool.size
        batch = jax.tree.map(lambda leaf, indices=indices: leaf[indices], states)
        more, found = compare(batch, act(batch))
        played, start, mismatches = played + more, start + BATCH, mismatches + found
    return played, mismatches


def _random(states: State, rng: np.random.Generator) -> np.ndarray:
    """Random actions for whole episodes: (levels, max_steps, 5) int."""
    return random_actions(rng, BATCH, int(states.level.max_steps[0]))


def _table(rows: list[dict[str, str | int]]) -> Table:
    """The rows for the terminal."""
    table = Table()
    table.add_column("task", overflow="fold")
    for heading in ("steps", "random", "expert", "mismatches"):
        table.add_column(heading, justify="right")
    for row in rows:
        name, *numbers = row.values()
        table.add_row(str(name), *(f"{number:,}" for number in numbers))
    return table


if __name__ == "__main__":
    main()
