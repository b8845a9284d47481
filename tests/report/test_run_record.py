"""Records are read back as they were written; what is wrong with another file is said in one line."""

import json
import math
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from afk.envs.registry import task_named, task_names
from afk.experiments.run_record import read_record, run_name, short_name, write_record

from .made_records import make_run


def test_what_is_written_is_read(tmp_path: Path) -> None:
    run = make_run("afk", ["SD", "CD"], [0.9, 0.8], unseen={"CS": [0.2, 0.3]})
    path = write_record(tmp_path, run)
    assert path.name == "fast--afk--SD+CD.json" and list(tmp_path.iterdir()) == [path]
    assert read_record(path) == run
    alone = [line for line in path.read_text().splitlines() if line.strip(" ,").replace(".", "").isdigit()]
    assert not alone, "lists of numbers are on one line"


def test_every_task_has_a_short_name_of_its_own() -> None:
    names = [short_name(task) for task in task_names()]
    assert len(set(names)) == len(names) == 20
    assert names[4] == "CS" and names[15] == "object-in-box+danger-two-rooms" and names[16] == "take-1"
    assert task_named("CSDH") == task_names()[14] and task_named("qtextworld/take-1") == "qtextworld/take-1"
    assert len(run_name("laptop", "afk-no-notebook", task_names()[:15])) < 100, "fits into a file's name"
    with pytest.raises(ValueError, match="unknown task 'CC'"):
        task_named("CC")


def _drop(name: str) -> Callable[[dict[str, Any]], Any]:
    return lambda content: content.pop(name)


def _set(name: str, value: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda content: content.update({name: value})


def _in_seed(*path: str, value: Any) -> Callable[[dict[str, Any]], Any]:
    def change(content: dict[str, Any]) -> None:
        place = content["seeds"][1]
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = value

    return change


TASK = "qbabyai/danger"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_drop("seeds"), "it has no seeds"),
        (_drop("seconds"), "seconds is missing or makes no sense"),
        (_set("tasks", []), "tasks"),
        (_set("tasks", [1]), "tasks"),
        (_set("agent", 3), "agent"),
        (_set("seeds", []), "seeds"),
        (_set("seeds", [1, 2]), "seeds"),
        (_set("config", {}), "config.steps"),
        (_set("compile_seconds", "long"), "compile_seconds"),
        (_in_seed("seed", value=24), "seeds"),
        (_in_seed("final", value={}), f"final of seed 42 for {TASK}"),
        (_in_seed("final", TASK, "success", value=1.7), f"final success of seed 42 for {TASK}"),
        (_in_seed("final", TASK, "queries", value=math.nan), f"final queries of seed 42 for {TASK}"),
        (_in_seed("fresh", TASK, "f1", value=None), f"fresh f1 of seed 42 for {TASK}"),
        (_in_seed("fresh", TASK, "query_histogram", value=[3]), f"query_histogram of seed 42 for {TASK}"),
        (_in_seed("fresh", "another", value={}), "fresh success of seed 42 for another"),
        (_in_seed("curve", "success", value=[0.1]), "curve of seed 42"),
        (_in_seed("curve", "reward", value="high"), "curve of seed 42"),
        (_set("preset", "paper"), "holds the record that is called paper--afk--S.json"),
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
        (b'{"accuracy": 1}', "it has no preset, agent, variant, tasks, machine, config, seeds"),
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
