"""What training left is not lost in silence: states, best agents, and folders that nothing was trained in."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import equinox as eqx
import jax.numpy as jnp
import pytest

from afk.files import write_json
from afk.learning.devices import stack
from afk.training import checkpoint, trainer
from afk.training.config import Config, read_config
from afk.training.keeping import (
    check_finite,
    check_state,
    forget_training,
    free_if_untrained,
    keep_agents,
    other_code,
)
from afk.training.log import append_log, read_log, remove_log
from afk.training.starting import first_learner, first_learners
from afk.training.trainer import start_run, train
from afk.training.update import Learner

from .tiny_run import TINY, log_row

BEST, LAST, STATE = "best-24.safetensors", "last-24.safetensors", "state.safetensors"


@pytest.fixture(scope="module")
def learner() -> Learner:
    return first_learners(TINY)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("lost", ["state", "state and log", "a link to nowhere"])
def test_a_lost_state_is_refused_and_nothing_is_touched(lost: str, learner: Learner, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    start_run(TINY, folder)
    row = log_row(updates=4)
    append_log(folder, [log_row(), row])
    keep_agents(folder, TINY, learner, [], [row])
    if lost == "state and log":
        remove_log(folder)
    if lost == "a link to nowhere":
        (folder / STATE).symlink_to(tmp_path / "nowhere")
    before = contents(folder)
    with pytest.raises(ValueError, match=r"trained for 4 updates, but its state.* is lost.* --restart"):
        next(train(folder))
    assert contents(folder) == before
    forget_training(folder)
    assert set(os.listdir(folder)) == {"config.json"}
    assert not check_state(folder, TINY, read_log(folder))


def test_a_run_that_was_killed_before_its_first_state_begins_again(learner: Learner, tmp_path: Path) -> None:
    row = log_row(updates=TINY.log_every)
    keep_agents(tmp_path, TINY, learner, [], [row])
    assert not check_state(tmp_path, TINY, [row])


def test_lines_of_another_seed_are_of_another_run(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is of another run: it has seed 7"):
        check_state(tmp_path, TINY, [log_row(seed=7)])


def _evaluated(success: float, length: float = 10.0) -> dict:
    measures = log_row()["evaluation"] | {"success": success, "episode_length": length}
    return log_row(evaluation=measures)


def test_the_best_agent_stays_though_the_log_is_lost(learner: Learner, tmp_path: Path) -> None:
    keep_agents(tmp_path, TINY, learner, [], [_evaluated(0.9)])
    best = (tmp_path / BEST).read_bytes()
    for worse in (_evaluated(0.1), _evaluated(0.9, 11.0)):
        keep_agents(tmp_path, TINY, learner, [], [worse])  # no rows: the log is lost
        assert (tmp_path / BEST).read_bytes() == best != (tmp_path / LAST).read_bytes()
    keep_agents(tmp_path, TINY, learner, [], [_evaluated(0.95)])
    assert checkpoint.read_description(tmp_path / BEST)["evaluation"]["success"] == 0.95


def test_a_best_agent_from_before_is_judged_by_the_log_or_stays(learner: Learner, tmp_path: Path) -> None:
    agent = eqx.filter(learner.agent, eqx.is_array)
    checkpoint.save(tmp_path / BEST, agent, checkpoint.describe(TINY, seed=24))
    best = (tmp_path / BEST).read_bytes()
    keep_agents(tmp_path, TINY, learner, [], [_evaluated(1.0)])
    keep_agents(tmp_path, TINY, learner, [_evaluated(0.5)], [_evaluated(0.4)])
    assert (tmp_path / BEST).read_bytes() == best
    keep_agents(tmp_path, TINY, learner, [_evaluated(0.5)], [_evaluated(0.6)])
    assert (tmp_path / BEST).read_bytes() != best


@pytest.mark.parametrize("value", [jnp.nan, jnp.inf])
def test_what_is_not_finite_is_named(value: float, learner: Learner) -> None:
    check_finite(TINY, learner, [log_row()])
    with pytest.raises(ValueError, match=r"after 160 steps of seed 24: losses.value \(settings.lear"):
        check_finite(TINY, learner, [log_row(losses={"policy": 0.1, "value": float(value)})])
    broken = eqx.tree_at(
        lambda each: each.agent.critic.layers[-1].bias, learner, replace_fn=lambda leaf: leaf.at[0].set(value)
    )
    with pytest.raises(ValueError, match="seed 24: a parameter"):
        check_finite(TINY, broken, [log_row()])


def test_only_the_seed_that_broke_down_is_named() -> None:
    both = stack([first_learner(TINY, seed) for seed in (7, 24)])
    broken = eqx.tree_at(
        lambda each: each.agent.critic.layers[-1].bias, both, replace_fn=lambda leaf: leaf.at[1].set(jnp.nan)
    )
    with pytest.raises(ValueError, match="of seed 24: a parameter"):
        check_finite(replace(TINY, seeds=(7, 24)), broken, [log_row(seed=7), log_row()])


def test_a_run_that_breaks_down_keeps_what_was_good(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    config = replace(TINY, steps=TINY.steps * 2, settings=replace(TINY.settings, learning_rate=1e30))
    _claim(folder, config)
    before = contents(folder)
    with pytest.raises(ValueError, match="training broke down") as caught:
        list(train(folder))
    assert "after 1,120 steps" in str(caught.value) and "notes" not in str(caught.value)
    assert {name: contents(folder)[name] for name in (BEST, LAST, STATE)} == {
        name: before[name] for name in (BEST, LAST, STATE)
    }


def _claim(folder: Path, config: Config) -> None:
    """Make a folder, its state included, that of another run of the same shape."""
    write_json(folder / "config.json", config.to_json())
    state = checkpoint.load(folder / STATE, first_learners(config))
    checkpoint.save(folder / STATE, state, checkpoint.describe(config))


@pytest.mark.parametrize("error", [MemoryError("no room"), ValueError("no")])
def test_a_new_run_that_fails_at_once_does_not_block_its_folder(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> None:
        raise error

    monkeypatch.setattr(trainer, "first_learners", fail)
    folder = tmp_path / "run"
    start_run(TINY, folder)
    with (
        pytest.raises(ValueError, match=r"does not fit into memory \(no room\)|^no$"),
        free_if_untrained(folder, new=True),
    ):
        next(train(folder))
    start_run(replace(TINY, levels=16), folder)  # the corrected command
    with pytest.raises(ValueError), free_if_untrained(folder, new=False):
        next(train(folder))
    assert (folder / "config.json").exists(), "a run that was there stays"


def test_a_run_that_was_killed_before_its_first_state_can_be_started_again(
    learner: Learner, tmp_path: Path
) -> None:
    start_run(TINY, tmp_path)
    start_run(TINY, tmp_path)
    append_log(tmp_path, [row := log_row(updates=TINY.log_every)])
    keep_agents(tmp_path, TINY, learner, [], [row])
    start_run(replace(TINY, preset="called"), tmp_path)
    assert read_config(tmp_path).preset == "called"
    with pytest.raises(ValueError, match=r"holds another run: steps is 960, not 7; choose .* --resume "):
        start_run(replace(TINY, steps=7), tmp_path)
    append_log(tmp_path, [log_row(updates=TINY.log_every + 1)])
    with pytest.raises(ValueError, match=r"state\.safetensors is lost"):
        start_run(TINY, tmp_path)


def test_what_is_left_of_a_kill_does_not_block_a_folder(tmp_path: Path) -> None:
    for name in (".config.json.17", ".0123456789abcdef.part", "lock"):
        (tmp_path / name).touch()
    start_run(TINY, tmp_path)
    assert set(os.listdir(tmp_path)) == {"lock", "config.json"}


def test_other_code_is_named(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert other_code(finished) == "" == other_code(tmp_path)
    here = {"afk": "9.9.9", "jax": "0.0.1"}
    monkeypatch.setattr("afk.training.keeping.describe_code", lambda: here)
    assert "not 9.9.9" in other_code(finished) and "not 0.0.1" in other_code(finished)
    checkpoint.save(tmp_path / STATE, {"ones": jnp.ones(1)}, checkpoint.describe(TINY))
    assert other_code(tmp_path) == "", "states did not say so once"
