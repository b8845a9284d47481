"""Numbers of a run that are changed by their names: on the command line, and in the file of a study."""

import re
from typing import Any

import pytest

from afk.experiments.config import change
from afk.experiments.presets import preset
from afk.experiments.study import Run

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
    assert preset("fast", ["CS", "CD"]) == preset(
        "fast", ["qbabyai/object-in-box+danger", "qbabyai/object-in-box+go-to-favorite"]
    )
