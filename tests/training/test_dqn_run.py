"""Runs of the paper's agent for Q-TextWorld: folder, log and checkpoints as of any run, and as exact."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
from safetensors.numpy import load_file

from afk.agents.text_agent import TextAgent
from afk.agents.text_reader import TextReader
from afk.envs.qtextworld.levels import bank as bank_module
from afk.learning import dqn, ppo
from afk.training import checkpoint
from afk.training import trainer as train_module
from afk.training.build import _make_play, agent_shape, play_of
from afk.training.changes import change
from afk.training.config import Config, read_config
from afk.training.evaluate import play_agent, summarise
from afk.training.log import read_log
from afk.training.presets import preset
from afk.training.pretrained import find_agent
from afk.training.trainer import start_run, train

from ..small_games import small_bank

pytestmark = pytest.mark.slow
TASK = "qtextworld/take-1"
LINES = 4


@pytest.fixture(scope="module", autouse=True)
def kept() -> Iterator[None]:
    """For these tests only: a small bank as the kept one, a state after every line of the log."""
    bank, patch = small_bank(), pytest.MonkeyPatch()
    patch.setattr(bank_module, "_kept_bank", lambda path: bank)
    patch.setattr(train_module, "_SAVE_SECONDS", 0)
    _make_play.cache_clear()
    yield
    patch.undo()
    _make_play.cache_clear()


def tiny() -> Config:
    """The preset `paper` with little of everything."""
    config = preset("paper", [TASK], steps=LINES * 3 * 12)
    settings = dqn.Settings(
        environments=6, batch=4, samples_per_step=1 / 3, capacity=256, warm_up=1, target_every=2
    )
    return replace(
        config,
        size=replace(config.size, width=4, head=4, view_layers=1, kernel=3, notes=4),
        settings=settings,
        levels=16,
        log_every=3,
        evaluate_every=6,
        evaluation_episodes=4,
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run that nobody disturbed, and a copy of it as it was in the middle."""
    folder, halfway = tmp_path_factory.mktemp("runs") / "whole", tmp_path_factory.mktemp("runs") / "halfway"
    start_run(tiny(), folder)
    for rows in train(folder):
        if rows[0]["updates"] == tiny().updates // 2:
            copytree(folder, halfway)
    return folder, halfway


def test_a_run_leaves_what_every_run_does(runs: tuple[Path, Path]) -> None:
    whole, _ = runs
    assert read_config(whole) == tiny()
    rows = read_log(whole)
    assert [row["steps"] for row in rows] == [36, 72, 108, 144]
    assert all("evaluation" in row for row in rows)
    assert all(np.isfinite(list(row["losses"].values())).all() for row in rows)
    assert json.loads((whole / "config.json").read_text())["settings"]["algorithm"] == "dqn"
    assert {"best-24.safetensors", "last-24.safetensors", "state.safetensors"} < {
        path.name for path in whole.iterdir()
    }
    agent = find_agent(str(whole / "last-24.safetensors"), (TASK,))
    assert isinstance(agent.network, TextReader)
    summary = summarise(play_agent(play_of(agent.config), agent.network, episodes=4, seed=0))
    assert 0 <= summary["success"] <= 1 and summary["episodes"] == 4


def test_a_run_that_was_stopped_goes_on_to_the_same_parameters_and_the_same_replay(
    runs: tuple[Path, Path],
) -> None:
    _, halfway = runs
    assert len(read_log(halfway)) == LINES // 2
    assert len(list(train(halfway))) == LINES // 2
    expected, pieced = (load_file(folder / "state.safetensors") for folder in runs)
    assert expected.keys() == pieced.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(array, pieced[name], err_msg=name)
    assert expected["replay.held"].sum() > 0 and (expected["updates"] == 3 * LINES).all()
    changing = ("seconds", "training_seconds", "steps_per_second")
    logs = [[{**row, **dict.fromkeys(changing)} for row in read_log(folder)] for folder in runs]
    assert logs[0] == logs[1]


@pytest.mark.parametrize("agent", ["no-query", "query", "afk"])
def test_the_papers_network_is_the_papers(agent: str) -> None:
    arrays = agent_shape(preset("paper", [TASK], agent=agent))
    assert isinstance(arrays, TextReader)
    assert arrays.encoder.embedding.shape[1] == 128
    assert arrays.heads.function.weight.shape == (128, 7)
    assert (arrays.heads.adjective.bias.size, arrays.heads.noun.bias.size) == (38, 45)


def test_settings_decide_about_algorithm_and_network() -> None:
    config, fast = preset("paper", [TASK]), preset("fast", [TASK])
    assert isinstance(fast.settings, ppo.Settings)
    assert isinstance(agent_shape(fast), TextAgent) and isinstance(agent_shape(config), TextReader)
    for each in (config, fast):
        assert Config.from_json(json.loads(json.dumps(each.to_json()))) == each
    old = fast.to_json()
    assert old["settings"].pop("algorithm") == "ppo"
    assert Config.from_json(old) == fast


def test_a_checkpoint_from_before_there_was_dqn_belongs_to_its_run(tmp_path: Path) -> None:
    fast, path, arrays = (
        preset("fast", [TASK]),
        tmp_path / "state.safetensors",
        {"ones": np.ones(3, np.float32)},
    )
    old = fast.to_json()
    del old["settings"]["algorithm"]
    checkpoint.save(path, arrays, {"config": old})
    checkpoint.check_origin(path, fast)
    with pytest.raises(ValueError, match=f"of another run: steps is {fast.steps}, not 7"):
        checkpoint.check_origin(path, replace(fast, steps=7))
    wide = change(fast, {"settings.environments": 512})
    with pytest.raises(ValueError, match=r"of another run: settings\.environments is \d+, not 512$"):
        checkpoint.check_origin(path, wide)


def test_impossible_runs_are_refused() -> None:
    with pytest.raises(ValueError, match="too small for 20 episodes of 20 steps"):
        Config((TASK,), settings=dqn.Settings(capacity=800))
    content = preset("paper", [TASK]).to_json()
    content["settings"]["algorithm"] = "sarsa"
    with pytest.raises(ValueError, match="unknown algorithm 'sarsa'; it is one of ppo, dqn"):
        Config.from_json(content)
