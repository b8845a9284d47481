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

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load_file

from afk.agents.agent import Size
from afk.agents.grid_agent import GridAgent
from afk.experiments.config import Config, preset, read_config
from afk.experiments.evaluate import play_agent
from afk.experiments.shelf import find_agent
from afk.experiments.tensorboard import encode_events, event_rows
from afk.experiments.train import final_evaluation, first_agent, read_log, start_run, train
from afk.learn.ppo import Settings

TINY = Config(
    tasks=("qbabyai/danger",),
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
    run(folder, environment)
    return folder


def run(folder: Path, environment: dict[str, str]) -> None:
    """Train in a process of its own."""
    subprocess.run([sys.executable, "-c", _TRAIN, str(folder)], env=environment, check=True, timeout=300)


def test_a_run_leaves_its_configuration_a_log_and_checkpoints(finished: Path) -> None:
    assert read_config(finished) == TINY
    rows = [json.loads(line) for line in (finished / "log.jsonl").read_text().splitlines()]
    assert [row["updates"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [row["steps"] for row in rows] == [320 * updates for updates in range(1, 7)]
    assert ["evaluation" in row for row in rows] == [False, False, True] * 2
    assert rows[2]["evaluation"]["episodes"] == 8
    agent = find_agent(str(finished), TINY.tasks)
    assert agent.config == TINY and agent.network.size == TINY.size and agent.seed == 24
    assert sorted(path.name for path in finished.iterdir()) == [
        *("best-24.safetensors", "config.json", "last-24.safetensors", "log.jsonl", "state.safetensors"),
        "tensorboard",
    ]


def test_a_run_that_is_killed_goes_on_to_the_same_parameters(
    finished: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "killed"
    start_run(TINY, folder)
    kills = 0
    while True:
        process = subprocess.Popen([sys.executable, "-c", _TRAIN, str(folder)], env=environment)
        checkpoint = folder / "state.safetensors"
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
    whole, pieced = (load_file(each / "state.safetensors") for each in (finished, folder))
    assert whole.keys() == pieced.keys()
    for name, array in whole.items():
        np.testing.assert_array_equal(array, pieced[name], err_msg=name)
    assert _log(folder) == _log(finished)


def _log(folder: Path) -> list[dict]:
    """The lines of a run's log, but for how long things took."""
    rows = map(json.loads, (folder / "log.jsonl").read_text().splitlines())
    return [row | {"seconds": 0, "training_seconds": 0, "steps_per_second": 0} for row in rows]


def test_seeds_side_by_side_learn_what_each_learns_alone(
    finished: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    config = replace(TINY, seeds=(42, 24))
    start_run(config, tmp_path)
    run(tmp_path, environment)
    together, alone = (load_file(each / "last-24.safetensors") for each in (tmp_path, finished))
    other = load_file(tmp_path / "last-42.safetensors")
    for name, array in alone.items():
        np.testing.assert_allclose(together[name], array, atol=1e-5, err_msg=name)
    assert any((other[name] != array).any() for name, array in together.items())
    rows = read_log(tmp_path)
    assert [(row["seed"], row["updates"]) for row in rows[:4]] == [(42, 1), (24, 1), (42, 2), (24, 2)]
    assert (tmp_path / "tensorboard" / "seed-42").is_dir()
    with pytest.raises(ValueError, match=r"several agents; name one of .*best-24"):
        find_agent(str(tmp_path), TINY.tasks)


def test_four_devices_learn_what_one_does(
    finished: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    flags = f"{environment.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4"
    start_run(TINY, tmp_path)
    run(tmp_path, environment | {"XLA_FLAGS": flags})
    many, one = (load_file(each / "state.safetensors") for each in (tmp_path, finished))
    for name, array in one.items():
        np.testing.assert_allclose(many[name], array, atol=1e-5, err_msg=name)


def test_a_finished_run_has_nothing_left_to_do(finished: Path) -> None:
    assert list(train(finished)) == []


def test_devices_that_are_not_there_or_cannot_share_are_refused(finished: Path) -> None:
    with pytest.raises(ValueError, match="--devices is from 1 to that, not 99"):
        next(train(finished, devices=99))
    with pytest.raises(ValueError, match="--devices is from 1 to that, not 0"):
        next(train(finished, devices=0))


def test_a_mixture_is_evaluated_task_by_task(tmp_path: Path) -> None:
    tasks = ("qbabyai/danger", "qbabyai/open-door")
    start_run(replace(TINY, tasks=tasks, steps=320, evaluate_every=1), tmp_path)
    (row,) = next(train(tmp_path))
    parts = row["evaluation_by_task"]
    assert tuple(parts) == tasks and [part["episodes"] for part in parts.values()] == [4, 4]
    assert row["evaluation"]["success"] == np.mean([part["success"] for part in parts.values()])
    assert find_agent(str(tmp_path), tasks[1:]).config.tasks == tasks


def test_what_tensorboard_reads_is_the_log(finished: Path) -> None:
    events = finished / "tensorboard" / "seed-24" / "events.out.tfevents.0.afk"
    assert events.read_bytes() == encode_events(event_rows(read_log(finished)))


def test_the_final_metric_is_the_mean_of_the_last_evaluations(finished: Path) -> None:
    rows = read_log(finished)
    lengths = [row["evaluation"]["episode_length"] for row in rows if "evaluation" in row]
    assert final_evaluation(rows)["episode_length"] == pytest.approx(np.mean(lengths))
    assert final_evaluation(rows, last=1)["episode_length"] == lengths[-1]


def test_a_network_that_gives_no_numbers_is_not_evaluated() -> None:
    network = first_agent(TINY, 24)
    assert isinstance(network, GridAgent)
    network = eqx.tree_at(lambda agent: agent.critic.layers[-1].bias, network, jnp.full(1, jnp.nan))
    with pytest.raises(ValueError, match="gives no numbers"):
        list(play_agent(TINY.play, network, episodes=4, seed=0))


def test_agents_for_other_tasks_and_files_that_are_none_are_refused(finished: Path) -> None:
    with pytest.raises(ValueError, match=r"trained on qbabyai/danger, not on qbabyai/open-door; --any-task"):
        find_agent(str(finished), ("qbabyai/open-door",))
    assert find_agent(str(finished), ("qbabyai/open-door",), any_task=True).seed == 24
    with pytest.raises(ValueError, match="is not the checkpoint of an agent"):
        find_agent(str(finished / "state.safetensors"), TINY.tasks)
    with pytest.raises(ValueError, match="there is no agent nowhere"):
        find_agent("nowhere", TINY.tasks)


def test_ctrl_c_stops_at_a_checkpoint_and_says_how_to_go_on(
    finished: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    start_run(TINY, tmp_path)
    command = [sys.executable, "-m", "afk", "train", "--resume", str(tmp_path)]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "state.safetensors").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 130
    assert f"stopped; go on with: afk train --resume {tmp_path}" in said.splitlines()
    assert 0 < len(read_log(tmp_path)) < 6
    run(tmp_path, environment)
    assert _log(tmp_path) == _log(finished)


def test_a_full_disk_is_one_clear_line_and_nothing_half_written(
    environment: dict[str, str], tmp_path: Path
) -> None:
    start_run(TINY, tmp_path)
    limited = f"ulimit -f 8; exec {sys.executable} -m afk train --resume {tmp_path}"
    process = subprocess.run(
        ["bash", "-c", limited], env=environment, capture_output=True, text=True, timeout=300
    )
    assert process.returncode == 2
    assert next(line for line in process.stderr.splitlines() if line.startswith("error: ")).endswith(
        "too large"
    )
    assert not list(tmp_path.glob("*.safetensors"))
    assert not list(tmp_path.rglob(".*"))


def test_a_folder_in_use_is_refused_and_left_alone(finished: Path) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in finished.iterdir()}
    with pytest.raises(ValueError, match="in use"):
        start_run(TINY, finished)
    assert {path.name: path.stat().st_mtime_ns for path in finished.iterdir()} == before


def test_a_broken_log_is_named(finished: Path, tmp_path: Path) -> None:
    start_run(TINY, tmp_path / "run")
    (tmp_path / "run" / "log.jsonl").write_text('{"seed": 24, "upd')
    with pytest.raises(ValueError, match=r"log\.jsonl cannot be read"):
        next(train(tmp_path / "run"))


@pytest.mark.parametrize("damage", ["truncated", "garbage", "another size", "another agent", "no config"])
def test_broken_runs_are_refused_and_left_alone(finished: Path, tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "broken"
    others = {
        "another size": replace(TINY, size=replace(TINY.size, width=12)),
        "another agent": replace(TINY, agent="afk-no-bonus"),
    }
    start_run(others.get(damage, TINY), folder)
    content = (finished / "state.safetensors").read_bytes()
    content = {"truncated": content[: len(content) // 2], "garbage": b"\0" * 64}.get(damage, content)
    (folder / "state.safetensors").write_bytes(content)
    if damage == "no config":
        (folder / "config.json").unlink()
    with pytest.raises(
        ValueError, match=r"broken|another task, agent or size|agent is afk, not|no config.json"
    ) as refusal:
        next(train(folder))
    assert "\n" not in str(refusal.value)
    assert (folder / "state.safetensors").read_bytes() == content and not (folder / "log.jsonl").exists()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"tasks": ("qbabyai/dangre",)}, "did you mean"),
        ({"tasks": ()}, "at least one"),
        ({"seeds": (1, 1)}, "different numbers"),
        ({"seeds": (2**32,)}, "below 2\\*\\*32"),
        ({"n_gram": 3}, "not n = 3"),
        ({"agent": "akf"}, "did you mean afk"),
        ({"steps": 0}, "steps is at least 1"),
        ({"chunk": 4}, "multiple of chunk"),
    ],
)
def test_impossible_runs_are_refused(changes: dict, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        replace(TINY, **changes)


def test_presets_are_the_papers_and_ours() -> None:
    paper = preset("paper", ["qbabyai/danger"], seeds=(42,))
    assert isinstance(paper.settings, Settings)
    assert (paper.settings.environments, paper.settings.steps, paper.settings.epochs) == (64, 40, 4)
    assert paper.settings.learning_rate == 1e-4 and paper.size == Size() and paper.seeds == (42,)
    assert paper.updates * 2560 >= paper.steps > (paper.updates - paper.chunk) * 2560
    assert paper.n_gram == 2 and preset("paper", ["qbabyai/open-door"]).n_gram == 1
    with pytest.raises(ValueError, match="one of paper, fast, laptop"):
        preset("slow", ["qbabyai/danger"])


def test_bonus_and_zeal_fall_at_the_end() -> None:
    config = replace(TINY, settings=replace(TINY.settings, bonus_until=0.5, settle_after=0.0))
    bonuses, zeals = zip(*(map(float, config.pace_at(updates)) for updates in range(7)), strict=True)
    assert bonuses == pytest.approx([0.1, 0.1, 0.1, 0.1, 0.2 / 3, 0.1 / 3, 0], abs=1e-6)
    assert zeals == pytest.approx([1, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6, 0], abs=1e-6)
    assert all(TINY.pace_at(updates).zeal == 1 for updates in range(7))
    bonus = {
        agent: float(replace(TINY, agent=agent).pace_at(0).bonus)
        for agent in ("query", "afk-no-bonus", "afk")
    }
    assert bonus == pytest.approx({"query": 0, "afk-no-bonus": 0, "afk": 0.1})
