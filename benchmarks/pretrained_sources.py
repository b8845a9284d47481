"""Evaluates the agents that come with the package with other sources, with none, and with all told.

    python benchmarks/pretrained_sources.py [--task TASK ...] [--episodes N]

All play the same levels: they ask the oracle, SQL or documents, or every question is refused, or the answers
to all good queries are known from the start. Leaves ``results/pretrained-sources.json``, row by row, of which
`afk reproduce knowledge` makes a table; what is there already is not played again.
"""

import argparse
from pathlib import Path

from afk.envs.asking import ALL_TOLD, NO_QUESTIONS, ORACLE, Asking
from afk.envs.registry import task_named
from afk.files import keep_compiled_programs, read_object, write_json
from afk.training.evaluate import summarise
from afk.training.pretrained import PRETRAINED, play_fresh, pretrained_tasks

RESULT = Path(__file__).parents[1] / "results" / "pretrained-sources.json"
SEED = 0
TOLD_BY = {
    ORACLE: Asking(),
    "sql": Asking("sql"),
    "documents": Asking("documents"),
    NO_QUESTIONS: Asking(mode=NO_QUESTIONS),
    ALL_TOLD: Asking(mode=ALL_TOLD),
}


def main() -> None:
    """Play, and write what came of it."""
    known = pretrained_tasks()
    parser = argparse.ArgumentParser(description="The pretrained agents with other sources.")
    parser.add_argument("--task", nargs="+", type=task_named, choices=known, default=known, metavar="TASK")
    parser.add_argument("--episodes", type=int, default=500, help="fresh levels of each task")
    options = parser.parse_args()
    keep_compiled_programs()
    rows = read_object(RESULT)["rows"] if RESULT.exists() else []
    done = {(row["task"], row["told_by"]) for row in rows if row["episodes"] == options.episodes}
    for task in options.task:
        for name, asking in TOLD_BY.items():
            if (task, name) in done:
                continue
            _, played = play_fresh(PRETRAINED, task, episodes=options.episodes, seed=SEED, asking=asking)
            rows = [row for row in rows if (row["task"], row["told_by"]) != (task, name)]
            rows.append({"task": task, "told_by": name, **summarise(played)})
            write_json(RESULT, {"seed": SEED, "rows": rows})
            print(f"{task}, {name}: {rows[-1]['success']:.1%}, F1 {rows[-1]['f1']:.2f}", flush=True)


if __name__ == "__main__":
    main()
