"""Configurations as data: what makes two of them the same run, and names from before."""

import json
import math
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from afk.agents.base import Size
from afk.envs import registry
from afk.envs.qtextworld.levels import bank
from afk.learning import dqn, ppo
from afk.studies.record import run_name
from afk.training import legacy
from afk.training.changes import change
from afk.training.config import (
    LABELS,
    Config,
    differences,
    first_difference,
    flatten,
    identity_of,
    read_config,
)
from afk.training.presets import preset

from .earlier import GRID_RUN, TEXT_RUN, to_old
from .tiny_run import TINY

TEXT = preset("paper", ["qtextworld/take-1"])
# A value that is another one, for what is no number.
OTHERS: dict[str, Any] = {
    "tasks": ["qbabyai/open-door"],
    "agent": "query",
    "initial_agent": "0123456789abcdef",
    "settings.algorithm": "another",
    "sources": [{"price": [0.0, 0.5]}],
    "source": "sql",
}


def put(content: dict[str, Any], name: str, value: Any) -> dict[str, Any]:
    """A run, as JSON, with another value under a name such as ``size.width``."""
    *path, key = name.split(".")
    content = json.loads(json.dumps(content))
    part = content
    for step in path:
        part = part[step]
    part[key] = value
    return content


def other_value(name: str, value: Any) -> Any:
    """A value of the same kind that is not the same."""
    if name in OTHERS:
        return OTHERS[name]
    return not value if isinstance(value, bool) else value + 1


@pytest.mark.parametrize("config", [TINY, TEXT], ids=["ppo", "dqn"])
def test_a_run_is_what_it_was_written_as(config: Config, tmp_path: Path) -> None:
    content = json.loads(json.dumps(config.to_json()))
    assert Config.from_json(content) == config and Config.from_json(content).to_json() == content
    (tmp_path / "config.json").write_text(json.dumps(content))
    assert read_config(tmp_path) == config
    assert set(content) == {each.name for each in fields(Config)}
    assert differences(content, content) == {} and first_difference(config, config) == ""


def test_labels_do_not_make_another_run() -> None:
    others: tuple[dict[str, Any], ...] = (
        {"seeds": (42, 7)},
        {"preset": "tiny"},
        {"held_out": ("qbabyai/open-door",)},
    )
    assert {name for each in others for name in each} == set(LABELS)
    for each in others:
        assert replace(TINY, **each).identity == TINY.identity
        assert first_difference(TINY, replace(TINY, **each)) == ""


@pytest.mark.parametrize("config", [TINY, TEXT], ids=["ppo", "dqn"])
def test_everything_else_does(config: Config) -> None:
    content = config.to_json()
    names = [name for name in flatten(content) if name not in LABELS]
    changed = {name: put(content, name, other_value(name, flatten(content)[name])) for name in names}
    identities = {identity_of(each) for each in changed.values()}
    assert len(identities | {config.identity}) == len(names) + 1
    for name, each in changed.items():
        assert differences(content, each) == {name: (flatten(content)[name], flatten(each)[name])}


def test_the_order_of_what_is_written_does_not_matter() -> None:
    content = TINY.to_json()
    turned = {name: content[name] for name in reversed(content)}
    assert identity_of(turned) == TINY.identity == identity_of(json.loads(json.dumps(turned)))


def test_whole_numbers_are_fractions_where_there_may_be_one() -> None:
    settings = replace(TINY.settings, reward_scale=20)
    config = replace(TINY, alpha=1, hint_fraction=0, settings=settings)
    same = replace(TINY, alpha=1.0, hint_fraction=0.0, settings=replace(settings, reward_scale=20.0))
    assert config == same and config.identity == same.identity
    assert isinstance(config.to_json()["settings"]["epochs"], int)


def test_the_first_difference_is_told_in_words() -> None:
    other = change(replace(TINY, seeds=(7,)), {"size.width": 12, "settings.bonus": 0.2})
    assert first_difference(TINY, other) == "size.width is 12, not 8"
    assert [*differences(TINY.to_json(), other.to_json())] == ["size.width", "settings.bonus"]
    assert first_difference(TEXT, TINY).startswith("tasks is ")


