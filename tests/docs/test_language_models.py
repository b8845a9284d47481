"""The commands of the page on language models run as they stand, and its table is that of the record."""

import os
import re
import runpy
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from afk.files import read_object

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "language-models.md").read_text()
SERVER = "python examples/expert_server.py --port 8000 &"


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@pytest.mark.slow
def test_the_commands_run(tmp_path: Path) -> None:
    server, *commands = [
        line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.S) for line in block.splitlines()
    ]
    assert server == SERVER and len(commands) == 5
    port = free_port()
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    options = {"cwd": tmp_path, "env": {**os.environ, "PATH": path}, "text": True}
    serving = [sys.executable, str(ROOT / "examples" / "expert_server.py"), "--port", str(port)]
    with subprocess.Popen(serving, stdout=subprocess.PIPE, **options) as expert:
        try:
            assert expert.stdout is not None and "the expert is at" in expert.stdout.readline()
            said = [
                subprocess.run(
                    [sys.executable, "-m", *command.replace("8000", str(port)).split()],
                    **options, capture_output=True, timeout=300, check=True,
                ).stdout
                for command in commands
            ]  # fmt: skip
        finally:
            expert.terminate()
    assert "asking recovers 100%" in said[3] and "openai:expert" in said[3] and "pretrained" in said[3]
    assert (tmp_path / "episodes.jsonl").exists() and (tmp_path / "episodes.md").exists()


def test_the_table_of_tokens_is_that_of_the_record() -> None:
    tokens = runpy.run_path(str(ROOT / "benchmarks" / "tokens.py"))
    table = tokens["write_table"](read_object(ROOT / tokens["RECORD"]))
    assert table in PAGE and table.count("\n") == 1 + 20


def test_the_table_of_our_model_is_that_of_the_record() -> None:
    table = runpy.run_path(str(ROOT / "benchmarks" / "language_model" / "table.py"))
    record = read_object(ROOT / "results" / "language-model.json")
    assert table["write_table"](record) in PAGE
    assert f"{record['training']['episodes']:,} episodes" in PAGE
