"""Build what is released, check it, and try it out as somebody who installs it would.

python benchmarks/release.py --tests core                              # what `.ci/run` does
python benchmarks/release.py --python python3.11 python3.12 python3.13 --tests fast

Wheel and source distribution are built and checked. Then each Python gets a fresh environment with the
newest versions that pip chooses, and one with the lowest that pyproject.toml allows. The wheel is installed
there and used in a folder without sources: the version, a pretrained agent, the tables, and tests; with
`--whole` also the demonstration, and style and types of the sources. With `--extras` the wheel is also
installed with each extra for language models alone, some of which clash with what we develop with, and that
extra is tested. It ends with exit code 1 if anything failed. With `--record` what was seen is kept in
results/versions.json, and the table of all that is printed.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from afk.files import read_json, write_json

ROOT = Path(__file__).parents[1]
SETS = ("newest", "lowest")
TESTERS = (
    "hypothesis",
    "pytest",
    "pytest-xdist",
    "matplotlib",
    "starlette",
    "uvicorn",
    "httpx",
    "tensorboardX",
)
# What versions could change: programs, files, checkpoints, the command line.
CORE = ("test_language.py", "test_files.py", "envs/test_registry.py", "training/test_checkpoint.py")
TESTS = {
    "none": [],
    "core": [*(f"tests/{name}" for name in CORE), "-m", "not slow"],
    "fast": ["tests", "-m", "not slow"],
    "all": ["tests"],
}
# Extras of their own: what each brings, and what tests it.
EXTRAS = {
    "llm": ("openai", ["tests/play/test_models.py", "-k", "official_client"]),
    "mcp": ("mcp", ["tests/play/test_mcp.py"]),
    "inspect": ("inspect_ai", ["tests/play/test_inspect.py"]),
}
DEMONSTRATION = ["afk", "demo"]
LINT = (["ruff", "check", "."], ["ruff", "format", "--check", "."], ["lint-imports", "--no-cache"])
RECORDS = ROOT / "results" / "versions.json"
NAMED = ("jax", "equinox", "numpy", "gymnasium", "typer")
VERSIONS = """
import importlib.metadata, json, platform, sys
versions = {name: importlib.metadata.version(name) for name in sys.argv[1:]}
print(json.dumps({"python": platform.python_version(), **versions}))
"""
TRIALS = (
    ["afk", "--version"],
    ["afk", "eval", "pretrained", "--task", "qbabyai/danger", "--episodes", "8"],
    ["afk", "reproduce", "pretrained"],
)


def requirements(which: str, *, tests: str) -> list[str]:
    """What to install beside the wheel: nothing fixed for the newest versions, every bound for the lowest."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    bounds = project["optional-dependencies"]["dev"]
    if tests == "none":
        bounds = []
    elif tests == "core":
        bounds = [each for each in bounds if each.partition(">=")[0] in TESTERS]
    if which == "newest":
        return bounds
    # The bound itself, but not that of a Python in the condition behind it.
    return [each.replace(">=", "==", 1) for each in (*project["dependencies"], *bounds)]


def do(*command: str | Path, folder: Path, log: Path) -> None:
    """Run a command, what it says in a log; a CalledProcessError if it fails."""
    # Neither the sources nor packages of the environment that this runs in.
    environment = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")
    }
    with log.open("a") as said:
        said.write(f"+ {' '.join(map(str, command))}\n")
        said.flush()
        subprocess.run(command, cwd=folder, env=environment, stdout=said, stderr=said, check=True)


def build(place: Path, log: Path) -> Path:
    """Build and check wheel and source distribution in a folder; returns the wheel."""
    tools, target = place / "tools", place / "dist"
    do(sys.executable, "-m", "venv", tools, folder=place, log=log)
    do(tools / "bin/pip", "install", "--quiet", "build", "twine", folder=place, log=log)
    do(tools / "bin/python", "-m", "build", "--outdir", target, ROOT, folder=place, log=log)
    do(tools / "bin/twine", "check", "--strict", *sorted(target.iterdir()), folder=place, log=log)
    return next(target.glob("*.whl"))


def try_out(
    python: str, which: str, wheel: Path, options: argparse.Namespace, place: Path, log: Path
) -> None:
    """Install a wheel in a fresh environment and use it there; a CalledProcessError if something fails."""
    programs = install(python, str(wheel), *requirements(which, tests=options.tests), place=place, log=log)
    for name, *arguments in (*TRIALS, DEMONSTRATION) if options.whole else TRIALS:
        do(programs / name, *arguments, folder=place, log=log)
    if options.whole:
        for name, *arguments in LINT:
            do(programs / name, *arguments, folder=ROOT, log=log)
        do(programs / "basedpyright", "--pythonpath", programs / "python", folder=ROOT, log=log)
    if options.tests != "none":
        run_tests(programs, TESTS[options.tests], place, log)


def try_extra(python: str, extra: str, wheel: Path, place: Path, log: Path) -> None:
    """Install a wheel with one extra and nothing else that it can do without, and test that extra."""
    module, tests = EXTRAS[extra]
    programs = install(
        python, f"{wheel}[{extra}]", "hypothesis", "pytest", "pytest-xdist", place=place, log=log
    )
    do(programs / "python", "-c", f"import {module}", folder=place, log=log)  # tests without it are skipped
    run_tests(programs, tests, place, log)