@pytest.mark.parametrize(
    "config",
    [
        TINY,
        replace(TINY, initial_agent="0123456789abcdef", random_start_fraction=0.5, distractor_fraction=0.25),
        preset("laptop", ["CS"], agent="afk-plus-no-autoregression", hint_fraction=0.1, held_out=("SD",)),
        preset("fast", ["S", "H"], agent="afk-plus-no-word-cells", wrong_key_fraction=0.1, seeds=(1, 2)),
        replace(TEXT, clauses=2),
    ],
    ids=["tiny", "begun", "laptop", "fast", "dqn"],
)
def test_a_run_under_earlier_names_is_the_same_run(config: Config) -> None:
    old = to_old(config)
    assert not set(old) & set(legacy._FIELDS.values())
    assert not set(old["settings"]) & set(legacy._SETTINGS.values())
    found = Config.from_json(old)
    assert found == replace(config, preset="", held_out=()) and found.identity == config.identity
    if old["settings"].pop("algorithm") == "ppo":  # the first runs did not say so
        assert Config.from_json(old).identity == config.identity


def test_the_earlier_names_are_those_of_then() -> None:
    varied = {
        **{"random_start_fraction": 0.25, "hint_fraction": 0.125},
        **{"wrong_key_fraction": 0.0625, "distractor_fraction": 0.75, "settings.potential_based_bonus": True},
    }
    grid = preset("laptop", ["CS"], agent="afk-plus-no-autoregression", seeds=(24, 42))
    grid = replace(change(grid, varied), initial_agent="0123456789abcdef")
    text = preset("paper-wide", ["qtextworld/take-1"], clauses=2)
    for content, config in ((GRID_RUN, grid), (TEXT_RUN, text)):
        found = Config.from_json(json.loads(content))
        assert found == replace(config, preset="") and found.identity == config.identity
        assert to_old(config) == json.loads(content)
    assert to_old(preset("fast", ["S"], agent="afk-plus-no-cell-attention"))["agent"] == "afk-plus-no-meeting"
    assert to_old(preset("fast", ["S"], agent="afk-plus-no-word-cells"))["agent"] == "afk-plus-no-names"


