"""Kills: a run is killed at random moments, half of them in the middle of a write, until it is over."""

import os
import random
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from safetensors.numpy import load_file

from .common import Tally, command, fork, judge, resume, train_tiny

_EACH = 10  # kills of a run at most, before it may end
_WRITES = 20  # of a whole run, about


def fuzz_kills(place: Path, seed: int, most: int | None) -> Tally:
    """Kill runs, and compare what each came to in the end with what one came to that nobody killed.

    Args:
        place: a folder to work in.
        seed: what the moments are drawn with.
        most: how many kills; 60 if None.
    """
    tally, rng = Tally("kills"), random.Random(seed)
    start = time.monotonic()
    whole = place / "whole"
    whole.mkdir()
    judge(tally, fork(_train(0, *train_tiny("run")), whole), "nobody killed it", fails=False)
    if tally.examples:
        return tally
    seconds, number = time.monotonic() - start, 0
    tally.tried = 0  # kills alone
    left = most or 60
    while tally.tried < left:
        here, number = place / f"run-{number}", number + 1
        here.mkdir()
        for _ in range(min(_EACH, left - tally.tried)):
            state = (here / "run" / "state.safetensors").exists()
            # Before its first state the same command begins a run again, as well as --resume goes on with it.
            begun = (here / "run" / "config.json").exists()
            again = state or (begun and rng.random() < 0.5)
            arguments = resume("run") if again else train_tiny("run")
            write = rng.randrange(1, _WRITES) if rng.random() < 0.5 else 0
            before = _logged(here)
            outcome = fork(
                _train(write, *arguments), here, kill_after=None if write else rng.uniform(0.2, 1.2) * seconds
            )
            if outcome.code == 0:
                break
            tally.tried += 1
            if outcome.code != -signal.SIGKILL:
                tally.count("wrong_exit_codes", f"{arguments[:3]} after a kill: {outcome.said[-1:]}")
            if (here / "run" / "state.safetensors").exists() < state or (
                state and _logged(here) < before - 1
            ):
                tally.count(
                    "lost", f"a kill took a state, or lines of the log: {before}, now {_logged(here)}"
                )
        begun = (here / "run" / "config.json").exists()
        ended = fork(_train(0, *(resume("run") if begun else train_tiny("run"))), here)
        if ended.code != 0:
            tally.count("wrong_exit_codes", f"the end after kills: {ended.said[-1:]}")
        _compare(tally, whole, here)
    return tally


def _train(write: int, *arguments: str) -> Callable[[], None]:
    """Train, with a state after each line of the log; killed half way through the nth write, if any."""
    return partial(_train_and_die, write, command(*arguments))


def _train_and_die(write: int, train: Callable[[], None]) -> None:
    import afk.files
    from afk.training import trainer

    left = write

    def write_half(descriptor: int, content: bytes) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.write(descriptor, content[: len(content) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        whole(descriptor, content)

    whole, afk.files._write = afk.files._write, write_half
    trainer._SAVE_SECONDS = 0
    train()


def _logged(here: Path) -> int:
    """Whole lines of the log."""
    path = here / "run" / "log.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _compare(tally: Tally, whole: Path, here: Path) -> None:
    """Whether a run left the same files as the one that nobody killed, with the same arrays in them."""
    ours, wanted = ({path.name: path for path in (each / "run").iterdir()} for each in (here, whole))
    if ours.keys() != wanted.keys():
        tally.count("lost", f"after kills there are {sorted(ours.keys() ^ wanted.keys())[:4]}")
    for name in ours.keys() & wanted.keys():
        if name.endswith(".safetensors") and _arrays(ours[name]) != _arrays(wanted[name]):
            tally.count("lost", f"after kills {name} holds other parameters")
    if _logged(here) != _logged(whole):
        tally.count("lost", f"after kills the log has {_logged(here)} lines, not {_logged(whole)}")


def _arrays(path: Path) -> dict[str, tuple[str, bytes]]:
    """The arrays of a file to the last bit; the header of equal ones is in any order."""
    return {name: (str(array.dtype), array.tobytes()) for name, array in load_file(path).items()}