def install(python: str, *packages: str, place: Path, log: Path) -> Path:
    """Packages in a fresh environment; returns the folder of its programs."""
    do(python, "-m", "venv", place / "venv", folder=place, log=log)
    programs = place / "venv" / "bin"
    do(programs / "pip", "install", "--quiet", *packages, folder=place, log=log)
    return programs


def run_tests(programs: Path, tests: list[str], place: Path, log: Path) -> None:
    """Tests away from the sources, with what they read."""
    for name in ("tests", "results", "docs", "examples", "benchmarks"):
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in [each for each in ROOT.iterdir() if each.is_file() and each.name[0] != "."]:
        shutil.copy(path, place)
    do(programs / "python", "-m", "pytest", *tests, folder=place, log=log)


def versions(python: Path) -> dict[str, str]:
    """The versions of Python and of what matters most in an environment; nothing if it has none."""
    said = subprocess.run([python, "-c", VERSIONS, *NAMED], capture_output=True, text=True)
    return json.loads(said.stdout) if said.returncode == 0 else {}


def summary(log: Path) -> str:
    """What pytest said in the end, but the time: `12 passed, 1 skipped`; empty if it did not get there."""
    found = re.findall(r"^(\d+ (?:passed|failed|skipped).*?) in [\d.]+s", log.read_text(), re.MULTILINE)
    return found[-1] if found else ""


def keep(rows: list[dict[str, str]]) -> None:
    """Rows beside those of other environments in the record, and all of them printed as a table."""
    known = read_json(RECORDS)["environments"] if RECORDS.exists() else []
    place = {(row["python"].rpartition(".")[0], row["set"]): row for row in (*known, *rows)}
    kept = [place[each] for each in sorted(place)]
    write_json(
        RECORDS, {"what": "The wheel in fresh environments: benchmarks/release.py", "environments": kept}
    )
    columns = ("python", "set", *NAMED, "done", "tests", "outcome")
    for row in (columns, ["---"] * len(columns), *([each[name] for name in columns] for each in kept)):
        print("|", " | ".join(row), "|")


def main() -> int:
    """Build, try out, and say how each trial went."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", nargs="+", default=[sys.executable], help="interpreters to try")
    parser.add_argument("--set", nargs="+", choices=SETS, default=SETS, help="versions to install")
    parser.add_argument("--tests", choices=TESTS, default="fast", help="what is tested")
    parser.add_argument("--whole", action="store_true", help="demonstration, style and types, too")
    parser.add_argument("--extras", action="store_true", help="each extra for language models alone, too")
    parser.add_argument("--record", action="store_true", help=f"keep what was seen in {RECORDS.name}")
    parser.add_argument("--logs", type=Path, default=ROOT / "build" / "release", help="where logs are kept")
    options = parser.parse_args()
    if options.whole and options.tests not in ("fast", "all"):
        parser.error("--whole needs --tests fast or all, which install what style and types are checked with")
    options.logs.mkdir(parents=True, exist_ok=True)
    logs, rows, extras = options.logs.resolve(), [], []
    for log in logs.glob("*.log"):
        log.unlink()
    with TemporaryDirectory() as folder:
        wheel = build(Path(folder), logs / "build.log")
        print(f"built and checked: {wheel.name} ({wheel.stat().st_size / 1e6:.1f} MB)", flush=True)
        for python in options.python:
            for which in options.set:
                name = f"{Path(python).name}-{which}"
                with prepared(Path(folder), logs, name) as (place, log):
                    outcome = attempt(name, logs, try_out, python, which, wheel, options, place, log)
                    row = {"set": which, "done": "tests, demo, lint" if options.whole else "tests"}
                    row |= {"tests": summary(log), "outcome": outcome}
                    rows.append(versions(place / "venv" / "bin" / "python") | row)
        for extra in EXTRAS if options.extras else ():
            with prepared(Path(folder), logs, extra) as (place, log):
                extras.append(attempt(extra, logs, try_extra, sys.executable, extra, wheel, place, log))
    if options.record:
        keep([row for row in rows if "python" in row])
    return int(any(outcome != "works" for outcome in (*extras, *(row["outcome"] for row in rows))))


@contextmanager
def prepared(folder: Path, logs: Path, name: str) -> Iterator[tuple[Path, Path]]:
    """A place for one trial, which is gone afterwards, and its log."""
    place = folder / name
    place.mkdir()
    yield place, logs / f"{name}.log"
    shutil.rmtree(place)


def attempt(name: str, logs: Path, trial: Callable[..., None], *arguments: Any) -> str:
    """Do a trial and say how it went, and how long it took: `works` or `fails`."""
    start, outcome = time.monotonic(), "works"
    try:
        trial(*arguments)
    except subprocess.CalledProcessError as error:
        outcome = f"fails: {' '.join(map(str, error.cmd))[:80]}; see {logs}"
    print(f"{name:24} {time.monotonic() - start:6.0f} s  {outcome}", flush=True)
    return outcome.partition(":")[0]


if __name__ == "__main__":
    sys.exit(main())
