"""Runs on several devices, which a CPU pretends to have: each learns what it learns on one."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from afk.learning import dqn
from afk.training.changes import change
from afk.training.config import Config
from afk.training.log import read_log
from afk.training.presets import preset
from afk.training.trainer import start_run

from .tiny_run import TINY

LINES = 4
# Eight sequences a minibatch, so that eight devices have one each.
SHARED = change(TINY, {"settings.minibatches": 1, "settings.epochs": 2, "steps": LINES * 160})
# Trains runs one after the other: folder, devices and lines of the log of each.
SCRIPT = """
import sys
from contextlib import closing
from itertools import islice
from pathlib import Path
from afk.envs.qtextworld.levels import bank
from afk.training.trainer import train
from tests.small_games import small_bank
kept = []
bank._kept_bank = lambda path: kept[0] if kept else kept.append(small_bank()) or kept[0]
for run in sys.argv[1:]:
    folder, devices, lines = run.split(",")
    with closing(train(Path(folder), devices=int(devices))) as rows:
        list(islice(rows, int(lines)))
"""


def train_on(*runs: tuple[Path, int, int]) -> str:
    """Train runs where there are eight devices: folder, devices and lines of each; returns what JAX says."""
    flags = f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count=8"
    command = [sys.executable, "-c", SCRIPT, *(",".join(map(str, run)) for run in runs)]
    root = Path(__file__).parents[2]
    own = {"XLA_FLAGS": flags, "JAX_LOG_COMPILES": "1"}
    done = subprocess.run(
        command, env=os.environ | own, cwd=root, stderr=subprocess.PIPE, text=True, timeout=900
    )
    assert not done.returncode, done.stderr
    return done.stderr


def start(config: Config, *folders: Path) -> None:
    for folder in folders:
        start_run(config, folder)


def assert_same_curve(folder: Path, other: Path, tolerance: float = 1e-4) -> None:
    """The same episodes to the last one, and parameters but for rounding."""
    ours, theirs = read_log(folder), read_log(other)
    assert len(ours) == len(theirs)
    for row, expected in zip(ours, theirs, strict=True):
        assert row["episodes"] == expected["episodes"]
        assert row.get("evaluation") == expected.get("evaluation")
        assert row["training"] == pytest.approx(expected["training"], rel=1e-5)
        assert row["losses"] == pytest.approx(expected["losses"], rel=1e-3, abs=tolerance)
    found, wanted = (load_file(each / "state.safetensors") for each in (folder, other))
    for name, array in wanted.items():
        np.testing.assert_allclose(found[name], array, atol=tolerance, err_msg=name)


@pytest.mark.slow
def test_a_run_that_moves_from_eight_devices_to_one_learns_what_it_learns_on_one(tmp_path: Path) -> None:
    whole, moved = tmp_path / "whole", tmp_path / "moved"
    start(SHARED, whole, moved)
    train_on((whole, 1, LINES), (moved, 8, 2), (moved, 1, LINES - 2))
    assert_same_curve(moved, whole)


@pytest.mark.slow
def test_a_run_learns_the_same_on_two_and_on_four_devices(tmp_path: Path) -> None:
    folders = {count: tmp_path / str(count) for count in (1, 2, 4)}
    start(SHARED, *folders.values())
    said = train_on(*((folder, count, LINES) for count, folder in folders.items()))
    compiled = said.count("Finished XLA compilation of jit(_play_agents)")
    assert compiled == len(folders), "once for each number of devices, though beside the updates"
    for count in (2, 4):
        assert_same_curve(folders[count], folders[1])


@pytest.mark.slow
def test_devices_that_have_a_seed_each_learn_what_it_learns_alone(tmp_path: Path) -> None:
    both, alone = tmp_path / "both", tmp_path / "alone"
    start(replace(SHARED, seeds=(7, 24)), both)
    start(SHARED, alone)
    train_on((both, 2, LINES), (alone, 1, LINES))
    found, wanted = (load_file(each / "last-24.safetensors") for each in (both, alone))
    for name, array in wanted.items():
        np.testing.assert_allclose(found[name], array, atol=1e-5, err_msg=name)
    states = load_file(both / "state.safetensors")
    assert (states["agent.critic.layers.0.weight"][0] != states["agent.critic.layers.0.weight"][1]).any()


@pytest.mark.slow
def test_dqn_learns_the_same_on_eight_devices(tmp_path: Path) -> None:
    config = preset("paper", ["qtextworld/take-1"], steps=LINES * 3 * 16)
    config = replace(
        config,
        size=replace(config.size, width=4, head=4, view_layers=1, kernel=3, notes=4),
        settings=dqn.Settings(
            environments=8, batch=8, samples_per_step=1, capacity=512, warm_up=1, target_every=2
        ),
        levels=16,
        log_every=3,
        evaluate_every=6,
        evaluation_episodes=4,
    )
    one, eight = tmp_path / "one", tmp_path / "eight"
    start(config, one, eight)
    train_on((one, 1, LINES), (eight, 8, LINES))
    assert_same_curve(eight, one)
    assert load_file(eight / "state.safetensors")["replay.held"].sum() > 0
