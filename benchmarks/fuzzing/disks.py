"""Disks that are full, read-only, or gone: what was whole before stays so."""

import ctypes
import os
import random
import resource
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

from .common import Tally, command, contents, fork, judge, resume, train_tiny
from .files import make_whole

_PASS_OVER = 1 << 1  # CAP_DAC_OVERRIDE
Work = Callable[[], None]


def fuzz_disks(place: Path, seed: int, most: int | None) -> Tally:
    """Give commands disks that fail them.

    Args:
        place: a folder to work in.
        seed: what is drawn with it: how large files may be, and when a folder goes.
        most: how many are tried; all if None.
    """
    tally, rng = Tally("disk faults"), random.Random(seed)
    whole, here = place / "whole", place / "here"
    make_whole(whole)
    cases = _list_cases(rng)
    rng.shuffle(cases)
    for what, work, fails in cases[:most]:
        _let_go(here)
        shutil.copytree(whole, here, symlinks=True)
        kept = contents(here / "run")
        outcome = fork(work, here)
        judge(tally, outcome, what, fails=fails, shows=True)
        if "gone" in what or outcome.code == 0:
            continue
        left = contents(here / "run")
        for path, before in kept.items():
            # The log grows by lines that its state may lack; all else is as it was, or of a later line.
            grew = path == "log.jsonl" and left[path].startswith(before)
            if left.get(path) != before and path != "lock" and not grew:
                _check_whole(tally, f"{what}: {path}", here / "run" / path)
        for path in left.keys() - kept.keys():
            if path.endswith(".part") or path == "record.json":
                tally.count("lost", f"{what}: {path} was left")
    return tally


def _list_cases(rng: random.Random) -> list[tuple[str, Work, bool]]:
    """What fails, in words; the work; and whether that has to fail."""
    cases: list[tuple[str, Work, bool]] = []
    go_on, begin = command(*resume("run")), command(*train_tiny("new"))
    for size in (0, 1, *(rng.randrange(2, 30_000) for _ in range(8))):
        cases.append((f"no file over {size} bytes, going on", partial(_limited, size, go_on), True))
    for size in (0, 1, *(rng.randrange(2, 30_000) for _ in range(3))):
        cases.append((f"no file over {size} bytes, beginning", partial(_limited, size, begin), True))
    writers = {
        "a GIF": ("watch", "run/best-24.safetensors", "--task", "S", "--gif", "episode.gif"),
        "tables": ("reproduce", "table-1", "--from", "records", "--out", "tables"),
    }
    for what, arguments in writers.items():
        cases.append((f"no file over 10 bytes, {what}", partial(_limited, 10, command(*arguments)), True))
        read_only = partial(
            _read_only, "closed", command(*(each.replace("tables", "closed/t") for each in arguments))
        )
        if "tables" in arguments:
            cases.append((f"a folder for reading only, {what}", read_only, True))
    for what, arguments in {"list": ("tasks",), "table": _REPRODUCE, "measures": _EVAL}.items():
        cases.append((f"a full output, {what}", partial(_to_full, command(*arguments)), True))
    for what, arguments in {"a run": resume("run"), "a new run": train_tiny("run/new")}.items():
        cases.append(
            (f"a folder for reading only, {what}", partial(_read_only, "run", command(*arguments)), True)
        )
    for path in ("run/config.json/new", "/dev/null/new", "/proc/new"):
        cases.append((f"a new run in {path}", command(*train_tiny(path)), True))
    for line in (1, 2, 3):
        cases.append((f"a folder that is gone after line {line}", partial(_removed, line, go_on), True))
    cases.append(("a working directory that is gone", partial(_nowhere, command(*_REPRODUCE)), True))
    for what in ("run/config.json", "/proc/cache", "/dev/null"):
        cases.append((f"compiled programs to be kept in {what}", partial(_cached_in, what, go_on), False))
    return cases


_REPRODUCE = ("reproduce", "table-1", "--from", "records")
_EVAL = ("eval", "run", "--task", "S", "--episodes", "8", "--json")


def _limited(size: int, work: Work) -> None:
    """With room for so many bytes a file; programs are not kept, which would take more."""
    _keep_nothing()
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    work()


def _to_full(work: Work) -> None:
    """With an output that is full."""
    os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
    work()


def _read_only(folder: str, work: Work) -> None:
    """With a folder that is for reading only."""
    _keep_nothing()
    Path(folder).mkdir(exist_ok=True)
    for path in (*Path(folder).rglob("*"), Path(folder)):
        path.chmod(0o555 if path.is_dir() else 0o444)
    _heed_permissions()
    work()


def _heed_permissions() -> None:
    """Give up root's right to pass over permissions; everybody else has none (capset(2), version 3)."""
    libc = ctypes.CDLL(None)
    header, rights = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    libc.capget(header, rights)
    rights[0] &= ~_PASS_OVER  # of the effective ones
    libc.capset(header, rights)


def _removed(line: int, work: Work) -> None:
    """With a folder that somebody removes once so many lines were added to its log."""
    from afk.training import trainer

    left, append = line, trainer.append_log

    def remove(folder: Path, rows: list) -> None:
        nonlocal left
        left -= 1
        if not left:
            shutil.rmtree(folder)
        append(folder, rows)

    trainer.append_log = remove
    work()


def _nowhere(work: Work) -> None:
    """In a folder that is no longer there."""
    Path("nowhere").mkdir()
    os.chdir("nowhere")
    Path("../nowhere").resolve().rmdir()
    work()


def _cached_in(folder: str, work: Work) -> None:
    """With a cache that cannot be written."""
    import jax

    jax.config.update("jax_compilation_cache_dir", str(Path(folder).absolute()))
    work()


def _keep_nothing() -> None:
    import jax

    jax.config.update("jax_persistent_cache_min_compile_time_secs", 1e6)


def _let_go(here: Path) -> None:
    """Remove a folder, whatever may be done there."""
    for path in (here, *here.rglob("*")):
        if path.is_dir():
            path.chmod(0o755)
    shutil.rmtree(here, ignore_errors=True)


def _check_whole(tally: Tally, what: str, path: Path) -> None:
    """Whether a file of arrays can be read."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            found = len(file.keys())
    except (SafetensorError, OSError):
        found = 0
    if not found:
        tally.count("lost", f"{what} is broken")
