"""Records are read back as they were written; what is wrong with another file is said in one line."""

import json
import math
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from afk.envs.registry import task_named, task_names
from afk.studies.record import (
    find_record,
    keep_record,
    merge_records,
    preset_changes,
    read_record,
    run_name,
    short_name,
)
from afk.training.changes import change
from afk.training.config import identity_of
from afk.training.presets import preset

from ..report.made_records import make_run, only


def test_what_is_written_is_read(tmp_path: Path) -> None:
    run = make_run("afk", ["SD", "CD"], [0.9, 0.8], unseen={"CS": [0.2, 0.3]})
    path = keep_record(tmp_path, run)
    assert path.name == f"{run.name}.json" and list(tmp_path.iterdir()) == [path]
    assert read_record(path) == run
    alone = [line for line in path.read_text().splitlines() if line.strip(" ,").replace(".", "").isdigit()]
    assert not alone, "lists of numbers are on one line"
    assert (run.preset, run.agent, run.tasks) == ("fast", "afk", tuple(map(task_named, ("SD", "CD"))))


def test_every_task_has_a_short_name_of_its_own() -> None:
    names = [short_name(task) for task in task_names()]
    assert len(set(names)) == len(names) == 35
    assert names[4] == "CS" and names[15] == "object-in-box+danger-two-rooms" and names[16] == "take-1"
    assert task_named("CSDH") == task_names()[14] and task_named("qtextworld/take-1") == "qtextworld/take-1"
    with pytest.raises(ValueError, match="unknown task 'CC'"):
        task_named("CC")


def test_a_run_is_named_by_what_it_is() -> None:
    plain = preset("fast", ["CS"])
    assert run_name(plain.to_json()) == f"fast--afk--CS--{plain.identity}"
    longer = preset("fast", ["CS", "qbabyai/danger"], steps=8_000_000, hint_fraction=0.25)
    assert run_name(longer.to_json()) == f"fast--afk--CS+S--steps=8M,hint_fraction=0.25--{longer.identity}"
    own = replace(plain, preset="").to_json()
    assert run_name(own) == f"own--afk--CS--{plain.identity}", "what nobody named"
    unknown = plain.to_json() | {"tasks": ["elsewhere/lost"], "agent": "bold", "preset": "odd"}
    assert run_name(unknown) == f"odd--bold--lost--{identity_of(unknown)}", "names may not be known here"
    many = preset("laptop", task_names()[:15], agent="afk-no-notebook").to_json()
    many["size"] = dict.fromkeys(many["size"], 17)
    many["settings"] |= {name: 0.123456789 for name, value in many["settings"].items() if value is not True}
    assert len(run_name(many)) < 250, "fits into a file's name"


def test_what_differs_from_the_preset_is_found() -> None:
    usual = preset("fast", ["CS"], seeds=(1, 2), held_out=("SD",))
    assert preset_changes(usual.to_json()) == {}, "labels are no changes"
    changed = change(usual, {"settings.bonus": 0.125, "distractor_fraction": 0.5})
    assert preset_changes(changed.to_json()) == {"settings.bonus": 0.125, "distractor_fraction": 0.5}
    assert preset_changes(usual.to_json() | {"preset": "odd"}) == {}


def test_a_record_is_found_by_its_identity_whatever_its_name_says(tmp_path: Path) -> None:
    run, other = make_run("afk", "S", [0.9]), make_run("afk", "S", [0.9], steps=7)
    assert find_record(tmp_path, run.identity) is None and find_record(tmp_path / "no", run.identity) is None
    path = keep_record(tmp_path, run)
    keep_record(tmp_path, other)
    renamed = path.rename(path.with_name(f"the-good-one--{run.identity}.json"))
    assert find_record(tmp_path, run.identity) == renamed == keep_record(tmp_path, run)
    assert len(list(tmp_path.iterdir())) == 2


def test_seeds_of_a_run_come_into_one_record(tmp_path: Path) -> None:
    both, third = make_run("afk", "S", [0.9, 0.8]), only(make_run("afk", "S", [0.9, 0.8, 0.7]), 123)
    path = keep_record(tmp_path, both)
    third = replace(third, config=third.config | {"preset": "", "held_out": ["qbabyai/open-door"]})
    assert keep_record(tmp_path, third) == path
    record = read_record(path)
    assert [seed.seed for seed in record.seeds] == [24, 42, 123] == record.config["seeds"]
    assert record.seeds == (*both.seeds, *third.seeds) and record.preset == "fast"
    assert record.training_seconds == both.training_seconds + third.training_seconds

    again = replace(only(make_run("afk", "S", [0.9, 0.1]), 42), training_seconds=30.0)
    keep_record(tmp_path, again)
    record = read_record(path)
    assert {seed.seed: seed.final["qbabyai/danger"]["success"] for seed in record.seeds} == {
        **{24: 0.9, 123: 0.7, 42: 0.1}
    }, "what is new is taken"
    assert record.training_seconds == pytest.approx((60 + 60) * 2 / 3 + 30)
    kept = path.read_bytes()
    with pytest.raises(ValueError, match="were evaluated on different tasks"):
        keep_record(tmp_path, only(make_run("afk", "S", [0.9, 0.8], unseen={"CS": [0.1, 0.1]}), 42))
    assert path.read_bytes() == kept, "no seed is lost"


