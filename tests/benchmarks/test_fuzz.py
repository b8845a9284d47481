"""A small part of what `benchmarks/fuzz.py` tries, and its table."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

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
@pytest.mark.parametrize(("part", "most"), [("files", 8), ("kills", 1), ("disks", 2), ("episodes", 10)])
def test_everything_else_is_borne(part: str, most: int, tmp_path: Path) -> None:
    assert fuzz(part, most, tmp_path)["tried"] >= most


def test_the_table_is_of_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    script = load(monkeypatch)
    record, page = json.loads(script.RECORD.read_text()), script.PAGE.read_text()
    assert list(record["parts"]) == [part for part in script.PARTS if part in record["parts"]]
    assert script.show_record(page, record) == page
    record["parts"]["files"]["hangs"] += 1
    assert script.show_record(page, record) != page


def load(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module."""
    monkeypatch.syspath_prepend(str(FUZZ.parent))
    spec = importlib.util.spec_from_file_location("fuzz", FUZZ)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
