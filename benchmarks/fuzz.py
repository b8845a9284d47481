"""Give afk what it must bear: broken input, kills, full disks, strangers at the viewer; says what went wrong.

    python benchmarks/fuzz.py [--part PART ...] [--most N] [--seed N] [--json FILE | --record]

All is drawn with the seed, stays in a temporary folder, and talks to this machine alone. ``--record`` keeps
what the parts came to in ``results/reliability.json`` and puts the table of all into ``docs/reliability.md``.
"""

import argparse
import json
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fuzzing.calls import fuzz_calls
from fuzzing.common import Tally, warm_up
from fuzzing.disks import fuzz_disks
from fuzzing.files import fuzz_files
from fuzzing.kills import fuzz_kills
from fuzzing.viewer import fuzz_episodes, fuzz_requests

_ROOT = Path(__file__).parents[1]
RECORD, PAGE = _ROOT / "results" / "reliability.json", _ROOT / "docs" / "reliability.md"
PARTS: dict[str, Callable[[Path, int, int | None], Tally]] = {
    "calls": fuzz_calls,
    "files": fuzz_files,
    "kills": fuzz_kills,
    "disks": fuzz_disks,
    "requests": fuzz_requests,
    "episodes": fuzz_episodes,
}
_COLUMNS = {
    "part": "part",
    "tried": "tried",
    "tracebacks": "tracebacks",
    "hangs": "hangs",
    "wrong_exit_codes": "wrong endings",
    "unclear": "not one line",
    "lost": "lost or changed",
    "memory": "memory",
}
_TABLE = re.compile(r"(?<=<!-- results/reliability.json -->\n).*?(?=<!-- end -->)", re.DOTALL)


def main() -> None:
    """Run the parts, print the table, and write the record."""
    parser = argparse.ArgumentParser(description="What afk must bear.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--most", type=int, help="how much each part tries; otherwise what the record has")
    parser.add_argument("--json", type=Path, help="write what was found to this file")
    parser.add_argument("--record", action="store_true", help=f"write {RECORD.name} and {PAGE.name}")
    arguments = parser.parse_args()
    found: dict[str, Any] = {}
    with TemporaryDirectory(prefix="afk-fuzz-") as folder:
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", f"{folder}/compiled")
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
        warm_up()
        for part in arguments.part:
            start, place = time.perf_counter(), Path(folder) / part
            place.mkdir()
            tally = PARTS[part](place, arguments.seed, arguments.most)
            found[part] = asdict(tally) | {"seconds": time.perf_counter() - start}
    print(as_table([*found.values()]))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps({"seed": arguments.seed, "parts": found}, indent=2) + "\n")
    if arguments.record:
        _record(arguments.seed, found)


def as_table(parts: Sequence[Mapping[str, Any]]) -> str:
    """Markdown, of what parts came to."""
    rows = [list(_COLUMNS.values()), ["---"] * len(_COLUMNS)]
    rows += [
        [f"{part[name]:,}" if isinstance(part[name], int) else part[name] for name in _COLUMNS]
        for part in parts
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def show_record(page: str, record: Mapping[str, Any]) -> str:
    """A page with the table of a record in its place."""
    table = as_table([*record["parts"].values()])
    return _TABLE.sub(lambda _: f"\n{table}\n\n", page)


def _record(seed: int, found: Mapping[str, Any]) -> None:
    """Keep what parts came to; parts that were not run stay as they were."""
    from afk.files import write_file, write_json
    from afk.training.machine import describe_machine

    before = json.loads(RECORD.read_text())["parts"] if RECORD.exists() else {}
    parts = {name: found.get(name, before.get(name)) for name in PARTS if name in found or name in before}
    record = {"machine": describe_machine(), "seed": seed, "parts": parts}
    write_json(RECORD, record)
    write_file(PAGE, show_record(PAGE.read_text(), record).encode())


if __name__ == "__main__":
    main()
