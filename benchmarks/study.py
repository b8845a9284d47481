"""Trains and evaluates agents by the paper's protocol (section 4), and writes what came of it.

    python benchmarks/study.py benchmarks/studies/danger.json benchmarks/studies/object-in-box-danger.json

Each file says what to train, as for `afk sweep`; those in ``benchmarks/studies`` are behind the records in
``results/runs``. A run trains its seeds side by side and leaves a record; see `afk.studies.record`. What has
one is not trained again, seeds that it lacks are, and what was stopped goes on.
"""

import argparse
import sys
from pathlib import Path

from rich.console import Console

from afk.studies.plan import read_study
from afk.studies.study import FRESH_LEVELS, do_study, overview

RESULTS = Path(__file__).parents[1] / "results" / "runs"


def main() -> None:
    """Train, evaluate, and write records."""
    parser = argparse.ArgumentParser(description="Studies by the paper's protocol, one after the other.")
    parser.add_argument("study", nargs="+", type=Path, help="a JSON file that says what to train")
    parser.add_argument("--preset", default="fast", help="settings where a file names none")
    parser.add_argument("--levels", type=int, default=FRESH_LEVELS, help="fresh levels in the end")
    parser.add_argument("--runs", type=Path, default=Path("runs/study"), help="where runs are kept")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where records are written")
    parser.add_argument("--ahead", action="store_true", help="compile the next run while one trains")
    options = parser.parse_args()
    console = Console(stderr=True)
    try:
        study = [run for path in options.study for run in read_study(path, preset=options.preset)]
        console.print(overview(study, runs=options.runs, records=options.results))
        failures = do_study(
            study,
            runs=options.runs,
            records=options.results,
            console=console,
            levels=options.levels,
            ahead=options.ahead,
        )
    except ValueError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        console.print("stopped; the same command goes on")
        sys.exit(130)
    for line in failures:
        print(f"error: {line}", file=sys.stderr)
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