def test_a_run_is_read_compared_and_named_without_a_world(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("a world is built")

    for name in ("make", "make_roomy"):
        monkeypatch.setattr(registry, name, refuse)
    monkeypatch.setattr("afk.training.build.make_roomy", refuse)
    for name in ("load_bank", "_kept_bank"):
        monkeypatch.setattr(bank, name, refuse)
    for task in ("CS", "qtextworld/take-2"):
        config = preset("laptop", [task], steps=5_000_000)
        (tmp_path / "config.json").write_text(json.dumps(config.to_json()))
        read = read_config(tmp_path)
        assert read == config and read.identity == config.identity
        assert first_difference(replace(read, steps=7), config) == "steps is 5000000, not 7"
        assert run_name(read.to_json()).startswith(f"laptop--afk--{task.rpartition('/')[2]}--steps=5M--")
        assert read.updates and read.is_evaluated(read.updates)


@pytest.mark.parametrize("content", ["{}", "[", "[]", "3", '{"settings": {}}', '{"settings": []}'])
def test_a_configuration_that_is_none_is_named(content: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(ValueError, match=r"config\.json cannot be read") as caught:
        read_config(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"tasks": ("qbabyai/dangre",)}, "did you mean"),
        ({"tasks": ()}, "at least one"),
        ({"held_out": ("qbabyai/dangre",)}, "did you mean"),
        ({"held_out": ("qtextworld/take-1",)}, "tasks of Q-BabyAI and of Q-TextWorld cannot be mixed"),
        ({"seeds": (1, 1)}, "different numbers"),
        ({"seeds": ()}, "different numbers"),
        ({"seeds": (2**32,)}, "below 2**32"),
        ({"n_gram": 3}, "not n = 3"),
        ({"agent": "akf"}, "did you mean afk"),
        ({"steps": 0}, "steps is at least 1"),
        ({"clauses": 0}, "clauses is at least 1, not 0"),
        ({"clauses": 5}, "clauses is at most 4, not 5"),
        ({"hint_fraction": -0.5}, "hint_fraction is a share from 0 to 1"),
        ({"log_every": 2}, "evaluate_every (3) must be a multiple of log_every (2)"),
        ({"tasks": ("qbabyai/danger",) * 9}, "at least 9, one a task"),
        ({"settings": dqn.Settings()}, "DQN trains on tasks of Q-TextWorld only, not on qbabyai/danger"),
    ],
)
def test_impossible_runs_are_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        replace(TINY, **changes)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("seeds", [1.5], "seeds is a list of whole numbers, not (1.5,)"),
        ("seeds", ["../../x"], "seeds is a list of whole numbers"),
        ("seeds", 24, "seeds is a list of whole numbers, not 24"),
        ("seeds", [True], "seeds is a list of whole numbers"),
        ("seeds", [[1]], "seeds is a list of whole numbers"),
        ("tasks", "CS", "tasks is a list of texts, not 'CS'"),
        ("tasks", [["CS"]], "tasks is a list of texts"),
        ("held_out", [None], "held_out is a list of texts"),
        ("agent", ["afk"], "not the configuration of a run"),
        ("agent", None, "agent is a text"),
        ("preset", 3, "preset is a text, not 3"),
        ("steps", math.nan, "steps is a whole number, not nan"),
        ("steps", 1.5, "steps is a whole number, not 1.5"),
        ("steps", True, "steps is a whole number, not True"),
        ("levels", "many", "levels is a whole number, not 'many'"),
        ("alpha", [0.1], "alpha is a finite number"),
        ("alpha", 10**400, "alpha is a finite number"),
        ("hint_fraction", math.inf, "hint_fraction is a finite number, not inf"),
        ("settings.learning_rate", "x", "learning_rate is a finite number, not 'x'"),
        ("settings.learning_rate", [1, 2], "learning_rate is a finite number, not [1, 2]"),
        ("settings.clip_value", 1, "clip_value is true or false, not 1"),
        ("settings.epochs", 1.0, "epochs is a whole number, not 1.0"),
        ("size.width", None, "width is a whole number, not None"),
        ("size.places", "no", "places is true or false, not 'no'"),
        ("settings", None, "not the configuration of a run"),
        ("settings", [], "not the configuration of a run"),
        ("size", [], "not the configuration of a run"),
        ("settings.discount", 2, "discount is a share from 0 to 1, not 2"),
        ("settings.gae_lambda", 1.5, "gae_lambda is a share from 0 to 1, not 1.5"),
        ("settings.clip", 3, "clip is a share from 0 to 1, not 3"),
        ("settings.epochs", 10**9, "epochs is at most 1,000,000, not 1,000,000,000"),
        ("steps", 10**13, "steps is at most 1,000,000,000,000"),
        ("levels", 10**12, "levels is at most 1,000,000, not 1,000,000,000,000"),
        ("evaluation_episodes", 10**11, "evaluation_episodes is at most 1,000,000"),
        ("size.width", 60_000, "width is at most 4,096, not 60,000"),
        ("size.notes", 10**9, "notes is at most 1,024, not 1,000,000,000"),
        ("settings.environments", 10**6 * 8, "environments is at most 1,000,000"),
    ],
)
def test_a_file_with_a_value_of_another_kind_or_size_is_refused_in_one_line(
    name: str, value: Any, said: str
) -> None:
    content = put(TINY.to_json(), name, value)
    with pytest.raises(ValueError, match=re.escape(said)) as caught:
        Config.from_json(content)
    assert "\n" not in str(caught.value)


def test_updates_that_no_machine_can_do_or_count_are_refused() -> None:
    with pytest.raises(ValueError, match="an update has at most 100,000,000 steps, not 20,000,000,000"):
        change(TINY, {"settings.environments": 10**6, "settings.rollout_steps": 20_000})
    with pytest.raises(ValueError, match="a run has at most 2,147,483,647 updates, not 6,250,000,000"):
        replace(TINY, steps=10**12)
    with pytest.raises(ValueError, match="discount is a share from 0 to 1, not 2"):
        replace(TEXT.settings, discount=2)


@pytest.mark.parametrize("name", ["wrong_key_fraction", "distractor_fraction"])
def test_what_only_one_world_has_is_refused_in_the_other(name: str) -> None:
    with pytest.raises(ValueError, match="wrong_key_fraction and distractor_fraction for qtextworld/take-1"):
        change(preset("laptop", ["qtextworld/take-1"]), {name: 0.5})


def test_the_sizes_that_tests_train_with_are_small() -> None:
    assert TINY.size == Size(width=8, head=8, view_layers=1, film_blocks=1, distinct_notes=0)
    assert TINY.settings == ppo.Settings(environments=8, rollout_steps=20, minibatches=2, epochs=1)
