"""Runs that are stopped, and runs in other company: the same parameters in the end."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from afk.training.log import read_log
from afk.training.pretrained import find_agent
from afk.training.trainer import start_run

from .tiny_run import TINY, TRAIN, train_apart

pytestmark = pytest.mark.slow


def test_a_run_that_is_stopped_and_killed_goes_on_to_the_same_parameters(
    finished: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "pieced"
    start_run(TINY, folder)
    command = [sys.executable, "-m", "afk", "train", "--resume", str(folder)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    _wait_for_checkpoint(process, folder)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 130
    assert f"stopped; go on with: afk train --resume {folder}" in said.splitlines()
    rows = read_log(folder)
    assert 0 < len(rows) < 6 and load_file(folder / "state.safetensors")["updates"] == rows[-1]["updates"]

    process = subprocess.Popen([sys.executable, "-c", TRAIN, str(folder)])
    _wait_for_checkpoint(process, folder)
    time.sleep(random.uniform(0, 0.3))
    process.send_signal(signal.SIGKILL)
    assert process.wait(timeout=300) in (-signal.SIGKILL, 0)

    train_apart(folder)
    whole, pieced = (load_file(each / "state.safetensors") for each in (finished, folder))
    assert whole.keys() == pieced.keys()
    for name, array in whole.items():
        np.testing.assert_array_equal(array, pieced[name], err_msg=name)
    assert _log(folder) == _log(finished)


def _wait_for_checkpoint(process: subprocess.Popen, folder: Path) -> None:
    """Wait until a process writes another state, or ends."""

    def written() -> int:
        return state.stat().st_mtime_ns if state.exists() else 0

    state = folder / "state.safetensors"
    before = written()
    while process.poll() is None and written() == before:
        time.sleep(0.01)


def _log(folder: Path) -> list[dict]:
    """The lines of a run's log, but for how long things took."""
    rows = map(json.loads, (folder / "log.jsonl").read_text().splitlines())
    return [row | {"seconds": 0, "training_seconds": 0, "steps_per_second": 0} for row in rows]


def test_seeds_side_by_side_on_four_devices_learn_what_each_learns_alone_on_one(
    finished: Path, tmp_path: Path
) -> None:
    config = replace(TINY, seeds=(42, 24))
    start_run(config, tmp_path)
    flags = f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count=4"
    train_apart(tmp_path, XLA_FLAGS=flags)
    together, alone = (load_file(each / "last-24.safetensors") for each in (tmp_path, finished))
    other = load_file(tmp_path / "last-42.safetensors")
    for name, array in alone.items():
        np.testing.assert_allclose(together[name], array, atol=1e-5, err_msg=name)
    assert any((other[name] != array).any() for name, array in together.items())
    rows = read_log(tmp_path)
    assert [(row["seed"], row["updates"]) for row in rows[:4]] == [(42, 1), (24, 1), (42, 2), (24, 2)]
    assert (tmp_path / "tensorboard" / "seed-42").is_dir() == (find_spec("tensorboardX") is not None)
    with pytest.raises(ValueError, match=r"several agents; name one of .*best-24"):
        find_agent(str(tmp_path), TINY.tasks)


def test_a_full_disk_is_one_clear_line_and_nothing_half_written(tmp_path: Path) -> None:
    start_run(TINY, tmp_path)
    limited = f"ulimit -f 8; exec {sys.executable} -m afk train --resume {tmp_path}"
    # Half a program would be all that it could leave for others.
    reading = os.environ | {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "1000"}
    process = subprocess.run(
        ["bash", "-c", limited], env=reading, capture_output=True, text=True, timeout=300
    )
    assert process.returncode == 2
    assert next(line for line in process.stderr.splitlines() if line.startswith("error: ")).endswith(
        "too large"
    )
    assert not list(tmp_path.glob("*.safetensors"))
    assert not list(tmp_path.rglob(".*"))
