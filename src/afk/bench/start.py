"""How long people wait: commands in fresh processes, with nothing compiled yet and with all that can be kept.

What JAX says of itself (``JAX_LOG_COMPILES``) tells what was traced, lowered, and compiled or loaded.
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.parse import quote
from urllib.request import urlopen

from afk.training.machine import describe_machine
from afk.training.pretrained import PRETRAINED, SHOWN


class Errand(NamedTuple):
    """Something that one waits for.

    Attributes:
        title: what it is.
        arguments: of ``afk``; ``{folder}`` is an empty folder.
        sign: a regular expression that is found in the line with which the waiting ends.
        page: what is then asked of the server whose address the line begins with; nothing if empty.
    """

    title: str
    arguments: tuple[str, ...]
    sign: str
    page: str = ""


_TASK = "qbabyai/danger+open-door"
ERRANDS = {
    "watch": Errand("`afk watch`: first line", ("watch", "pretrained", "--task", _TASK), "looks up"),
    "view": Errand(
        "`afk view`: first episode",
        ("view", "--port", "0"),
        "shows it",
        f"api/episode?task={quote(SHOWN)}&agent={PRETRAINED}",  # what the page opens with
    ),
    "eval": Errand(
        "`afk eval`: 1,000 episodes",
        ("eval", "pretrained", "--task", _TASK, "--episodes", "1000"),
        r"\bf1\b",
    ),
    "demo": Errand("`afk demo`: first episode", ("demo",), "looks up"),
    "train": Errand("`afk train`: first updates", ("train", "C", "--out", "{folder}/run"), r"/s success"),
}
_SAID = re.compile(
    r"Finished (tracing|jaxpr to MLIR module conversion|XLA compilation of) (\S+).* in ([0-9.e-]+) sec"
)
_PHASES = {
    "tracing": "tracing",
    "jaxpr to MLIR module conversion": "lowering",
    "XLA compilation of": "compiling",
}
_PATIENCE = 0.01  # seconds between two looks at what a command has said
_HEAVIEST = 6  # programs that a measurement names


def bench_start(
    names: Sequence[str],
    *,
    preset: str | None = None,
    before: Path | None = None,
    rounds: int = 1,
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Measure how long one waits, cold and then warm, several times in turn.

    Args:
        names: of `ERRANDS`.
        preset: of the training; what this machine can do if None.
        before: a folder with another copy of the package, which is measured in turn in the same run.
        rounds: how often each is measured with all that can be kept.
        say: is given what is measured next.

    Returns:
        A record: ``load``, how many processes wanted a core just before, and ``waits``, an entry for each
        measurement; see `_measure`.
    """
    load, waits = os.getloadavg()[0], []
    sources = {"now": Path(__file__).parents[2]} | ({} if before is None else {"before": before})
    for name in names:
        errand = ERRANDS[name]
        if name == "train" and preset is not None:
            errand = errand._replace(arguments=(*errand.arguments, "--preset", preset))
        with TemporaryDirectory() as one, TemporaryDirectory() as other:
            caches = dict(zip(sources, (Path(one), Path(other)), strict=False))
            for number in range(rounds + 1):
                for version, source in sources.items():
                    temperature = "warm" if number else "cold"
                    say(f"{errand.title}, {temperature}, {version}")
                    found = _measure(errand, source, caches[version])
                    waits.append(
                        {"what": name, "title": errand.title, "code": version, "cache": temperature} | found
                    )
    return {"machine": describe_machine(), "load": load, "waits": waits}


def _measure(errand: Errand, source: Path, cache: Path) -> dict[str, Any]:
    """Run a command until its sign: ``seconds``, ``cpu_seconds``, programs, and where time went.

    A ValueError with the end of what it said if it ends without the sign.
    """
    begun = time.perf_counter()
    with TemporaryDirectory() as folder, (Path(folder) / "said").open("wb") as output:
        process, said = _start(errand, source, cache, folder, output.fileno()), Path(folder) / "said"
        found = _wait_for(errand.sign, process, said)
        if found and errand.page:
            _fetch(found.split()[0] + errand.page)
        seconds = time.perf_counter() - begun
        os.kill(process.pid, signal.SIGTERM)  # which `process.terminate` would wait for
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
        lines = said.read_text().splitlines()
    if not found:
        raise ValueError(f"afk {' '.join(errand.arguments)} ended early: {' '.join(lines[-3:])}")
    cpu_seconds = usage.ru_utime + usage.ru_stime
    return {"seconds": seconds, "cpu_seconds": cpu_seconds, **_describe_programs(lines)}


def _start(errand: Errand, source: Path, cache: Path, folder: str, output: int) -> subprocess.Popen[bytes]:
    """A command in a folder, with programs of its own and everything that it says in one file."""
    known = {name: value for name, value in os.environ.items() if name != "JAX_COMPILATION_CACHE_MAX_SIZE"}
    own = {"PYTHONPATH": str(source), "PYTHONUNBUFFERED": "1"}
    kept = {"JAX_LOG_COMPILES": "1", "JAX_COMPILATION_CACHE_DIR": str(cache)}
    return subprocess.Popen(
        [sys.executable, "-m", "afk", *(each.format(folder=folder) for each in errand.arguments)],
        stdout=output,
        stderr=output,
        cwd=folder,
        env=known | own | kept,
    )


def _wait_for(sign: str, process: subprocess.Popen[bytes], said: Path) -> str:
    """The first line with a sign, whole, as soon as it is there; nothing if the process ends without."""
    line = ""
    with said.open() as lines:
        while True:
            is_over = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
            while piece := lines.readline():
                line += piece
                if line.endswith("\n"):
                    if not _SAID.search(line) and re.search(sign, line):
                        return line
                    line = ""
            if is_over:
                return ""
            time.sleep(_PATIENCE)


def _fetch(address: str) -> None:
    """Wait for a page; an OSError if there is none."""
    with urlopen(address, timeout=600) as answer:
        answer.read()


def _describe_programs(lines: Sequence[str]) -> dict[str, Any]:
    """What JAX said that it did, all of it and for the programs that took longest."""
    spent: dict[str, dict[str, float]] = {phase: defaultdict(float) for phase in _PHASES.values()}
    programs = 0
    for line in lines:
        if said := _SAID.search(line):
            phase, name = _PHASES[said[1]], re.sub(r"^jit\((.*)\)$", r"\1", said[2])
            spent[phase][name] += float(said[3])
            programs += phase == "compiling"
    total = {name: sum(times[name] for times in spent.values()) for name in {*chain(*spent.values())}}
    return {
        "programs": programs,
        **{f"{phase}_seconds": sum(times.values()) for phase, times in spent.items()},
        "heaviest": [
            {"program": name} | {phase: round(times[name], 3) for phase, times in spent.items()}
            for name in sorted(total, key=lambda name: -total[name])[:_HEAVIEST]
        ],
    }
