"""What sweeps do without a cluster: claims of folders, records of seeds gathered, studies, and refusals."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from afk.cli import app
from afk.experiments.claim import claim
from afk.experiments.cluster import Resources, check_address, check_machines
from afk.experiments.presets import preset
from afk.experiments.run_record import RunRecord, keep_seeds, merge_records, read_record, write_record
from afk.experiments.study import SEEDS, Run, find_standing
from afk.experiments.sweep import Place, do_sweep, overview, train_seed
from afk.experiments.train import start_run
from afk.learn.ppo import Settings
from afk.report.plan import read_study

from ..report.made_records import make_run


def test_a_folder_is_for_one_process_at_a_time(tmp_path: Path) -> None:
    holder = (
        "import sys, time; from pathlib import Path; from afk.experiments.claim import claim\n"
        "with claim(Path(sys.argv[1])): print('mine', flush=True); time.sleep(100)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holder, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout and process.stdout.readline() == "mine\n"
        with pytest.raises(ValueError, match=f"is in use by process {process.pid} on "), claim(tmp_path):
            pass
        process.kill()
    with claim(tmp_path, wait=True):
        assert f"process {os.getpid()} on" in (tmp_path / "lock").read_text()
    assert (tmp_path / "lock").read_text() == "", "nobody has it"


def test_a_run_that_another_process_trains_is_not_touched(tmp_path: Path) -> None:
    config = preset("laptop", ["qbabyai/danger"])
    start_run(config, tmp_path / "run")
    with claim(tmp_path / "run"), pytest.raises(ValueError, match="run is in use by process"):
        app(["train", "--resume", str(tmp_path / "run")], standalone_mode=False)
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["config.json", "lock"]


def write_seed(place: Place, agent: str, task: str, seed: int, **changes: Any) -> RunRecord:
    """The record of one seed, as a worker leaves it."""
    made = make_run(agent, task, [0.9, 0.8, 0.7, 0.6, 0.5])
    record = replace(keep_seeds(made, [seed]), **changes)
    write_record(place.of_seed(seed), record)
    return record


def run_nowhere(study: list[Run], place: Place) -> list[str]:
    """A sweep on a cluster that is not there."""
    return do_sweep(
        study, place, address="nowhere", resources=Resources(), levels=8, console=Console(quiet=True)
    )


@pytest.mark.parametrize(
    ("asked", "state"),
    [
        ({"steps": 3_000_000}, "recorded"),
        ({}, "recorded, but steps is 3000000, not 5000000"),
        ({"steps": 3_000_000, "seeds": (24, 7)}, "recorded, but without seed 7"),
    ],
)
def test_a_record_of_another_run_is_told(tmp_path: Path, asked: dict[str, Any], state: str) -> None:
    write_record(tmp_path, make_run("afk", "S", [0.9], steps=3_000_000))
    run = replace(Run("fast", "afk", ("qbabyai/danger",), seeds=(24,)), **asked)
    assert find_standing(run, runs=tmp_path, records=tmp_path).state == state


def test_seeds_of_different_settings_are_not_put_together(tmp_path: Path) -> None:
    place = Place(tmp_path / "runs", tmp_path / "results" / "runs")
    write_record(place.records, make_run("afk", "S", [0.9], steps=3_000_000))
    run = Run("fast", "afk", ("qbabyai/danger",), seeds=(24, 42))
    with pytest.raises(ValueError, match=r"S.json is of another run: steps is 3000000, not 5000000; choose"):
        run_nowhere([run], place)
    assert not (place.folder / "seed-42").exists(), "nothing is trained before"
    assert run_nowhere([replace(run, seeds=(24,))], place) == []


def test_the_records_of_seeds_are_gathered(tmp_path: Path) -> None:
    place = Place(tmp_path / "runs", tmp_path / "results" / "runs")
    run = Run("fast", "afk", ("qbabyai/danger",), seeds=(24, 42))
    first = write_seed(place, "afk", "S", 24, machine={"device": "one", "cores": 2}, training_seconds=10.0)
    second = write_seed(place, "afk", "S", 42, machine={"device": "other", "cores": 2}, compile_seconds=3.0)
    assert run_nowhere([run], place) == []
    path = place.records / "fast--afk--S.json"
    record = read_record(path)
    assert record.seeds == (*first.seeds, *second.seeds) and record.config["seeds"] == [24, 42]
    assert record.machine == {"device": "one, other", "cores": 2} and record.compile_seconds is None
    assert record.training_seconds == 10 + second.training_seconds

    later = record.config | {"seeds": [123], "misled": 0.0, "cluttered": 0.0}
    third = write_seed(place, "afk", "S", 123, config=later)
    assert run_nowhere([replace(run, seeds=(123,))], place) == []
    assert {each.seed for each in read_record(path).seeds} == {24, 42, 123}, "earlier seeds are kept"
    assert read_record(path).seeds[0] == third.seeds[0]
    written = path.stat().st_mtime_ns
    assert run_nowhere([run], place) == [] and path.stat().st_mtime_ns == written
    more = replace(run, seeds=(123,), also=("qbabyai/open-door",))
    with pytest.raises(
        ValueError, match=r"lacks qbabyai/open-door, and has seeds .* not asked for: \[24, 42\]"
    ):
        run_nowhere([more], place)
    assert path.stat().st_mtime_ns == written, "no seed is lost"


def test_records_of_different_runs_are_not_gathered(tmp_path: Path) -> None:
    place = Place(tmp_path / "runs", tmp_path / "results" / "runs")
    run = Run("fast", "afk", ("qbabyai/danger",), seeds=(24, 42))
    write_seed(place, "afk", "S", 24)
    write_seed(place, "afk", "S", 42, config={"steps": 7})
    with pytest.raises(ValueError, match="there are records of fast--afk--S with different settings"):
        run_nowhere([run], place)
    assert not place.records.exists()
    write_seed(place, "query", "S", 24)
    failures = run_nowhere([run, replace(run, agent="query", seeds=(24,))], place)
    assert failures == ["there are records of fast--afk--S with different settings"], "the others go on"
    assert [path.name for path in place.records.iterdir()] == ["fast--query--S.json"]
    with pytest.raises(ValueError, match="several records of a seed"):
        merge_records([make_run("afk", "S", [0.9]), make_run("afk", "S", [0.9, 0.8])])
    with pytest.raises(ValueError, match="evaluated on different tasks"):
        other = keep_seeds(make_run("afk", "S", [0.9, 0.8], unseen={"CS": [0.1, 0.1]}), [42])
        merge_records([make_run("afk", "S", [0.9]), other])


def test_how_far_a_sweep_is(tmp_path: Path) -> None:
    place = Place(tmp_path / "runs", tmp_path / "results" / "runs")
    write_seed(place, "afk", "S", 24)
    rows = [{"updates": 120, "evaluation": {"success": 0.5}}]
    folder = place.of_seed(42) / "fast--afk--S"
    folder.mkdir(parents=True)
    (folder / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    console = Console(record=True, width=120, quiet=True)
    with console.capture() as shown:
        console.quiet = False
        console.print(overview([Run("fast", "afk", ("qbabyai/danger",), seeds=(24, 42))], place))
    assert re.search(r"fast--afk--S .* 74% trained .* 70.0% .* 5,000,000 .* 2 ", shown.get())


def test_a_worker_trains_on_the_devices_it_is_told_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "compiled"))
    monkeypatch.setenv("NPROC", "2")
    run = Run("laptop", "afk", ("qbabyai/danger",), seeds=(24,))
    start_run(run.config, tmp_path / run.name)
    problem = train_seed(run, tmp_path, 8, Resources(cpus=2, devices=99))
    assert problem and problem.endswith("--devices is from 1 to that, not 99")
    assert not (tmp_path / f"{run.name}.json").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("tabel-1", "--ray", "local"), "did you mean table-1"),
        (("task-statistics", "--ray", "local"), "nothing to train for task-statistics"),
        (("table-1", "--ray", "local", "--agent", "akf"), "did you mean afk"),
        (("table-1", "--ray", "local", "--budget", "many"), "--budget is a number of steps such as"),
        (
            ("table-1", "--ray", "local", "--gpus", "1.5"),
            "--gpus is a part of one or a whole number, not 1.5",
        ),
        (("table-1", "--ray", "local", "--cpus", "-1"), "--cpus is a part of one or a whole number, not -1"),
        (("table-1", "--ray", "local", "--preset", "slow"), "unknown preset 'slow'"),
        (("table-1", "--ray", "local", "--cpus", "0"), "--cpus or --gpus is above 0"),
        (("nowhere.json", "--ray", "local"), "nowhere.json cannot be read: No such file"),
        (("study.json", "--ray", "local", "--seed", "3"), "says what to train: leave out --seed"),
    ],
)
def test_what_the_user_got_wrong_is_one_line(
    arguments: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError) as caught:
        app(["sweep", *arguments], standalone_mode=False)
    assert said in str(caught.value) and "\n" not in str(caught.value)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "lock"]


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
            "says 'seed'; a study has preset, agents, tasks, also, seeds, steps, changes",
        ),
        ([], "holds no JSON object"),
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
    path.write_text(json.dumps({"tasks": ["S", ["SD", "CD"]], "agents": ["afk", "query"], "also": ["CS"]}))
    runs = read_study(path, preset="fast")
    assert [run.name for run in runs] == [
        *("fast--afk--S", "fast--query--S", "fast--afk--SD+CD", "fast--query--SD+CD")
    ]
    assert all(run.seeds == SEEDS and run.steps is None and len(run.also) == 1 for run in runs)


def test_a_study_may_change_numbers_of_its_preset(tmp_path: Path) -> None:
    path = tmp_path / "study.json"
    path.write_text(json.dumps({"tasks": ["S"], "changes": {"settings.entropy_weight": 0.07}}))
    (run,) = read_study(path, preset="laptop")
    before = replace(run, changes=()).config
    assert isinstance(before.settings, Settings) and before.settings.entropy_weight != 0.07
    assert run.config == replace(before, settings=replace(before.settings, entropy_weight=0.07))


def test_no_ray_no_cluster_and_no_machine_are_said_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, study = Place(tmp_path / "runs", tmp_path), [Run("fast", "afk", ("qbabyai/danger",))]
    console = Console(quiet=True)
    options: dict[str, Any] = {"resources": Resources(gpus=2), "levels": 8, "console": console}
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ValueError, match=r"a sweep takes Ray; .* pip install '\.\[sweep\]'"):
        do_sweep(study, place, address="local", **options)
    for address in ("nowhere", "ray:", "[1:2"):
        with pytest.raises(ValueError, match="--ray is local, auto or HOST:PORT, not"):
            check_address(address)
    with pytest.raises(
        ValueError, match=r"no Ray cluster can be reached at 127\.0\.0\.1:1: Connection refused"
    ):
        check_address("127.0.0.1:1")
    nodes = [
        {"Alive": True, "Resources": {"CPU": 4.0}},
        {"Alive": False, "Resources": {"CPU": 4.0, "GPU": 8.0}},
    ]
    with pytest.raises(
        ValueError, match=r"no machine has 1 CPUs and 2 GPUs for a run \(there are 4 CPUs, 0 GPUs\)"
    ):
        check_machines(nodes, "local", Resources(gpus=2), console)
    check_machines(nodes, "local", Resources(cpus=4), console)
