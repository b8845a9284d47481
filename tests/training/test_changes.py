"""Numbers of a run that are changed by their names: on the command line, and in the file of a study."""

import re
from typing import Any

import numpy as np
import pytest

from afk.agents.notebook import UNUSED
from afk.envs.qbabyai.world import cells
from afk.training.changes import change
from afk.training.config import Config
from afk.training.levels import draw_training_levels
from afk.training.presets import preset, preset_values
from afk.training.pretrained import find_agent

TASK = "qbabyai/danger"


def test_what_is_named_is_changed_and_nothing_else() -> None:
    config = preset("laptop", [TASK])
    changes = {
        "settings.entropy_coef": 1,
        "settings.clip_value": True,
        "size.width": 16,
        "hint_fraction": 0.5,
    }
    content = change(config, changes).to_json()
    assert content == config.to_json() | {
        "hint_fraction": 0.5,
        "size": config.to_json()["size"] | {"width": 16},
        "settings": config.to_json()["settings"] | {"entropy_coef": 1.0, "clip_value": True},
    }
    assert isinstance(content["settings"]["entropy_coef"], float)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"settings.zzz": 1}, "no number 'settings.zzz'; `afk config` lists them all"),
        ({"settings.entropy": 0.1}, "no number 'settings.entropy'; did you mean settings.entropy_coef?"),
        ({"tasks": 1}, "no number 'tasks'"),
        ({"preset": 1}, "no number 'preset'"),
        ({"seeds": 1}, "no number 'seeds'"),
        ({"x": 1}, "`afk config` lists them all"),
        ({"size.width": 16.5}, "size.width is like 32, not 16.5"),
        ({"settings.bonus": True}, "settings.bonus is like 0.03, not true"),
        ({"settings.clip_value": 1}, "settings.clip_value is like false, not 1"),
        ({"settings.bonus": "much"}, 'settings.bonus is like 0.03, not "much"'),
        ({"settings.bonus": float("nan")}, "bonus is a finite number, not nan"),
        ({"settings.rollout_steps": 30}, "rollout_steps (30) must be a multiple of bptt (20)"),
        ({"random_start_fraction": 2.0}, "random_start_fraction is a share from 0 to 1, not 2.0"),
    ],
)
def test_a_change_that_makes_no_sense_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        change(preset("laptop", [TASK]), changes)


def test_a_task_by_its_letters_is_the_task() -> None:
    names = ("qbabyai/object-in-box+danger", "qbabyai/object-in-box+go-to-favorite")
    assert preset("fast", ["CS", "CD"]) == preset("fast", names)
    assert preset_values("fast", ["CS"], "afk") == preset_values("fast", names[:1], "afk")
    assert Config(("CS",), held_out=("CD",)) == Config(names[:1], held_out=names[1:])
    assert find_agent("pretrained", ("CS",)).config.tasks == find_agent("pretrained", names[:1]).config.tasks


@pytest.mark.parametrize("name", ["distractor_fraction", "wrong_key_fraction", "random_start_fraction"])
def test_levels_of_training_are_varied_as_the_run_says(name: str) -> None:
    plain = preset("laptop", ["CH"], levels=64, random_start_fraction=0.0)
    runs = (plain, change(plain, {name: 1.0}))
    before, after = (draw_training_levels(run, 0).pool.states for run in runs)
    has_tiles, has_key, has_moved = (
        np.asarray(each).any()
        for each in (
            cells.kind_of(after.grid) == cells.TILE,
            (after.carrying != cells.EMPTY) & (after.carrying != cells.KEY * 8 + after.level.key_colour),
            after.position != before.position,
        )
    )
    assert [has_tiles, has_key, has_moved] == [
        name == each for each in ("distractor_fraction", "wrong_key_fraction", "random_start_fraction")
    ]


def test_hints_are_answers_in_the_notebooks_that_levels_begin_with() -> None:
    runs = (preset("laptop", ["CS"], levels=64, hint_fraction=fraction) for fraction in (0.0, 1.0))
    before, after = (draw_training_levels(run, 0) for run in runs)
    np.testing.assert_array_equal(before.pool.states.grid, after.pool.states.grid)
    kept, more = ((levels.notebooks.group != UNUSED).sum() for levels in (before, after))
    assert more > kept
