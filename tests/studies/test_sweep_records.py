"""What sweeps do without a cluster: locks of folders, records of seeds gathered, and refusals."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from afk.cli.main import app
from afk.studies.cluster import Resources, check_address, check_machines
from afk.studies.record import RunRecord, keep_record, read_record, write_record
from afk.studies.study import RECORD, run_folder
from afk.studies.sweep import do_sweep, train_seed
from afk.training.config import Config
from afk.training.lock import lock
from afk.training.presets import preset
from afk.training.trainer import start_run

from ..report.made_records import make_run, only


def test_a_folder_is_for_one_process_at_a_time(tmp_path: Path) -> None:
    holder = (
        "import sys, time; from pathlib import Path; from afk.training.lock import lock\n"
        "with lock(Path(sys.argv[1])): print('mine', flush=True); time.sleep(100)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holder, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout and process.stdout.readline() == "mine\n"
        with pytest.raises(ValueError, match=f"is in use by process {process.pid} on "), lock(tmp_path):
            pass
        process.kill()
    with lock(tmp_path, wait=True):
        assert f"process {os.getpid()} on" in (tmp_path / "lock").read_text()
    assert (tmp_path / "lock").read_text() == "", "nobody has it"


def test_a_run_that_another_process_trains_is_not_touched(tmp_path: Path) -> None:
    config = preset("laptop", ["qbabyai/danger"])
    start_run(config, tmp_path / "run")
    with lock(tmp_path / "run"), pytest.raises(ValueError, match="run is in use by process"):
        app(["train", "--resume", str(tmp_path / "run")], standalone_mode=False)
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["config.json", "lock"]


class Place:
    """Where a sweep keeps runs and records."""

    def __init__(self, folder: Path) -> None:
        self.runs, self.records = folder / "runs", folder / "results" / "runs"

    def write_seed(self, run: Config, seed: int, **changes: Any) -> RunRecord:
        """The record of one seed, as a worker leaves it in the folder of its run."""
        unseen = {task: [0.1] * 5 for task in run.held_out}
        made = make_run(run.agent, run.tasks, [0.9, 0.8, 0.7, 0.6, 0.5], unseen=unseen)
        record, cell = replace(only(made, seed), **changes), replace(run, seeds=(seed,))
        folder = run_folder(self.runs, cell)
        if not folder.exists():
            start_run(cell, folder)
        write_record(folder / RECORD, record)
        return record

    def sweep(self, *study: Config) -> list[str]:
        """A sweep on a cluster that is not there."""
        nowhere: dict[str, Any] = {"address": "nowhere", "resources": Resources(), "levels": 8}
        return do_sweep(study, runs=self.runs, records=self.records, console=Console(quiet=True), **nowhere)

    @property
    def names(self) -> list[str]:
        """The names of the records."""
        return sorted(path.stem for path in self.records.glob("*.json"))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


RUN = preset("fast", ["S"], seeds=(24, 42))
NOWHERE = "--ray is local, auto or HOST:PORT, not 'nowhere'"
UNSEEN = "qbabyai/open-door"


def test_a_run_of_other_settings_has_a_record_of_its_own(place: Place) -> None:
    keep_record(place.records, make_run("afk", "S", [0.9, 0.9], steps=3_000_000))
    with pytest.raises(ValueError, match=NOWHERE):
        place.sweep(RUN)
    folders = sorted(path.name for path in place.runs.iterdir() if path.is_dir())
    assert folders == [f"fast--afk--S--{RUN.identity}--seeds-{seed}" for seed in (24, 42)]
    assert place.sweep(replace(RUN, steps=3_000_000)) == [], "that one is recorded"
    assert len(place.names) == 1


def test_the_records_of_seeds_are_gathered(place: Place) -> None:
    first = place.write_seed(RUN, 24, machine={"device": "one", "cores": 2}, training_seconds=10.0)
    second = place.write_seed(RUN, 42, machine={"device": "other", "cores": 2}, compile_seconds=3.0)
    assert place.sweep(RUN) == []
    (path,) = place.records.glob("*.json")
    assert path.name == f"fast--afk--S--{RUN.identity}.json"
    record = read_record(path)
    assert record.seeds == (*first.seeds, *second.seeds) and record.config["seeds"] == [24, 42]
    assert record.machine == {"device": "one, other", "cores": 2} and record.compile_seconds is None
    assert record.training_seconds == 10 + second.training_seconds

    third = place.write_seed(RUN, 123)
    assert place.sweep(replace(RUN, seeds=(123,), preset="another name")) == []
    assert read_record(path).seeds == (*first.seeds, *second.seeds, *third.seeds), "earlier seeds are kept"
    written = path.stat().st_mtime_ns
    assert place.sweep(RUN) == [] and path.stat().st_mtime_ns == written


def test_seeds_are_gathered_as_they_come(place: Place) -> None:
    place.write_seed(RUN, 42)
    with pytest.raises(ValueError, match=NOWHERE):
        place.sweep(RUN)
    (path,) = place.records.glob("*.json")
    assert [each.seed for each in read_record(path).seeds] == [42]
    place.write_seed(RUN, 24)
    assert place.sweep(RUN) == []
    assert {each.seed for each in read_record(path).seeds} == {24, 42}


def test_a_task_that_is_to_be_played_unseen_is_played_by_all_seeds(place: Place) -> None:
    for seed in RUN.seeds:
        place.write_seed(RUN, seed)
    assert place.sweep(RUN) == []
    (path,) = place.records.glob("*.json")
    more, written = replace(RUN, seeds=(42, 123), held_out=(UNSEEN,)), path.stat().st_mtime_ns
    for seed in (123, 42):
        place.write_seed(more, seed)
        with pytest.raises(ValueError, match=NOWHERE):
            place.sweep(more)
        assert path.stat().st_mtime_ns == written, "seed 24 has not played yet: what was evaluated is kept"
    place.write_seed(more, 24)
    assert place.sweep(more) == []
    record = read_record(path)
    assert [each.seed for each in record.seeds] == [24, 42, 123]
    assert all(each.fresh.keys() == {"qbabyai/danger", UNSEEN} for each in record.seeds)
    assert place.sweep(replace(more, held_out=())) == []


def test_what_cannot_be_gathered_does_not_keep_others_from_it(place: Place) -> None:
    place.write_seed(RUN, 24)
    place.write_seed(RUN, 42, variant={"asks": False})
    with pytest.raises(ValueError, match=r"there are records of fast--afk--S--\w+ with different settings"):
        place.sweep(RUN)
    assert not place.records.exists()
    other = preset("fast", ["S"], agent="query", seeds=(24,))
    place.write_seed(other, 24)
    (said,) = place.sweep(RUN, other)
    assert "with different settings" in said, "the others go on"
    assert place.names == [f"fast--query--S--{other.identity}"]
    folder = run_folder(place.runs, third := replace(other, seeds=(42,)))
    start_run(replace(third, steps=7), folder)
    with pytest.raises(ValueError, match="holds another run: steps is 7, not 5000000"):
        place.sweep(third)


def test_a_worker_trains_on_the_devices_it_is_told_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "compiled"))
    monkeypatch.setenv("NPROC", "2")
    folder = tmp_path / "run"
    start_run(preset("laptop", ["S"]), folder)
    problem = train_seed(preset("laptop", ["S"]), folder, 8, Resources(cpus=2, devices=99))
    assert problem and problem.endswith("--devices is from 1 to that, not 99")
    assert not (folder / RECORD).exists()


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
        (("table-1", "--ray", "nowhere"), "--ray is local, auto or HOST:PORT, not 'nowhere'"),
        (("nowhere.json", "--ray", "local"), "nowhere.json cannot be read: No such file"),
        (("study.json", "--ray", "local", "--seed", "3"), "says what to train: leave out --seed"),
    ],
)
def test_what_the_user_got_wrong_is_one_line(
    arguments: tuple[str, ...],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError) as caught:
        app(["sweep", *arguments], standalone_mode=False)
    assert said in str(caught.value) and "\n" not in str(caught.value)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "lock"]


def test_runs_are_listed_once_there_is_a_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"no Ray cluster can be reached at 127.0.0.1:1"):
        app(["sweep", "table-1", "--ray", "127.0.0.1:1", "--task", "C"], standalone_mode=False)
    assert not "".join(capfd.readouterr())


def test_no_ray_no_cluster_and_no_machine_are_said_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    console = Console(quiet=True)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ValueError, match=r"a sweep takes Ray: pip install 'afk-rl\[sweep\]'"):
        do_sweep(
            [RUN],
            runs=tmp_path / "runs",
            records=tmp_path,
            address="local",
            resources=Resources(gpus=2),
            levels=8,
            console=console,
        )
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
