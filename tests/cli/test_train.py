"""``afk train`` as a user meets it: what it would train, and what it refuses to."""

import json
import re
import sys
from dataclasses import fields
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from afk.studies.record import read_record
from afk.training.changes import change
from afk.training.checkpoint import digest
from afk.training.config import Config
from afk.training.log import read_log
from afk.training.presets import preset
from afk.training.pretrained import PRETRAINED, find_agent
from afk.training.trainer import start_run

from ..command import Run
from ..training.tiny_run import add_tiny_preset, log_row

DANGER = "qbabyai/danger"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a run is written that has no other folder."""
    monkeypatch.chdir(tmp_path)


def test_a_run_is_printed_and_nothing_is_written(run: Run, tmp_path: Path) -> None:
    options = ("--agent", "afk-plus", "--preset", "laptop", "--seed", "3", "--seed", "4", "--steps", "5K")
    options += ("--hint-fraction", "0.25", "--random-start-fraction", "0.75", "--alpha", "0.5")
    options += ("--bonus", "0.01", "--bonus-until", "0.3", "--potential-based-bonus")
    done = run("train", "C", *options, "--set", "settings.entropy_coef=0.07", "--print-config")
    assert done.code in (None, 0) and done.err == ""
    printed = json.loads(done.out)
    assert list(printed) == ["identity", *(field.name for field in fields(Config))]
    identity, config = printed.pop("identity"), Config.from_json(printed)
    assert config.to_json() == printed and config.identity == identity
    assert config.tasks == ("qbabyai/object-in-box",) and config.agent == "afk-plus"
    assert config.seeds == (3, 4) and config.steps == 5_000 and config.preset == "laptop"
    assert (config.hint_fraction, config.random_start_fraction, config.alpha) == (0.25, 0.75, 0.5)
    settings = config.settings
    assert (settings.bonus, settings.bonus_until, settings.potential_based_bonus) == (0.01, 0.3, True)
    assert settings.entropy_coef == 0.07
    assert not list(tmp_path.iterdir()), "nothing is left behind"


def test_without_options_the_preset_is_printed(run: Run, tmp_path: Path) -> None:
    done = run("train", "CS", "--preset", "paper", "--out", str(tmp_path / "run"), "--print-config")
    config = preset("paper", ["CS"])
    assert json.loads(done.out) == {"identity": config.identity} | config.to_json()
    assert not list(tmp_path.iterdir()), "nothing is left behind"


def test_a_file_of_values_is_trained_with_and_options_override_it(run: Run, tmp_path: Path) -> None:
    values = {"tasks": ["S"], "agent": "query", "preset": "laptop", "hint_fraction": 0.0}
    values |= {"steps": 5_000, "size": {"width": 16}, "settings": {"gae_lambda": 0.5}}
    (tmp_path / "mine.json").write_text(json.dumps(values))
    printed = json.loads(run("train", "--config", "mine.json", "--steps", "6K", "--print-config").out)
    expected = change(
        preset("laptop", ["S"], agent="query", steps=6_000), {"size.width": 16, "settings.gae_lambda": 0.5}
    )
    assert printed == {"identity": expected.identity} | expected.to_json()
    # The names that `afk config` prints are understood as well.
    named = values | {"size": {}, "settings.gae_lambda": 0.5, "size.width": 16, "settings": {}}
    (tmp_path / "named.json").write_text(json.dumps(named))
    assert (
        json.loads(run("train", "--config", "named.json", "--steps", "6K", "--print-config").out) == printed
    )
    # What was printed is such a file, too; and with another algorithm the settings are its own.
    (tmp_path / "printed.json").write_text(json.dumps(printed))
    assert json.loads(run("train", "--config", "printed.json", "--print-config").out) == printed
    (tmp_path / "other.json").write_text(json.dumps({"settings": {"algorithm": "dqn", "batch": 32}}))
    options = ("--preset", "laptop", "--config", "other.json", "--print-config")
    settings = json.loads(run("train", "take-1", *options).out)["settings"]
    assert settings["algorithm"] == "dqn" and settings["batch"] == 32 and settings["multi_step"] == 3


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"settings": {"lr": 1}}, "a run has no 'settings.lr'; did you mean settings.learning_rate?"),
        ({"setings": {}, "stepps": 3}, "a run has no 'stepps'; did you mean steps?"),
        ({"settings": 3}, "mine.json: settings has another form in the config.json of a run"),
        ({"tasks": "S"}, "mine.json: tasks has another form in the config.json of a run"),
        ({"settings": {"gae_lambda": "high"}}, "gae_lambda is a finite number, not 'high'"),
        ({"steps": 0}, "steps"),
    ],
)
def test_a_file_of_values_that_makes_no_sense_is_one_line(
    values: dict[str, Any], said: str, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "mine.json").write_text(json.dumps(values))
    done = run("train", "S", "--config", "mine.json", "--print-config")
    assert done.code == 2 and said in done.err and done.err.count("\n") == 1


def test_a_run_that_is_there_is_printed_as_it_is(run: Run, tmp_path: Path) -> None:
    config, path = preset("laptop", ["S"], steps=1_234), tmp_path / "mine" / "config.json"
    path.parent.mkdir()
    path.write_text(json.dumps(config.to_json()))
    done = run("train", "--resume", "mine", "--print-config")
    assert json.loads(done.out) == {"identity": config.identity} | config.to_json()
    assert list(path.parent.iterdir()) == [path]


def test_the_agent_to_begin_with_is_part_of_what_is_printed(run: Run) -> None:
    new, other = (
        json.loads(run("train", DANGER, "--preset", "laptop", *start, "--print-config").out)
        for start in ((), ("--from", PRETRAINED))
    )
    assert new["initial_agent"] == ""
    assert other["initial_agent"] == digest(find_agent(PRETRAINED, (DANGER,)).network)
    assert other["identity"] != new["identity"]


@pytest.mark.slow
def test_a_run_leaves_agents_and_a_record(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_tiny_preset(monkeypatch)
    options = (DANGER, "--preset", "tiny", "--seed", "5", "--levels", "12", "--out", "mine")
    expected = json.loads(run("train", *options, "--print-config").out)
    wandb = Mock(__spec__=ModuleSpec("wandb", None))
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    done = run("train", *options, "--wandb")
    assert done.code in (None, 0) and done.out == "", done.err
    assert "done; evaluate it with: afk eval mine\n" in done.err
    assert re.search(r"\d+/\d+K [\d,]+/s success [\d.]+% length", done.err), "progress without a terminal"
    logged = wandb.init.return_value.log.call_args_list
    assert [each.kwargs["step"] for each in logged] == [160 * update for update in range(1, 7)]
    evaluated = run("eval", "mine", "--episodes", "4", "--json")
    assert json.loads(evaluated.out)["task"] == DANGER
    assert (tmp_path / "mine" / "best-5.safetensors").exists()
    content = (tmp_path / "mine" / "record.json").read_bytes()
    record = read_record(tmp_path / "mine" / "record.json")
    assert {"identity": record.identity} | record.config == expected
    (seed,) = record.seeds
    assert seed.seed == 5 and seed.fresh[DANGER]["episodes"] == 12
    again = run("train", "--resume", "mine")
    assert again.code in (None, 0) and (tmp_path / "mine" / "record.json").read_bytes() == content
    assert "--resume" in run("train", *options).err, "a run is not begun where there is one"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), ("tasks", "--resume")),
        ((DANGER, "--n-gram", "3"), ("n = 1", "n = 2", "not n = 3")),
        ((DANGER, "--alpha", "0"), ("alpha", "above 0", "up to 1")),
        ((DANGER, "--devices", "9"), ("--devices", "from 1", "9")),
        ((DANGER, "--seed", "99999999999999999999999"), ("seed", "below 2**32", "99999999999999999999999")),
        ((DANGER, "--steps", "inf"), ("--steps", "500K", "'inf'")),
        ((DANGER, "--steps", "many"), ("--steps", "500K", "'many'")),
        ((DANGER, "--hint-fraction", "2"), ("hint_fraction", "from 0 to 1", "not 2")),
        ((DANGER, "--random-start-fraction", "-1"), ("random_start_fraction", "from 0 to 1", "not -1")),
        ((DANGER, "--bonus", "nan"), ("bonus", "finite number", "nan")),
        ((DANGER, "--bonus-until", "2"), ("bonus_until", "from 0 to 1", "not 2")),
        ((DANGER, "--levels", "0"), ("--levels", "1")),
        (
            ("qtextworld/take-1", "--preset", "paper", "--potential-based-bonus"),
            ("paper", "DQN", "potential_based_bonus"),
        ),
        ((DANGER, "--from", "pretrained"), ("another network",)),
        ((DANGER, "--from", "nowhere"), ("no agent nowhere", "pretrained")),
        (("--resume", "nowhere"), ("nowhere", "config.json")),
        (("--resume", "nowhere", "--agent", "query"), ("--resume", "leave out agent")),
        (("--resume", "nowhere", "--hint-fraction", "0.5"), ("--resume", "leave out hint_fraction")),
        (("qbabyai/dangre",), ("qbabyai/dangre", "did you mean qbabyai/danger")),
        ((DANGER, "qtextworld/take-1"), ("Q-BabyAI", "Q-TextWorld", "mixed")),
        ((DANGER, "--preset", "slow"), ("slow", "paper, released, fast, laptop")),
        ((DANGER, "--agent", "akf"), ("akf", "did you mean afk")),
        ((DANGER, "--agent", "no-query", "--hint-fraction", "0.5"), ("no-query", "--hint-fraction")),
        ((DANGER, "--agent", "query", "--bonus-until", "0"), ("query", "--bonus-until")),
        (
            (DANGER, "--agent", "query", "--potential-based-bonus"),
            ("query has no bonus", "--potential-based-bonus"),
        ),
        ((DANGER, "--wandb"), ("--wandb takes the package wandb: pip install wandb",)),
        ((DANGER, "--mlflow"), ("--mlflow takes the package mlflow: pip install mlflow",)),
        ((DANGER, "--config", "nowhere.json"), ("nowhere.json",)),
        ((DANGER, "--set", "settings.lr=3"), ("settings.lr", "did you mean settings.learning_rate?")),
        ((DANGER, "--set", "gamma=0.9"), ("gamma", "did you mean settings.discount?")),
        ((DANGER, "--set", "bonus"), ("--set", "NAME=VALUE", "'bonus'")),
        ((DANGER, "--set", "settings.bonuses=1"), ("settings.bonuses", "did you mean settings.bonus?")),
    ],
)
def test_training_refuses_in_one_line(
    arguments: tuple[str, ...], said: tuple[str, ...], run: Run, tmp_path: Path
) -> None:
    # Whether an agent to begin with has the right network matters only where something is trained.
    for last in ((), ("--print-config",))[: 1 if "--from" in arguments else 2]:
        done = run("train", *arguments, *last)
        assert done.code == 2 and done.out == ""
        assert [part for part in said if part not in done.err] == [], done.err
        assert done.err.startswith("error: ") and done.err.count("\n") == 1
        assert not list(tmp_path.iterdir()), "nothing is left behind"


def test_a_lost_state_is_given_up_only_on_purpose(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_tiny_preset(monkeypatch)
    folder = tmp_path / "mine"
    start_run(preset("tiny", [DANGER], steps=160), folder)
    log = "".join(json.dumps(log_row(updates=updates)) + "\n" for updates in (1, 2))
    (folder / "log.jsonl").write_text(log)
    done = run("train", "--resume", "mine")
    assert done.code == 2 and "afk train --resume mine --restart" in done.err
    assert (folder / "log.jsonl").read_text() == log, "nothing is lost"
    assert "--restart takes --resume" in run("train", DANGER, "--restart").err
    done = run("train", "--resume", "mine", "--restart", "--levels", "8")
    assert done.code in (None, 0), done.err
    assert [row["updates"] for row in read_log(folder)] == [1]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("levels=1000000000000", "levels is at most 1,000,000"),
        ("size.width=60000", "width is at most 4,096"),
        ("settings.discount=2", "discount is a share from 0 to 1"),
        ("settings.bonus=" + "[" * 100_000, "--set takes NAME=VALUE"),
    ],
)
def test_numbers_beyond_all_measure_are_refused_before_anything_is_written(
    change: str, said: str, run: Run, tmp_path: Path
) -> None:
    done = run("train", DANGER, "--set", change)
    assert done.code == 2 and said in done.err and done.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_more_episodes_than_fit_are_refused(run: Run) -> None:
    for agent in ("expert", PRETRAINED):
        done = run("eval", agent, "--task", DANGER, "--episodes", "2000000")
        assert done.code == 2 and "from 1 to 1,000,000 episodes" in done.err and done.err.count("\n") == 1
