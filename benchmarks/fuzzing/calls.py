"""Malformed calls of the command line: every slot of every command with values that it must refuse."""

import random
import subprocess
import sys
from pathlib import Path

from .common import LIMIT, Outcome, Tally, command, fork, judge

_ODD = "\udcff\udcfe"  # not UTF-8
_LONG = "x" * 5000
_BAD = {
    "name": (
        "",
        " ",
        "nosuch",
        "qbabyai/",
        "../..",
        "/etc/passwd",
        _LONG,
        _ODD,
        "%s",
        "日本",
        "C,S",
        "a\nb",
        "-1",
    ),
    "count": ("", "x", "-1", "1.5", "nan", "inf", "9" * 400, _ODD, "0x10", "None", " "),
    "steps": ("", "x", "-1", "nan", "inf", "0", "K", "-5M", _ODD, "1.5.2", "0x10", " "),
    "number": ("", "x", "nan", "inf", "-inf", "1e999", _ODD, "1,5", "[]"),
    "records": ("nosuch", "file", _LONG, _ODD, "/dev/null", "loop", "nosuch/../.."),
    "path": ("", "nosuch", "folder", "file", _LONG, _ODD, "/dev/null", "loop", "nosuch/../.."),
}
_TRAIN = ("train", "S", "--print-config")
_SLOTS = {
    "name": (
        ("{}",),
        ("play", "{}"),
        ("eval", "expert", "--task", "{}"),
        ("eval", "{}", "--task", "S"),
        ("watch", "{}", "--task", "S"),
        ("watch", "pretrained", "--task", "{}"),
        ("train", "{}", "--print-config"),
        (*_TRAIN, "--agent", "{}"),
        (*_TRAIN, "--preset", "{}"),
        (*_TRAIN, "--set", "{}"),
        (*_TRAIN, "--from", "{}"),
        ("reproduce", "{}"),
        ("reproduce", "table-1", "--run", "--preset", "{}"),
        ("reproduce", "table-1", "--run", "--agent", "{}"),
        ("reproduce", "table-1", "--run", "--task", "{}"),
        ("sweep", "{}", "--ray", "local"),
        ("sweep", "table-1", "--ray", "local", "--preset", "{}"),
        ("bench", "{}"),
        ("bench", "env", "--task", "{}"),
        ("bench", "train", "--preset", "{}"),
        ("textworld", "{}"),
        ("view", "--host", "{}"),
    ),
    "count": (
        ("play", "S", "--seed", "{}"),
        ("eval", "expert", "--task", "S", "--episodes", "{}"),
        ("eval", "expert", "--task", "S", "--seed", "{}"),
        ("watch", "pretrained", "--task", "S", "--seed", "{}"),
        (*_TRAIN, "--seed", "{}"),
        (*_TRAIN, "--n-gram", "{}"),
        (*_TRAIN, "--levels", "{}"),
        (*_TRAIN, "--devices", "{}"),
        ("bench", "env", "--envs", "{}"),
        ("view", "--port", "{}"),
    ),
    "steps": ((*_TRAIN, "--steps", "{}"), ("reproduce", "table-1", "--run", "--budget", "{}")),
    "number": (
        (*_TRAIN, "--bonus", "{}"),
        (*_TRAIN, "--bonus-until", "{}"),
        (*_TRAIN, "--hint-fraction", "{}"),
        (*_TRAIN, "--random-start-fraction", "{}"),
        (*_TRAIN, "--alpha", "{}"),
    ),
    "records": (("reproduce", "table-1", "--from", "{}"),),
    "path": (
        ("train", "--resume", "{}"),
        ("view", "--checkpoint", "{}"),
        ("watch", "pretrained", "--task", "S", "--gif", "{}"),
        ("eval", "{}", "--task", "S"),
    ),
}
_CLOSED = ("afk tasks >&-", "afk tasks >/dev/full", "afk play nosuch <&-", "afk eval expert <&- >&-")


def list_calls() -> list[tuple[str, ...]]:
    """All calls, of which none can be carried out."""
    return [
        tuple(part.replace("{}", value) for part in slot)
        for kind, slots in _SLOTS.items()
        for slot in slots
        for value in _BAD[kind]
    ]


def fuzz_calls(place: Path, seed: int, most: int | None) -> Tally:
    """Make the calls in forks of this process, and every twentieth in a process of its own, too.

    Args:
        place: a folder to work in.
        seed: what the order is drawn with.
        most: how many calls are made; all if None.
    """
    tally, calls = Tally("malformed calls"), list_calls()
    random.Random(seed).shuffle(calls)
    folder = place / "calls"
    (folder / "folder").mkdir(parents=True)
    (folder / "file").write_bytes(b"\x00\xff{")
    (folder / "loop").symlink_to("loop")
    before = _listing(folder)
    for call in calls[:most]:
        judge(tally, fork(command(*call), folder), " ".join(call))
    for call in calls[:most:20]:
        judge(tally, _run([sys.executable, "-m", "afk", *call], folder), "apart: " + " ".join(call))
    for line in _CLOSED[:most]:
        shell = ["sh", "-c", line.replace("afk", f"{sys.executable} -m afk", 1)]
        judge(tally, _run(shell, folder), line)
    for name in _listing(folder) ^ before:
        tally.count("lost", f"{name} came or went")
    return tally


def _listing(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def _run(line: list[str], folder: Path) -> Outcome:
    """A process of its own."""
    try:
        done = subprocess.run(
            line, capture_output=True, text=True, errors="replace", timeout=LIMIT, check=False, cwd=folder
        )
    except subprocess.TimeoutExpired:
        return Outcome(None, "", "")
    return Outcome(done.returncode, done.stdout, done.stderr)
