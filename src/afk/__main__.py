"""``python -m afk`` and the command ``afk``: what has to be done before anything large is imported."""

import os
import sys

from afk.cli.interrupts import leave_at_once


def main() -> None:
    """Import the command line, and run a command."""
    _open_closed_streams()
    with leave_at_once():
        from afk.cli.main import main as run_command
    run_command()


def _open_closed_streams() -> None:
    """Put nothing in the place of a closed input or error stream, and refuse a closed output.

    Otherwise the next file that is opened would have the stream's number, and get what is printed.
    """
    is_silent = sys.stdout is None
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free, which is this
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115  (open until the process ends)
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115
    if is_silent:
        print("error: the standard output is closed; send it to /dev/null to read nothing", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
