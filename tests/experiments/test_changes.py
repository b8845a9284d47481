"""Numbers of a run that are changed by their names: on the command line, and in the file of a study."""

import re
from typing import Any

import numpy as np
import pytest

from afk.envs.qbabyai import cells
from afk.experiments.config import Config, change
from afk.experiments.presets import preset, preset_fields
from afk.experiments.shelf import find_agent
from afk.experiments.study import Run
from afk.experiments.train import draw_courses

TASK = "qbabyai/danger"


def test_what_is_named_is_changed_and_nothing_else() -> None:
    config = preset("laptop", [TASK])
    changes = {"settings.entropy_weight": 1, "settings.clip_value": True, "size.width": 16, "told": 0.5}
    content = change(config, changes).to_json()
    assert content == config.to_json() | {
        "told": 0.5,
        "size": config.to_json()["size"] | {"width": 16},
        "settings": config.to_json()["settings"] | {"entropy_weight": 1.0, "clip_value": True},
    }


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"settings.entropy": 0.1}, "no number 'settings.entropy'; did you mean settings.entropy_weight?"),
        ({"tasks": 1}, "no number 'tasks'"),
        ({"x": 1}, "it has steps, n_gram, alpha"),
        ({"size.width": 16.5}, "size.width is like 32, not 16.5"),
        ({"settings.bonus": True}, "settings.bonus is like 0.03, not true"),
        ({"settings.clip_value": 1}, "settings.clip_value is like false, not 1"),
        ({"settings.bonus": "much"}, 'settings.bonus is like 0.03, not "much"'),
        ({"settings.bonus": float("nan")}, "bonus is a number from 0 on"),
        ({"settings.steps": 30}, "steps (30) must be a multiple of bptt (20)"),
        ({"scattered": 2.0}, "scattered"),
    ],
)
def test_a_change_that_makes_no_sense_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        change(preset("laptop", [TASK]), changes)


def test_a_run_of_a_study_has_its_changes() -> None:
    run = Run("laptop", "afk", (TASK,), changes=(("settings.bonus", 0.07), ("scattered", 0.25)))
    config = run.config
    assert (config.settings.bonus, config.scattered) == (0.07, 0.25)
    with pytest.raises(ValueError, match=r"no number 'settings\.bonuses'; did you mean settings\.bonus\?"):
        _ = Run("laptop", "afk", (TASK,), changes=(("settings.bonuses", 1),)).config


def test_a_task_by_its_letters_is_the_task() -> None:
    names = ("qbabyai/object-in-box+danger", "qbabyai/object-in-box+go-to-favorite")
    assert preset("fast", ["CS", "CD"]) == preset("fast", names)
    assert preset_fields("fast", ["CS"]) == preset_fields("fast", names[:1])
    assert Config(("CS",)) == Config(names[:1])
    assert Run("fast", "afk", ("CS",), also=("CD",)) == Run("fast", "afk", names[:1], also=names[1:])
    assert find_agent("shipped", ("CS",)).config.tasks == find_agent("shipped", names[:1]).config.tasks


@pytest.mark.parametrize("name", ["cluttered", "misled", "scattered"])
def test_levels_of_training_are_varied_as_the_run_says(name: str) -> None:
    plain = {"levels": 64, "scattered": 0.0}
    runs = (preset("laptop", ["CH"], **(plain | some)) for some in ({}, {name: 1.0}))
    before, after = (draw_courses(run, 0).pool.states for run in runs)
    has_tiles, has_key, has_moved = (
        np.asarray(each).any()
        for each in (
            cells.kind_of(after.grid) == cells.TILE,
            (after.carrying != cells.EMPTY) & (after.carrying != cells.KEY * 8 + after.level.key_colour),
            after.position != before.position,
        )
    )
    assert [has_tiles, has_key, has_moved] == [name == each for each in ("cluttered", "misled", "scattered")]
