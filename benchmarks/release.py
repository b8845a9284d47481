"""Build what is released, check it, and try it out as somebody who installs it would.

python benchmarks/release.py --tests core                              # what `.ci/run` does
python benchmarks/release.py --python python3.11 python3.12 python3.13 --tests fast

Wheel and source distribution are built and checked. Then each Python gets a fresh environment with the
newest versions that pip chooses, and one with the lowest that pyproject.toml allows. The wheel is installed
there and used in a folder without sources: the version, a pretrained agent, the tables, and tests. It ends
with exit code 1 if anything failed.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

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
TRIALS = (
    ["afk", "--version"],
    ["afk", "eval", "pretrained", "--task", "qbabyai/danger", "--episodes", "8"],
    ["afk", "reproduce", "pretrained"],
)


def requirements(which: str, *, tests: str) -> list[str]:
    """What to install beside the wheel: nothing fixed for the newest versions, every bound for the lowest."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    bounds = [each.partition(";")[0].strip() for each in project["optional-dependencies"]["dev"]]
    if tests == "none":
        bounds = []
    elif tests == "core":
        bounds = [each for each in bounds if each.partition(">=")[0] in TESTERS]
    if which == "newest":
        return bounds
    return [each.replace(">=", "==") for each in (*project["dependencies"], *bounds)]


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


def try_out(python: str, which: str, wheel: Path, tests: str, place: Path, log: Path) -> None:
    """Install a wheel in a fresh environment and use it there; a CalledProcessError if something fails."""
    do(python, "-m", "venv", place / "venv", folder=place, log=log)
    programs = place / "venv" / "bin"
    wanted = requirements(which, tests=tests)
    do(programs / "pip", "install", "--quiet", wheel, *wanted, folder=place, log=log)
    for name, *arguments in TRIALS:
        do(programs / name, *arguments, folder=place, log=log)
    if tests != "none":
        for name in ("tests", "results", "docs", "examples", "benchmarks"):
            shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
        for path in [each for each in ROOT.iterdir() if each.is_file() and each.name[0] != "."]:
            shutil.copy(path, place)
        do(programs / "python", "-m", "pytest", *TESTS[tests], folder=place, log=log)


def main() -> int:
    """Build, try out, and say how each trial went."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", nargs="+", default=[sys.executable], help="interpreters to try")
    parser.add_argument("--set", nargs="+", choices=SETS, default=SETS, help="versions to install")
    parser.add_argument("--tests", choices=TESTS, default="fast", help="what is tested")
    parser.add_argument("--logs", type=Path, default=ROOT / "build" / "release", help="where logs are kept")
    options = parser.parse_args()
    options.logs.mkdir(parents=True, exist_ok=True)
    logs, failed = options.logs.resolve(), False
    for log in logs.glob("*.log"):
        log.unlink()
    with TemporaryDirectory() as folder:
        wheel = build(Path(folder), logs / "build.log")
        print(f"built and checked: {wheel.name} ({wheel.stat().st_size / 1e6:.1f} MB)", flush=True)
        for python in options.python:
            for which in options.set:
                name, start = f"{Path(python).name}-{which}", time.monotonic()
                place = Path(folder) / name
                place.mkdir()
                try:
                    try_out(python, which, wheel, options.tests, place, logs / f"{name}.log")
                    outcome = "works"
                except subprocess.CalledProcessError as error:
                    failed, outcome = True, f"fails: {' '.join(map(str, error.cmd))[:80]}; see {logs}"
                shutil.rmtree(place)
                print(f"{name:24} {time.monotonic() - start:6.0f} s  {outcome}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
