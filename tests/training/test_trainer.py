"""Runs: what they leave behind, how they go on, and how they refuse."""

import json
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from afk.agents.grid_agent import GridAgent
from afk.learning.devices import stack
from afk.learning.schedules import Schedules
from afk.training.build import make_agent, play_of, schedules_of
from afk.training.config import read_config
from afk.training.evaluate import play_agent
from afk.training.levels import NETWORK, draw_training_levels, run_key
from afk.training.log import append_log, final_evaluation, read_log
from afk.training.pretrained import find_agent
from afk.training.starting import first_learner
from afk.training.trainer import compile_run, start_run, train
from afk.training.update import _run_updates

from .own_cache import own_cache
from .tiny_run import TINY, log_row


def test_a_run_leaves_its_configuration_a_log_and_checkpoints(finished: Path) -> None:
    assert read_config(finished) == TINY
    rows = [json.loads(line) for line in (finished / "log.jsonl").read_text().splitlines()]
    assert [row["updates"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [row["steps"] for row in rows] == [160 * updates for updates in range(1, 7)]
    assert all("evaluation" in row for row in rows)
    assert rows[2]["evaluation"]["episodes"] == 8
    agent = find_agent(str(finished), TINY.tasks)
    assert agent.config == TINY and agent.network.size == TINY.size and agent.seed == 24
    assert sorted(path.name for path in finished.iterdir()) == [
        *("best-24.safetensors", "config.json", "last-24.safetensors", "log.jsonl", "state.safetensors"),
        *(["tensorboard"] if find_spec("tensorboardX") else []),
    ]


def test_a_finished_run_has_nothing_left_to_do(finished: Path) -> None:
    assert list(train(finished)) == []


def test_devices_that_are_not_there_or_cannot_share_are_refused(finished: Path) -> None:
    with pytest.raises(ValueError, match="--devices is from 1 to that, not 99"):
        next(train(finished, devices=99))
    with pytest.raises(ValueError, match="--devices is from 1 to that, not 0"):
        next(train(finished, devices=0))


@pytest.mark.slow
def test_a_run_may_begin_with_an_agent_of_other_tasks(finished: Path, tmp_path: Path) -> None:
    first = find_agent(str(finished), TINY.tasks).network
    still = replace(TINY, tasks=("qbabyai/open-door",), seeds=(7,), steps=160)
    still = replace(still, settings=replace(still.settings, learning_rate=0.0))
    start_run(still, tmp_path / "run", first)
    list(train(tmp_path / "run"))
    last = find_agent(str(tmp_path / "run"), still.tasks).network
    for before, after in zip(*map(jax.tree.leaves, (first, last)), strict=True):
        np.testing.assert_array_equal(before, after)

    assert read_config(tmp_path / "run").initial_agent and not read_config(finished).initial_agent
    for name in ("state", "first"):
        (tmp_path / "run" / f"{name}.safetensors").unlink()
    with pytest.raises(ValueError, match="there is no checkpoint"):
        next(train(tmp_path / "run"))

    wide = replace(still, size=replace(still.size, width=16))
    with pytest.raises(ValueError, match="another network than afk has here"):
        start_run(wide, tmp_path / "wide", first)
    assert not (tmp_path / "wide").exists()


def test_a_mixture_is_evaluated_task_by_task(tmp_path: Path) -> None:
    tasks = ("qbabyai/danger", "qbabyai/open-door")
    start_run(replace(TINY, tasks=tasks, steps=160, evaluate_every=1), tmp_path)
    (row,) = next(train(tmp_path))
    parts = row["evaluation_by_task"]
    assert tuple(parts) == tasks and [part["episodes"] for part in parts.values()] == [4, 4]
    assert row["evaluation"]["success"] == np.mean([part["success"] for part in parts.values()])
    assert find_agent(str(tmp_path), tasks[1:]).config.tasks == tasks


def test_runs_on_any_task_and_at_any_pace_are_one_program() -> None:
    def program(task: str, learning_rate: float = 1e-3) -> str:
        settings = replace(TINY.settings, learning_rate=learning_rate, entropy_coef=learning_rate)
        config = replace(TINY, tasks=(task,), settings=settings)
        arrays, static = eqx.partition(stack([first_learner(config, 24)]), eqx.is_array)
        run = jax.jit(partial(_run_updates, config, static))
        return run.lower(arrays, draw_training_levels(config, 0), schedules_of(config, 0)).as_text()

    assert program("qbabyai/danger") == program("qbabyai/object-in-box+go-to-favorite", 1e-2)


@pytest.mark.slow
def test_what_was_compiled_ahead_is_not_compiled_again(tmp_path: Path) -> None:
    def programs() -> list[str]:
        names = sorted(path.name for path in (tmp_path / "compiled").glob("*-cache"))
        return [name for name in names if name.startswith(("jit__play_agents-", "jit__run_updates-"))]

    # A number of episodes that nothing else here has: what this process has compiled is not looked for.
    config = replace(TINY, seeds=(7,), steps=160, evaluation_episodes=7)
    with own_cache(tmp_path / "compiled", least_seconds=0):
        compile_run(config)
        ahead = programs()
        start_run(config, tmp_path / "run")
        list(train(tmp_path / "run"))
    assert len(ahead) == 2 and programs() == ahead


def test_evaluations_come_now_and_then_and_with_each_of_the_last_ten_lines() -> None:
    config = replace(TINY, steps=160 * 100, log_every=2, evaluate_every=20)
    evaluated = [updates for updates in range(2, 101, 2) if config.is_evaluated(updates)]
    assert evaluated == [20, 40, 60, 80, *range(82, 101, 2)]


def test_the_final_metric_is_the_mean_of_the_last_evaluations(finished: Path) -> None:
    rows = read_log(finished)
    lengths = [row["evaluation"]["episode_length"] for row in rows if "evaluation" in row]
    assert final_evaluation(rows)["episode_length"] == pytest.approx(np.mean(lengths))
    assert final_evaluation(rows, last=1)["episode_length"] == lengths[-1]


def test_a_network_that_gives_no_numbers_is_not_evaluated() -> None:
    network = make_agent(TINY, run_key(24, NETWORK))
    assert isinstance(network, GridAgent)
    network = eqx.tree_at(lambda agent: agent.critic.layers[-1].bias, network, jnp.full(1, jnp.nan))
    with pytest.raises(ValueError, match="gives no numbers"):
        list(play_agent(play_of(TINY), network, episodes=4, seed=0))


def test_agents_for_other_tasks_and_files_that_are_none_are_refused(finished: Path) -> None:
    with pytest.raises(ValueError, match=r"trained on qbabyai/danger, not on qbabyai/open-door; any_task"):
        find_agent(str(finished), ("qbabyai/open-door",))
    assert find_agent(str(finished), ("qbabyai/open-door",), any_task=True).seed == 24
    with pytest.raises(ValueError, match="is not the checkpoint of an agent"):
        find_agent(str(finished / "state.safetensors"), TINY.tasks)
    with pytest.raises(ValueError, match="there is no agent nowhere"):
        find_agent("nowhere", TINY.tasks)
    with pytest.raises(ValueError, match="unknown task 'qbabyai/nowhere'"):
        find_agent(str(finished), ("qbabyai/nowhere",))


def test_a_folder_that_holds_something_is_refused_and_left_alone(finished: Path, tmp_path: Path) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in finished.iterdir()}
    with pytest.raises(ValueError, match=r"holds this run already; .* by afk train --resume "):
        start_run(TINY, finished)
    with pytest.raises(ValueError, match=r"holds another run: levels is 32, not 16; .* --resume "):
        start_run(replace(TINY, levels=16), finished)
    assert {path.name: path.stat().st_mtime_ns for path in finished.iterdir()} == before
    (tmp_path / "letter.txt").write_text("dear")
    for path in (tmp_path, tmp_path / "letter.txt"):
        with pytest.raises(ValueError, match="is not an empty folder"):
            start_run(TINY, path)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_a_line_that_was_cut_off_is_not_there_and_a_broken_one_is_named(tmp_path: Path) -> None:
    assert read_log(tmp_path) == []
    whole = [log_row(), log_row(seed=7), log_row(updates=2)]
    append_log(tmp_path, whole[:2])
    append_log(tmp_path, whole[2:])
    assert read_log(tmp_path) == whole
    path, kept = tmp_path / "log.jsonl", (tmp_path / "log.jsonl").read_text()
    for half in ("{", '{"seed": 24, "upd', '{"seed": 24}'):
        path.write_text(kept + half)
        assert read_log(tmp_path) == whole
    path.write_text('{"seed": 24, "upd\n' + kept)
    with pytest.raises(ValueError, match=r"log\.jsonl cannot be read") as caught:
        read_log(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_run_whose_log_is_broken_is_refused(tmp_path: Path) -> None:
    start_run(TINY, tmp_path / "run")
    (tmp_path / "run" / "log.jsonl").write_text('{"seed": 24, "upd\n')
    with pytest.raises(ValueError, match=r"log\.jsonl cannot be read"):
        next(train(tmp_path / "run"))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("truncated", r"state\.safetensors is broken"),
        ("garbage", r"state\.safetensors is broken"),
        ("another size", r"of another run: size\.width is 8, not 12"),
        ("another agent", "of another run: agent is afk, not afk-no-bonus"),
        ("no config", r"it has no config\.json"),
    ],
)
def test_broken_runs_are_refused_and_left_alone(
    finished: Path, tmp_path: Path, damage: str, said: str
) -> None:
    folder = tmp_path / "run"
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
    with pytest.raises(ValueError, match=said) as refusal:
        next(train(folder))
    assert "\n" not in str(refusal.value)
    assert (folder / "state.safetensors").read_bytes() == content and not (folder / "log.jsonl").exists()


def test_the_pace_falls_at_the_end() -> None:
    config = replace(TINY, settings=replace(TINY.settings, bonus_until=0.5, anneal_after=0.0))
    bonuses, *annealed, prices = zip(
        *(map(float, schedules_of(config, updates)) for updates in range(7)), strict=True
    )
    assert bonuses == pytest.approx([0.1, 0.1, 0.1, 0.1, 0.2 / 3, 0.1 / 3, 0], abs=1e-6)
    assert set(prices) == {1.0}, "a question costs what it costs unless a configuration says from when on"
    for name, values in zip(Schedules._fields[1:-1], annealed, strict=True):
        first = getattr(config.settings, name)
        expected = [first * left / 6 for left in range(6, -1, -1)]
        assert first and values == pytest.approx(expected, abs=1e-9)
        assert all(getattr(schedules_of(TINY, updates), name) == values[0] for updates in range(7))
    bonus = {
        agent: float(schedules_of(replace(TINY, agent=agent), 0).bonus)
        for agent in ("query", "afk-no-bonus", "afk")
    }
    assert bonus == pytest.approx({"query": 0, "afk-no-bonus": 0, "afk": 0.1})
