"""Trains and evaluates agents by the paper's protocol (section 4), and writes what came of it.

    python benchmarks/study.py --agent afk query no-query --task qbabyai/danger C SD,CD --preset fast

Tasks are named as everywhere or by the paper's letters; joined by commas they are trained on together. Each
run trains its seeds side by side and leaves ``results/runs/PRESET--AGENT--TASK.json``. What has a record is
not trained again, and what was stopped goes on.
"""

import argparse
import sys
from pathlib import Path

from rich.console import Console

from afk.experiments.run_record import task_named
from afk.experiments.study import FRESH_LEVELS, SEEDS, Run, do_study, overview

RESULTS = Path(__file__).parents[1] / "results" / "runs"


def main() -> None:
    """Train, evaluate, and write records."""
    parser = argparse.ArgumentParser(description="A study by the paper's protocol.")
    parser.add_argument("--agent", nargs="+", default=["afk", "query", "no-query"])
    parser.add_argument("--task", nargs="+", required=True, help="a task, or several joined by commas")
    parser.add_argument("--also", nargs="+", default=[], help="tasks to be evaluated on unseen")
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--steps", type=int, help="environment steps a seed; as the preset has it")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS))
    parser.add_argument("--levels", type=int, default=FRESH_LEVELS, help="fresh levels in the end")
    parser.add_argument("--runs", type=Path, default=Path("runs/study"), help="where runs are kept")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where records are written")
    parser.add_argument("--ahead", action="store_true", help="compile the next run while one trains")
    arguments = parser.parse_args()
    console = Console(stderr=True)
    try:
        study = _plan(arguments)
        console.print(overview(study, runs=arguments.runs, records=arguments.results))
        failures = do_study(
            study,
            runs=arguments.runs,
            records=arguments.results,
            console=console,
            levels=arguments.levels,
            ahead=arguments.ahead,
        )
    except ValueError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        console.print("stopped; the same command goes on")
        sys.exit(130)
    for line in failures:
        print(f"error: {line}", file=sys.stderr)
    sys.exit(bool(failures))


def _plan(arguments: argparse.Namespace) -> list[Run]:
    """The runs that the command line asks for, task by task."""
    also, seeds = tuple(map(task_named, arguments.also)), tuple(arguments.seeds)
    return [
        Run(arguments.preset, agent, tuple(map(task_named, tasks.split(","))), also, seeds, arguments.steps)
        for tasks in arguments.task
        for agent in arguments.agent
    ]


if __name__ == "__main__":
    main()
