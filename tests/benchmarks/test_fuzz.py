"""A small part of what `benchmarks/fuzz.py` tries."""

import json
import subprocess
import sys
from pathlib import Path

FUZZ = Path(__file__).parents[2] / "benchmarks" / "fuzz.py"


def test_malformed_calls_are_refused_in_a_line(tmp_path: Path) -> None:
    command = [
        sys.executable,
        str(FUZZ),
        "--part",
        "calls",
        "--most",
        "20",
        "--json",
        str(tmp_path / "found"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    (part,) = json.loads((tmp_path / "found").read_text())["parts"]
    assert part["tried"] == 25 and part["examples"] == []
    assert done.stdout.splitlines()[-1] == "| malformed calls | 25 | 0 | 0 | 0 | 0 | 0 |  |"
