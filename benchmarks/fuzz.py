"""Give afk what it must refuse; prints a table of what went wrong as Markdown.

    python benchmarks/fuzz.py [--seed N] [--part PART ...] [--most N] [--json FILE]

All is drawn with the seed, stays in a temporary folder, and talks to this machine alone.
"""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from fuzzing.calls import fuzz_calls
from fuzzing.common import Tally, warm_up

PARTS: dict[str, Callable[[Path, int, int | None], Tally]] = {"calls": fuzz_calls}
_COLUMNS = {
    "part": "part",
    "tried": "tried",
    "tracebacks": "tracebacks",
    "hangs": "hangs",
    "wrong_exit_codes": "wrong exit codes",
    "unclear": "not one line",
    "lost_files": "lost files",
    "memory": "memory",
}


def main() -> None:
    """Run the parts, print the table, and write the record."""
    parser = argparse.ArgumentParser(description="What afk must bear.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--most", type=int, help="how much each part tries; otherwise all there is")
    parser.add_argument("--json", type=Path, help="write what was found to this file")
    arguments = parser.parse_args()
    warm_up()
    tallies, start = [], time.perf_counter()
    with TemporaryDirectory() as folder:
        for part in arguments.part:
            tallies.append(PARTS[part](Path(folder), arguments.seed, arguments.most))
            for example in tallies[-1].examples:
                print(example, file=sys.stderr)
    print(as_table(tallies))
    if arguments.json is not None:
        from afk.files import write_json
        from afk.training.machine import describe_machine

        seconds = time.perf_counter() - start
        record = {"machine": describe_machine(), "seed": arguments.seed, "seconds": seconds}
        write_json(arguments.json, record | {"parts": [asdict(tally) for tally in tallies]})


def as_table(tallies: list[Tally]) -> str:
    """Markdown."""
    rows = [list(_COLUMNS.values()), ["---"] * len(_COLUMNS)]
    rows += [[str(getattr(tally, name)) for name in _COLUMNS] for tally in tallies]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    main()
