"""Sweeps on a cluster of several processes: what kills do to them, and what they leave behind."""

import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from afk.studies.record import RunRecord, merge_records, read_record
from afk.studies.study import RECORD
from afk.training.log import read_log

from ..training.tiny_run import TINY_PRESET

needs_ray = pytest.mark.skipif(
    find_spec("ray") is None, reason="ray is not installed: pip install '.[sweep]'"
)
pytestmark = pytest.mark.slow
SEEDS = (24, 7)
# The command with a preset of toy size, which only the driver knows: workers train what it has started.
TINY = TINY_PRESET | {"steps": 5 * 160, "evaluate_every": 4}
DRIVER = f"""
from afk.cli.main import main
from afk.studies import study
from afk.training import presets
from afk.training.preset_rules import Rule

presets.PRESETS["qbabyai"] = {{"any": ("tiny",)}}
presets.RULES = (Rule(("tiny",), "qbabyai", "any", {TINY!r}),)
study.FRESH_LEVELS = 8
main()
"""
# The same without a cluster: what workers do, one seed after the other.
ALONE = (
    DRIVER.replace("main()\n", "")
    + """
import sys
from pathlib import Path
from afk.studies.cluster import Resources
from afk.studies.sweep import train_seed

for seed in map(int, sys.argv[2:]):
    cell = presets.preset("tiny", ["S"], agent="no-query", seeds=(seed,))
    assert train_seed(cell, study.run_folder(Path(sys.argv[1]), cell), 8, Resources()) is None
"""
)


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    """Of processes that have a cluster for themselves."""
    return os.environ | {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_USAGE_STATS_ENABLED": "0",
    }


@pytest.fixture(scope="module")
def trained_alone(
    environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
    """A process that trains every seed by itself, without a cluster, and where it does."""
    place = tmp_path_factory.mktemp("undisturbed")
    command = [sys.executable, "-c", ALONE, str(place), *map(str, SEEDS)]
    process = subprocess.Popen(command, env=environment, text=True)
    yield place, process
    process.kill()
    process.wait()


@pytest.fixture(scope="module")
def cluster(environment: dict[str, str]) -> Iterator[str]:
    """The address of a cluster of two nodes with a core each, all on this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"127.0.0.1:{port}"
    start = [str(Path(sys.executable).parent / "ray"), "start", "--block", "--num-cpus=1"]
    start += ["--node-ip-address=127.0.0.1", "--object-store-memory=100000000"]
    head = [*start, "--head", f"--port={port}", "--include-dashboard=false"]
    nodes = [_start(head, environment)]
    _wait(lambda: _answers(port), nodes[0])
    nodes.append(_start([*start, f"--address={address}"], environment))
    yield address
    for node in reversed(nodes):
        node.terminate()
        node.wait(timeout=60)


@pytest.fixture(scope="module")
def undisturbed(trained_alone: tuple[Path, subprocess.Popen[str]], cluster: str) -> Path:
    """Where every seed was trained by itself; meanwhile the cluster came up, which mostly waits."""
    del cluster
    place, process = trained_alone
    assert process.wait(timeout=200) == 0
    return place


def _start(command: list[str], environment: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True
    )


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _drive(place: Path, address: str, environment: dict[str, str]) -> subprocess.Popen[str]:
    """Start the driver of a sweep."""
    study = place / "study.json"
    content = {"tasks": ["S"], "agents": ["no-query"], "seeds": SEEDS, "preset": "tiny"}
    study.write_text(json.dumps(content))
    command = [sys.executable, "-c", DRIVER, "sweep", str(study), "--ray", address]
    command += ["--runs", str(place / "runs"), "--from", str(place / "results")]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


def _wait(done: Callable[[], Any], process: subprocess.Popen[str]) -> Any:
    """What a function gives as soon as it gives something, while a process lives."""
    deadline = time.monotonic() + 200
    while not (found := done()):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    return found


def _in_training(place: Path) -> dict[int, Path]:
    """Folders of runs that have a checkpoint and no record, by the process that trains them."""
    found = {}
    for folder in (place / "runs").glob("*--seeds-*/"):
        if (folder / "state.safetensors").exists() and not (folder / RECORD).exists():
            holder = re.match(r"process (\d+) on ", (folder / "lock").read_text())
            if holder:
                found[int(holder[1])] = folder
    return found


def _folder(runs: Path, seed: int) -> Path:
    (found,) = runs.glob(f"*--seeds-{seed}")
    return found


def _without_times(record: RunRecord) -> RunRecord:
    seeds = tuple(sorted(record.seeds, key=lambda each: each.seed))  # they come as they end
    config = record.config | {"seeds": [each.seed for each in seeds]}
    times = dict.fromkeys(("seconds", "training_seconds", "compile_seconds", "steps_per_second"), 0)
    return replace(record, config=config, seeds=seeds, **times)


@needs_ray
def test_a_sweep_survives_the_loss_of_a_worker_and_of_its_driver(
    undisturbed: Path, cluster: str, environment: dict[str, str], tmp_path: Path
) -> None:
    driver = _drive(tmp_path, cluster, environment)
    _wait((tmp_path / "runs" / "lock").exists, driver)
    other = _drive(tmp_path, cluster, environment)
    worker, folder = next(iter(_wait(lambda: _in_training(tmp_path), driver).items()))
    os.kill(worker, signal.SIGKILL)
    done = len(read_log(folder))
    _, said = other.communicate(timeout=100)
    assert other.returncode == 2 and "runs is in use by process" in said.splitlines()[-1], (
        "one driver at a time"
    )

    follower = _wait(
        lambda: {pid for pid, each in _in_training(tmp_path).items() if each == folder} - {worker}, driver
    )
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    assert follower and 0 < done < 5, "it was killed in the middle"
    early = [read_record(path) for path in (tmp_path / "results" / "runs").glob("*.json")]
    killed = int(folder.name.rpartition("-")[2])
    assert killed not in {seed.seed for record in early for seed in record.seeds}

    driver = _drive(tmp_path, "local", environment)  # another cluster: all state is in files
    _, said = driver.communicate(timeout=300)
    assert driver.returncode == 0, said
    alone = [read_record(_folder(undisturbed, seed) / RECORD) for seed in SEEDS]
    (path,) = (tmp_path / "results" / "runs").glob("*.json")
    gathered = read_record(path)
    assert path.stem == gathered.name and path.name.startswith("tiny--no-query--S--")
    assert _without_times(gathered) == _without_times(merge_records(alone))
    for seed in SEEDS:
        folders = _folder(tmp_path / "runs", seed), _folder(undisturbed, seed)
        pieced, whole = (load_file(each / f"last-{seed}.safetensors") for each in folders)
        for name, array in whole.items():
            np.testing.assert_array_equal(array, pieced[name], err_msg=name)

    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "study.json"]
    before = {path: path.stat().st_mtime_ns for path in files if path != tmp_path / "runs" / "lock"}
    driver = _drive(tmp_path, "nowhere:1", environment)  # it is done: nobody is asked to do anything
    _, said = driver.communicate(timeout=100)
    assert driver.returncode == 0 and "recorded: " not in said, said
    assert {path: path.stat().st_mtime_ns for path in before} == before