def test_records_of_different_runs_are_not_merged() -> None:
    one, both = make_run("afk", "S", [0.9]), make_run("afk", "S", [0.9, 0.8])
    with pytest.raises(ValueError, match="several records of a seed"):
        merge_records([one, both])
    with pytest.raises(ValueError, match="with different settings"):
        merge_records([one, only(make_run("afk", "S", [0.9, 0.8], steps=7), 42)])
    with pytest.raises(ValueError, match="with different settings"):
        merge_records([one, replace(only(both, 42), variant={"asks": False})])
    with pytest.raises(ValueError, match="evaluated on different tasks"):
        merge_records([one, only(make_run("afk", "S", [0.9, 0.8], unseen={"CS": [0.1, 0.1]}), 42)])


def _drop(name: str) -> Callable[[dict[str, Any]], Any]:
    return lambda content: content.pop(name)


def _set(name: str, value: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda content: content.update({name: value})


def _in_config(**values: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda content: content["config"].update(values)


def _in_seed(*path: str, value: Any) -> Callable[[dict[str, Any]], Any]:
    def change(content: dict[str, Any]) -> None:
        place = content["seeds"][1]
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = value

    return change


TASK = "qbabyai/danger"
MEASURED = make_run("afk", "S", [0.5]).seeds[0].fresh[TASK]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_drop("seeds"), "it has no seeds"),
        (_drop("seconds"), "seconds is missing or makes no sense"),
        (_in_config(tasks=[]), "config.tasks"),
        (_in_config(tasks=[1]), "config.tasks"),
        (_in_config(agent=3), "agent"),
        (_in_config(preset=None), "preset"),
        (_in_config(steps="many"), "config.steps"),
        (_in_config(settings=[]), "settings"),
        (_drop("config"), "it has no config"),
        (_set("seeds", []), "seeds"),
        (_set("seeds", [1, 2]), "seeds"),
        (_set("config", {}), "its config has no preset, agent, tasks, settings"),
        (_set("compile_seconds", "long"), "compile_seconds"),
        (_in_seed("seed", value=24), "seeds"),
        (_in_seed("final", value={}), f"final of seed 42 for {TASK}"),
        (_in_seed("final", TASK, "success", value=1.7), f"final success of seed 42 for {TASK}"),
        (_in_seed("final", TASK, "queries", value=math.nan), "NaN is not a number"),
        (_in_seed("fresh", TASK, "f1", value=None), f"fresh f1 of seed 42 for {TASK}"),
        (_in_seed("fresh", TASK, "query_histogram", value=[3]), f"query_histogram of seed 42 for {TASK}"),
        (_in_seed("fresh", "another", value={}), "fresh success of seed 42 for another"),
        (_in_seed("curve", "success", value=[0.1]), "curve of seed 42"),
        (_in_seed("curve", "reward", value="high"), "curve of seed 42"),
        (_in_seed("fresh", "another", value=MEASURED), "fresh is missing or makes no sense"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    change: Callable[[dict[str, Any]], Any], said: str, tmp_path: Path
) -> None:
    content = json.loads(json.dumps(asdict(make_run("afk", "S", [0.9, 0.8]))))
    change(content)
    path = tmp_path / "fast--afk--S.json"
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError) as caught:
        read_record(path)
    assert said in str(caught.value) and str(path) in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not JSON"),
        (b'{"preset": "fa', "is not JSON"),
        (b"\xff\xfe", "is not JSON"),
        (b"[1, 2]", "it holds no JSON object"),
        (b'{"accuracy": 1}', "it has no config, variant, machine, seeds"),
    ],
)
def test_a_foreign_file_is_refused(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "fast--afk--S.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"fast--afk--S\.json") as caught:
        read_record(path)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be read: No such file"):
        read_record(tmp_path / "fast--afk--S.json")
    with pytest.raises(ValueError, match="cannot be read: Is a directory"):
        read_record(tmp_path)


def test_seeds_that_come_one_by_one_count_once(tmp_path: Path) -> None:
    whole = make_run("afk", "S", [0.9, 0.8, 0.7])
    whole = replace(whole, compile_seconds=30.0, machine={"device": "one", "cores": 2})
    for index, seed in enumerate(whole.seeds):
        alone = replace(
            whole, seeds=(seed,), compile_seconds=10.0, machine={"device": "AB"[index % 2], "cores": 2}
        )
        keep_record(tmp_path, alone)
    (path,) = tmp_path.glob("*.json")
    record = read_record(path)
    assert (record.compile_seconds, record.machine) == (30.0, {"device": "A, B", "cores": 2})
    assert {each.seed for each in record.seeds} == {each.seed for each in whole.seeds}
