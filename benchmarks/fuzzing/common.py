"""What parts share: counts, and a command in a forked process."""

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

LIMIT = 300.0  # seconds after which a command hangs: on a busy machine JAX alone takes many
_TRACEBACK = "Traceback (most recent"


@dataclass
class Tally:
    """What a part came to; `examples` says what was found, a line each."""

    part: str
    tried: int = 0
    tracebacks: int = 0
    hangs: int = 0
    wrong_exit_codes: int = 0
    unclear: int = 0
    lost: int = 0
    memory: str = ""
    examples: list[str] = field(default_factory=list)

    def count(self, kind: str, example: str) -> None:
        """One more of a kind of finding."""
        setattr(self, kind, getattr(self, kind) + 1)
        self.examples.append(f"{kind}: {ascii(example)[1:-1][:300]}")
        print(self.examples[-1], file=sys.stderr, flush=True)  # parts take long


class Outcome(NamedTuple):
    """How a process ended; `code` is None if it hung, and negative if a signal ended it."""

    code: int | None
    out: str
    err: str

    @property
    def said(self) -> list[str]:
        """The lines of the error stream that are no notes."""
        return [line for line in self.err.splitlines() if line.strip() and not line.startswith("note: ")]


def judge(tally: Tally, outcome: Outcome, what: str, *, fails: bool = True, shows: bool = False) -> None:
    """Count what is wrong with a process that was given something broken.

    Args:
        tally: where it is counted.
        outcome: of the process.
        what: it was given, in words.
        fails: whether it has to fail, with one clear line; otherwise it has to go on.
        shows: whether it may show how far it is before that line.
    """
    tally.tried += 1
    errors = [line for line in outcome.said if line.startswith("error: ")]
    if outcome.code is None:
        tally.count("hangs", what)
    elif _TRACEBACK in outcome.out + outcome.err:
        tally.count("tracebacks", f"{what}: {outcome.said[-1] if outcome.said else ''}")
    elif outcome.code < 0 or bool(outcome.code) != fails:
        tally.count("wrong_exit_codes", f"{what}: exit code {outcome.code}, {' '.join(outcome.said[-1:])}")
    elif fails and not (len(errors) == 1 and (outcome.said[-1:] if shows else outcome.said) == errors):
        tally.count("unclear", f"{what}: {' | '.join(outcome.said[-3:])}")


def fork(
    work: Callable[[], None], folder: Path, *, limit: float = LIMIT, kill_after: float | None = None
) -> Outcome:
    """Do work in a child of this process, in a folder; what is imported here the child need not import.

    Args:
        work: what the child does.
        folder: where.
        limit: seconds after which it hangs.
        kill_after: seconds after which it is killed, if it is to be.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    # Pipes, since files may have to stay small in the child.
    streams = [os.pipe() for _ in ("out", "err")]
    child = os.fork()
    if not child:
        _become(work, folder, [write for _, write in streams])
    for read, write in streams:
        os.close(write)
        os.set_blocking(read, False)
    heard = [bytearray(), bytearray()]
    end = time.monotonic() + (limit if kill_after is None else kill_after)
    done, status = 0, 0
    while not done and time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        _hear(streams, heard)
        time.sleep(0.002)
    if not done:
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        _hear(streams, heard)
    for read, _ in streams:
        os.close(read)
    out, err = (each.decode(errors="replace") for each in heard)
    hung = not done and kill_after is None
    return Outcome(None if hung else os.waitstatus_to_exitcode(status), out, err)


def _hear(streams: Sequence[tuple[int, int]], heard: Sequence[bytearray]) -> None:
    """Add what was said since."""
    for (read, _), each in zip(streams, heard, strict=True):
        with suppress(BlockingIOError):
            while said := os.read(read, 65536):
                each += said


def _become(work: Callable[[], None], folder: Path, streams: Sequence[int]) -> None:
    """The child: never returns."""
    code = 1
    try:
        os.chdir(folder)
        for number, stream in enumerate(streams, 1):
            os.dup2(stream, number)
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


def contents(folder: Path) -> dict[str, bytes]:
    """What a folder holds, by path: the content of files, and where links lead; nothing of all others."""
    found: dict[str, bytes] = {}
    for path in sorted(folder.rglob("*")):
        is_link = path.is_symlink()
        held = os.readlink(path).encode() if is_link else path.read_bytes() if path.is_file() else b""
        found[str(path.relative_to(folder))] = held
    return found


def warm_up() -> None:
    """Import what most commands take, so that children need not; no device is touched."""
    import afk.cli.main
    import afk.studies.study
    import afk.training.pretrained  # noqa: F401


# A run of toy size: six lines of the log, an evaluation after the third, and one with each after that.
_CHANGES = {
    "size.width": 8,
    "size.head": 8,
    "size.view_layers": 1,
    "size.film_blocks": 1,
    "size.distinct_notes": 0,
    "settings.environments": 8,
    "settings.rollout_steps": 20,
    "settings.minibatches": 2,
    "settings.epochs": 1,
    "levels": 32,
    "log_every": 1,
    "evaluate_every": 3,
    "evaluation_episodes": 8,
    "hint_fraction": 0,
}
STEPS = 6 * 160
STUDY = {"preset": "laptop", "tasks": [["S"]], "seeds": [24], "steps": STEPS, "changes": _CHANGES}


def train_tiny(folder: str) -> tuple[str, ...]:
    """The arguments of ``afk`` that train a run of toy size in a folder."""
    changes = [each for name, value in _CHANGES.items() for each in ("--set", f"{name}={json.dumps(value)}")]
    return (
        "train",
        "S",
        "--preset",
        "laptop",
        "--steps",
        str(STEPS),
        *changes,
        "--levels",
        "8",
        "--out",
        folder,
    )


def resume(folder: str) -> tuple[str, ...]:
    """The arguments of ``afk`` that go on with it."""
    return "train", "--resume", folder, "--levels", "8"
