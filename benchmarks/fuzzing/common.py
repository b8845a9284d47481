"""What parts share: counts, and a command in a forked process."""

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

LIMIT = 90.0  # seconds after which a command hangs


@dataclass
class Tally:
    """What a part came to; `examples` says what was found, a line each."""

    part: str
    tried: int = 0
    tracebacks: int = 0
    hangs: int = 0
    wrong_exit_codes: int = 0
    unclear: int = 0
    lost_files: int = 0
    memory: str = ""
    examples: list[str] = field(default_factory=list)

    def count(self, kind: str, example: str) -> None:
        """One more of a kind of finding."""
        setattr(self, kind, getattr(self, kind) + 1)
        self.examples.append(f"{kind}: {ascii(example)[1:-1][:300]}")


class Outcome(NamedTuple):
    """How a process ended; `code` is None if it hung, and negative if a signal ended it."""

    code: int | None
    out: str
    err: str

    @property
    def said(self) -> list[str]:
        """The lines of the error stream that are no notes."""
        return [line for line in self.err.splitlines() if line.strip() and not line.startswith("note: ")]


def judge(tally: Tally, outcome: Outcome, what: str) -> None:
    """Count what is wrong with a process that was given something broken."""
    tally.tried += 1
    if outcome.code is None:
        tally.count("hangs", what)
    elif "Traceback (most recent" in outcome.out + outcome.err:
        tally.count("tracebacks", f"{what}: {outcome.said[-1] if outcome.said else ''}")
    elif outcome.code <= 0:
        tally.count("wrong_exit_codes", f"{what}: exit code {outcome.code}")
    elif not (len(outcome.said) == 1 and outcome.said[0].startswith("error: ")):
        tally.count("unclear", f"{what}: {' | '.join(outcome.said[:3])}")


def fork(work: Callable[[], None], folder: Path, *, limit: float = LIMIT) -> Outcome:
    """Do work in a child of this process, in a folder; what it imports already the child need not."""
    sys.stdout.flush()
    sys.stderr.flush()
    streams = [folder.with_name(f"{folder.name}.{name}") for name in ("out", "err")]
    child = os.fork()
    if not child:
        _become(work, folder, streams)
    end = time.monotonic() + limit
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done or time.monotonic() > end:
            break
        time.sleep(0.01)
    if not done:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    out, err = (path.read_text(errors="replace") for path in streams)
    return Outcome(os.waitstatus_to_exitcode(status) if done else None, out, err)


def _become(work: Callable[[], None], folder: Path, streams: Sequence[Path]) -> None:
    """The child: never returns."""
    code = 1
    try:
        os.chdir(folder)
        for number, path in enumerate(streams, 1):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        work()
        code = 0
    except SystemExit as ending:
        code = ending.code if isinstance(ending.code, int) else 0 if ending.code is None else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def command(*arguments: str) -> Callable[[], None]:
    """``afk`` with arguments, as work for `fork`."""

    def work() -> None:
        from afk.cli.main import main

        sys.argv = ["afk", *arguments]
        main()

    return work


def warm_up() -> None:
    """Import what most commands take, so that children need not; no device is touched."""
    import afk.cli.main
    import afk.studies.study
    import afk.training.pretrained  # noqa: F401
