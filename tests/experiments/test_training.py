"""Runs: what they leave behind, how they go on, and how they refuse."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from afk.agents.grid_agent import Size
from afk.experiments.config import Config, preset, read_config
from afk.experiments.train import load_agent, start_run, train
from afk.learn.ppo import Settings

TINY = Config(
    task="qbabyai/danger",
    steps=6 * 320,
    size=Size(width=8, head=8, view_layers=1, film_blocks=1, distinct_notes=0),
    settings=Settings(environments=16, steps=20, minibatches=2, epochs=1),
    levels=32,
    chunk=1,
    evaluate_every=3,
    evaluation_episodes=8,
)
_TRAIN = """
import sys
from pathlib import Path
from afk.experiments.train import train
list(train(Path(sys.argv[1])))
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Of a process that shares its compiled programs with others."""
    return os.environ | {"JAX_COMPILATION_CACHE_DIR": str(tmp_path_factory.mktemp("compiled"))}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> Path:
    """The folder of a run that nobody disturbed."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    start_run(TINY, folder)
    subprocess.run([sys.executable, "-c", _TRAIN, str(folder)], env=environment, check=True, timeout=300)
    return folder


def test_a_run_leaves_its_configuration_a_log_and_checkpoints(finished: Path) -> None:
    assert read_config(finished) == TINY
    rows = [json.loads(line) for line in (finished / "log.jsonl").read_text().splitlines()]
    assert [row["updates"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [row["steps"] for row in rows] == [320 * updates for updates in range(1, 7)]
    assert ["evaluation" in row for row in rows] == [False, False, True] * 2
    assert rows[2]["evaluation"]["episodes"] == 8
    config, agent = load_agent(finished)
    assert config == TINY and agent.size == TINY.size
    assert sorted(path.name for path in finished.iterdir()) == [
        *("best.safetensors", "config.json", "last.safetensors", "log.jsonl")
    ]


def test_a_run_that_is_killed_goes_on_to_the_same_parameters(
    finished: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "killed"
    start_run(TINY, folder)
    kills = 0
    while True:
        process = subprocess.Popen([sys.executable, "-c", _TRAIN, str(folder)], env=environment)
        checkpoint = folder / "last.safetensors"
        before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
        while kills < 2 and process.poll() is None:
            if checkpoint.exists() and checkpoint.stat().st_mtime_ns != before:
                time.sleep(random.uniform(0, 0.3))
                process.send_signal(signal.SIGKILL)
                kills += 1
                break
            time.sleep(0.01)
        if process.wait(timeout=300) != -signal.SIGKILL:
            assert process.returncode == 0
            break
    assert kills > 0
    whole, pieced = (load_file(each / "last.safetensors") for each in (finished, folder))
    assert whole.keys() == pieced.keys()
    for name, array in whole.items():
        np.testing.assert_array_equal(array, pieced[name], err_msg=name)
    assert _log(folder) == _log(finished)


def _log(folder: Path) -> list[dict]:
    """The lines of a run's log, but for how long things took."""
    rows = map(json.loads, (folder / "log.jsonl").read_text().splitlines())
    return [row | {"seconds": 0, "steps_per_second": 0} for row in rows]


def test_a_folder_in_use_is_refused_and_left_alone(finished: Path) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in finished.iterdir()}
    with pytest.raises(ValueError, match="in use"):
        start_run(TINY, finished)
    assert {path.name: path.stat().st_mtime_ns for path in finished.iterdir()} == before


@pytest.mark.parametrize("damage", ["truncated", "garbage", "another size", "no config"])
def test_broken_runs_are_refused_and_left_alone(finished: Path, tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "broken"
    start_run(replace(TINY, size=replace(TINY.size, width=12)) if damage == "another size" else TINY, folder)
    content = (finished / "last.safetensors").read_bytes()
    content = {"truncated": content[: len(content) // 2], "garbage": b"\0" * 64}.get(damage, content)
    (folder / "last.safetensors").write_bytes(content)
    if damage == "no config":
        (folder / "config.json").unlink()
    with pytest.raises(ValueError, match=r"broken|another task, agent or size|no config.json") as refusal:
        next(train(folder))
    assert "\n" not in str(refusal.value)
    assert (folder / "last.safetensors").read_bytes() == content and not (folder / "log.jsonl").exists()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"task": "qbabyai/dangre"}, "did you mean"),
        ({"agent": "akf"}, "did you mean afk"),
        ({"steps": 0}, "steps is at least 1"),
        ({"chunk": 4}, "multiple of chunk"),
    ],
)
def test_impossible_runs_are_refused(changes: dict, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        replace(TINY, **changes)


def test_presets_are_the_papers_and_a_fast_one() -> None:
    paper = preset("paper", task="qbabyai/danger", seed=42)
    assert (paper.settings.environments, paper.settings.steps, paper.settings.epochs) == (64, 40, 4)
    assert paper.settings.learning_rate == 1e-4 and paper.size == Size() and paper.seed == 42
    assert paper.updates * 2560 >= paper.steps > (paper.updates - paper.chunk) * 2560
    with pytest.raises(ValueError, match="one of paper, fast"):
        preset("slow")


def test_the_bonus_falls_at_the_end() -> None:
    config = replace(TINY, settings=replace(TINY.settings, bonus_until=0.5))
    assert [config.bonus_at(updates) for updates in (0, 3)] == [0.1, 0.1]
    assert config.bonus_at(6) == 0 < config.bonus_at(5) < 0.1
    assert [replace(TINY, agent=agent).bonus_at(0) for agent in ("query", "afk-no-bonus", "afk")] == [
        0,
        0,
        0.1,
    ]
