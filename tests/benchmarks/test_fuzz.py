"""A small part of what `benchmarks/fuzz.py` tries."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parents[2] / "benchmarks" / "fuzz.py"


def fuzz(part: str, most: int, folder: Path) -> dict:
    """What a part comes to; nothing may be wrong."""
    command = [
        sys.executable,
        str(FUZZ),
        "--part",
        part,
        "--most",
        str(most),
        "--json",
        str(folder / "found"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads((folder / "found").read_text())["parts"][part]
    assert found["examples"] == []
    return found


def test_malformed_calls_are_refused_in_a_line(tmp_path: Path) -> None:
    assert fuzz("calls", 20, tmp_path)["tried"] == 25


def test_odd_requests_are_refused_in_a_sentence(tmp_path: Path) -> None:
    assert fuzz("requests", 40, tmp_path)["tried"] == 66


@pytest.mark.slow
@pytest.mark.parametrize(("part", "most"), [("files", 12), ("kills", 2), ("disks", 4), ("episodes", 30)])
def test_everything_else_is_borne(part: str, most: int, tmp_path: Path) -> None:
    assert fuzz(part, most, tmp_path)["tried"] >= most
