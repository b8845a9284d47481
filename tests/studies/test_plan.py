"""What is to be trained: studies that files describe, and the runs behind the paper's items."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from afk.envs.registry import task_named
from afk.learning.ppo import Settings
from afk.report.items import ITEMS
from afk.studies.plan import RUNS, plan_items, read_study
from afk.studies.study import SEEDS
from afk.training.presets import preset


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({}, "tasks in .* is a list of at least one name"),
        ({"tasks": "S"}, "tasks in .* is a list of at least one name"),
        ({"tasks": ["S", 3]}, "tasks in .* is a list of names, not"),
        ({"tasks": ["dangre"]}, "unknown task 'dangre'"),
        ({"tasks": ["S"], "agents": ["akf"]}, "did you mean afk"),
        ({"tasks": ["S"], "seeds": [1.5]}, "seeds in .* is a list of numbers"),
        ({"tasks": ["S"], "steps": 0}, "steps in .* is a number from 1 on, not 0"),
        ({"tasks": ["S"], "preset": 1}, "preset in .* is a name, not 1"),
        ({"tasks": ["S"], "changes": {"settings.bonus": "x"}}, "changes in .* are numbers by name, not"),
        ({"tasks": ["S"], "changes": [0.03]}, "changes in .* are numbers by name, not"),
        (
            {"tasks": ["S"], "seed": 1},
            "says 'seed'; a study has preset, agents, tasks, held_out, seeds, steps, changes",
        ),
        ([], "holds no JSON object"),
        ({"tasks": ["S"], "also": ["CS"]}, "says 'also'; a study has"),
        ({"tasks": ["S"], "held_out": "CS"}, "held_out in .* is a list of names, not 'CS'"),
        ({"tasks": ["S"], "held_out": ["dangre"]}, "unknown task 'dangre'"),
        ({"tasks": ["S"], "held_out": ["qtextworld/take-1"]}, "cannot be mixed"),
        ({"tasks": [["S", "qtextworld/take-1"]]}, "cannot be mixed"),
        ({"tasks": [[]]}, "name at least one task"),
        ({"tasks": ["S"], "seeds": []}, "seeds in .* is a list of numbers"),
        ({"tasks": ["S"], "seeds": [24, 24]}, "seeds are different numbers"),
        ({"tasks": ["S"], "seeds": [True]}, "seeds in .* is a list of numbers"),
        ({"tasks": ["S"], "preset": "slow"}, "unknown preset 'slow'"),
        ({"tasks": ["S"], "changes": {"scattered": 0.5}}, "a run has no number 'scattered'"),
        ({"tasks": ["S"], "changes": {"settings.bonuses": 1}}, "did you mean settings.bonus"),
    ],
)
def test_a_study_that_makes_no_sense_is_refused(content: Any, said: str, tmp_path: Path) -> None:
    path = tmp_path / "study.json"
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=said) as caught:
        read_study(path, preset="laptop")
    assert "\n" not in str(caught.value)


def test_a_study_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "study.json"
    content = {"tasks": ["S", ["SD", "CD"]], "agents": ["afk", "query"], "held_out": ["CS"]}
    path.write_text(json.dumps(content))
    runs = read_study(path, preset="fast")
    assert [(run.agent, run.tasks) for run in runs] == [
        (agent, tuple(map(task_named, tasks)))
        for tasks in (["S"], ["SD", "CD"])
        for agent in ("afk", "query")
    ]
    assert runs == [preset("fast", run.tasks, agent=run.agent, seeds=SEEDS, held_out=("CS",)) for run in runs]
    more = {"agents": ["query"], "preset": "laptop", "steps": 7, "seeds": [3]}
    path.write_text(json.dumps(content | more))
    assert [(run.preset, run.agent, run.steps, run.seeds) for run in read_study(path, preset="fast")] == [
        ("laptop", "query", 7, (3,))
    ] * 2


def test_a_study_may_change_numbers_of_its_preset(tmp_path: Path) -> None:
    path = tmp_path / "study.json"
    changes = {"settings.entropy_coef": 0.07, "random_start_fraction": 0.25}
    path.write_text(json.dumps({"tasks": ["S"], "changes": changes}))
    (run,) = read_study(path, preset="laptop")
    before = preset("laptop", ["S"], seeds=SEEDS)
    assert isinstance(before.settings, Settings) and before.settings.entropy_coef != 0.07
    settings = replace(before.settings, entropy_coef=0.07)
    assert run == replace(before, settings=settings, random_start_fraction=0.25)


def test_every_item_that_can_be_trained_for_is_one() -> None:
    assert set(RUNS) < set(ITEMS)
    for item, wanted in RUNS.items():
        runs = plan_items([item], preset="laptop")
        assert len(runs) == len(set(wanted)) == len({run.identity for run in runs})
        assert all(run.seeds == SEEDS and run.preset == "laptop" for run in runs)
        assert [(run.agent, run.tasks, run.held_out) for run in runs] == [*wanted]


def test_items_share_runs_and_are_cut_down_to_what_is_asked_for() -> None:
    both = plan_items(["table-1", "ablation", "lengths"], preset="fast")
    assert len(both) == 3 * 15 + 3 * 5
    some = plan_items(["table-1"], preset="fast", agents=["query"], tasks=["S", "C"], seeds=[7], steps=9)
    assert [(run.agent, run.tasks, run.seeds, run.steps) for run in some] == [
        ("query", (task_named(task),), (7,), 9) for task in ("C", "S")
    ]
    unseen = plan_items(["generalisation"], preset="fast")
    assert [(run.tasks, run.held_out) for run in unseen] == [
        (tuple(map(task_named, sources)), (task_named(target),))
        for target, sources in (("CS", ("SD", "CD")), ("SD", ("CS", "CD")))
    ]
    with pytest.raises(ValueError, match="did you mean afk"):
        plan_items(["table-1"], preset="fast", agents=["akf"])
    with pytest.raises(ValueError, match="did you mean qbabyai/danger"):
        plan_items(["table-1"], preset="fast", tasks=["dangre"])
    with pytest.raises(
        ValueError, match="nothing to train for tabel-1 with these options; did you mean table-1"
    ):
        plan_items(["tabel-1"], preset="fast")
    for item in set(ITEMS) - set(RUNS):
        with pytest.raises(ValueError, match=f"there is nothing to train for {item} with these options$"):
            plan_items([item], preset="fast")
