"""The command line where streams are closed or full, and where Ctrl-C comes early."""

import subprocess
import sys

import pytest

INTERRUPTED = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a process in the background ignores
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
sys.argv = ["afk", "eval", "expert", "--task", "S"]
from afk.__main__ import main
main()
"""


def run_in_shell(command: str) -> subprocess.CompletedProcess[str]:
    """Run a line of the shell in which ``afk`` is the command."""
    line = command.replace("afk", f"{sys.executable} -m afk", 1)
    return subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("afk tasks >&-", "the standard output is closed; send it to /dev/null"),
        ("afk tasks <&- >&-", "the standard output is closed"),
        ("afk tasks >/dev/full", "No space left on device"),
    ],
)
def test_what_cannot_be_printed_is_one_line(command: str, said: str) -> None:
    done = run_in_shell(command)
    assert done.returncode == 2 and said in done.stderr
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1


def test_a_closed_input_has_no_lines() -> None:
    done = run_in_shell("afk play S <&-")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("ended before the first step\n")


def test_nothing_is_said_to_a_closed_error_stream() -> None:
    done = run_in_shell("afk play nothing 2>&-")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


@pytest.mark.parametrize("module", ["typer", "jaxlib"])
def test_ctrl_c_as_modules_are_imported_ends_quietly(module: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED.format(module=module)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
