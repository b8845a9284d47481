"""The command ``afk``: in the process that tests, which has JAX already, or in one of its own."""

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest


class Done(NamedTuple):
    """How a command ended.

    Attributes:
        code: its exit code, None for success.
        out: what it printed.
        err: what it wrote to the error stream.
    """

    code: int | str | None
    out: str
    err: str


Run = Callable[..., Done]


def make_run(capture: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """A function that runs ``afk`` with arguments, and with what is typed into it."""
    from afk.cli import main as cli

    def run(*arguments: str, typed: str = "") -> Done:
        monkeypatch.setattr(sys, "argv", ["afk", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        said = capture.readouterr()
        return Done(stopped.value.code, said.out, said.err)

    return run


def run_apart(
    *arguments: str, folder: Path | None = None, typed: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``afk`` with arguments in a process of its own."""
    command = [sys.executable, "-m", "afk", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, cwd=folder, input=typed
    )
