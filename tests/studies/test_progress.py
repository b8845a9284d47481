"""How far runs are: what of them is left, and where, without any training."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from afk.envs.registry import task_named
from afk.studies.record import keep_record
from afk.studies.study import find_progress, overview, run_folder, split_by_folder, what_is_left
from afk.training.presets import preset

from ..report.made_records import make_run
from ..training.tiny_run import log_row

RUN = preset("fast", ["S"], seeds=(24, 42))
CS, CD = map(task_named, ("CS", "CD"))


def write_log(folder: Path, *rows: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def make_folder(runs: Path, seeds: tuple[int, ...], **changes: Any) -> None:
    """The folder of a run that has begun."""
    folder = run_folder(runs, replace(RUN, seeds=seeds, **changes))
    folder.mkdir()
    (folder / "config.json").touch()


def test_what_is_left_of_a_run(tmp_path: Path) -> None:
    assert what_is_left(RUN, tmp_path, tmp_path) == RUN
    keep_record(tmp_path, make_run("afk", "S", [0.9, 0.8], unseen={"CS": [0.1, 0.2]}))
    for seeds, held_out in (((24, 42), ()), ((42,), (CS,)), ((42, 24), (CS,))):
        assert what_is_left(replace(RUN, seeds=seeds, held_out=held_out), tmp_path, tmp_path) is None
    assert what_is_left(replace(RUN, seeds=(42, 7, 24, 3)), tmp_path, tmp_path) == replace(
        RUN, seeds=(7, 3), held_out=(CS,)
    ), "further seeds play what the others have played"
    with pytest.raises(ValueError, match=rf"lacks {re.escape(CD)}, and its agent of seed 24 is not in"):
        what_is_left(replace(RUN, held_out=(CD,)), tmp_path, tmp_path)
    make_folder(tmp_path, (24, 42))
    assert what_is_left(replace(RUN, seeds=(42,), held_out=(CD,)), tmp_path, tmp_path) == replace(
        RUN, seeds=(24, 42), held_out=(CS, CD)
    ), "all seeds play what is new"
    assert what_is_left(replace(RUN, seeds=(7,), held_out=(CD,)), tmp_path, tmp_path) == replace(
        RUN, seeds=(24, 42, 7), held_out=(CS, CD)
    )
    assert what_is_left(replace(RUN, steps=7), tmp_path, tmp_path) == replace(RUN, steps=7), "another run"


def test_a_run_goes_on_in_the_folders_that_it_has(tmp_path: Path) -> None:
    run = replace(RUN, seeds=(1, 2, 3, 4, 5))
    assert split_by_folder(tmp_path, run) == [run]
    for seeds in ((4,), (1, 3), (5, 6)):
        make_folder(tmp_path, seeds)
    make_folder(tmp_path, (2,), steps=7)
    run_folder(tmp_path, run).with_name(f"{run_folder(tmp_path, run).name}.bak").mkdir()
    parts = [part.seeds for part in split_by_folder(tmp_path, run)]
    assert parts == [(1, 3), (4,), (2, 5)], "nobody trains seed 6, which was not asked for"
    assert [part.seeds for part in split_by_folder(tmp_path, replace(run, seeds=(1, 3)))] == [(1, 3)]


def test_a_folder_is_found_by_what_is_trained_there(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, RUN)
    assert folder.name == f"fast--afk--S--{RUN.identity}--seeds-24+42"
    renamed = tmp_path / f"the-good-one--{RUN.identity}--seeds-24+42"
    renamed.mkdir()
    assert run_folder(tmp_path, RUN) == renamed == run_folder(tmp_path, replace(RUN, preset="mine"))
    assert run_folder(tmp_path, replace(RUN, seeds=(42,))) != renamed


@pytest.mark.parametrize(
    ("asked", "state"),
    [
        ({"steps": 3_000_000}, "recorded"),
        ({"steps": 3_000_000, "preset": "mine"}, "recorded"),
        ({}, "waiting"),
        ({"steps": 3_000_000, "seeds": (24, 7)}, "50% trained"),
    ],
)
def test_a_record_of_another_run_does_not_count(tmp_path: Path, asked: dict[str, Any], state: str) -> None:
    keep_record(tmp_path, make_run("afk", "S", [0.9], steps=3_000_000))
    run = replace(RUN, **({"seeds": (24,)} | asked))
    assert find_progress(run, runs=tmp_path, records=tmp_path).state(len(run.seeds)) == state


def test_how_far_a_run_is(tmp_path: Path) -> None:
    where = {"runs": tmp_path / "runs", "records": tmp_path / "records"}
    keep_record(tmp_path / "records", make_run("afk", "S", [0.9]))
    assert find_progress(RUN, **where) == (1, 0.5, 0.9)
    half = log_row(seed=42, updates=RUN.updates // 2)
    write_log(run_folder(tmp_path / "runs", replace(RUN, seeds=(42,))), half, half | {"seed": 7})
    assert find_progress(RUN, **where) == (1, 0.5 + RUN.updates // 2 / RUN.updates / 2, pytest.approx(0.7))
    # The same seed in company, and further on.
    write_log(run_folder(tmp_path / "runs", RUN), half | {"updates": RUN.updates}, half | {"seed": 24})
    found = find_progress(RUN, **where)
    assert found[:2] == (1, 1.0) and found.state(2) == "to be evaluated" and found.state(1) == "recorded"
    console = Console(record=True, width=400, quiet=True)
    broken = replace(RUN, steps=7)
    (tmp_path / "records" / f"x--{broken.identity}.json").write_text("{")
    with console.capture() as shown:
        console.quiet = False
        console.print(overview([RUN, replace(RUN, seeds=(24,)), broken], **where))
    assert re.search(r"fast afk S .* to be evaluated .* 70.0% .* 5,000,000 .* 2 ", shown.get())
    assert re.search(r"fast afk S .* recorded .* 90.0% .* 5,000,000 .* 1 ", shown.get())
    assert re.search(r"steps 7 .* is not JSON", " ".join(shown.get().split())), "what is wrong is said"
