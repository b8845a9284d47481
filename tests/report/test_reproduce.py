"""`afk reproduce`: the paper's items from records, and from runs that it trains."""

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from afk.cli.main import app
from afk.envs.registry import make
from afk.report.archive import find_records, read_archive
from afk.report.items import ITEMS
from afk.studies import study
from afk.studies.plan import TEXT_TASKS
from afk.studies.record import keep_record, read_record
from afk.training.evaluate import play_agent, summarise
from afk.training.pretrained import load_agent, play_on

from ..training.tiny_run import add_tiny_preset
from .made_records import make_run

Run = Callable[..., tuple[str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """The command, in this process: what it prints, and what it says beside."""

    def run_command(*arguments: object) -> tuple[str, str]:
        capsys.readouterr()
        app(["reproduce", *map(str, arguments)], standalone_mode=False)
        return capsys.readouterr()

    return run_command


@pytest.mark.parametrize("item", ITEMS)
def test_every_item_is_printed_and_written(item: str, folder: Path, tmp_path: Path, run: Run) -> None:
    out = tmp_path / "out"
    printed, _ = run(item, "--from", folder, "--out", out)
    tables = ITEMS[item](read_archive(folder))
    for table in tables:
        assert f"### {table.title}" in printed
        assert (out / f"{table.name}.md").read_text().strip() in printed
        assert r"\begin{tabular}" in (out / f"{table.name}.tex").read_text()
        rows = list(csv.reader((out / f"{table.name}.csv").read_text().splitlines()))
        assert len(rows) == 1 + len(table.rows) + len(table.averages) and len({len(row) for row in rows}) == 1
    figures = {"curves": 5, "query-histogram": 1, "knowledge": 2}.get(item, 0)
    assert [path.read_bytes()[:4] for path in out.glob("*.png")] == [b"\x89PNG"] * figures
    assert [path.read_bytes()[:4] for path in out.glob("*.pdf")] == [b"%PDF"] * figures


@pytest.mark.parametrize("item", ITEMS)
def test_every_item_can_be_empty(item: str, tmp_path: Path, run: Run) -> None:
    (tmp_path / "runs").mkdir()
    printed, said = run(item, "--from", tmp_path, "--out", tmp_path / "out", "--json")
    assert json.loads(printed)["items"][item] and "published.json cannot be read" in said


def test_without_an_item_all_that_there_is_is_printed(tmp_path: Path, run: Run) -> None:
    keep_record(tmp_path / "runs", make_run("afk", TEXT_TASKS[0], [0.5]))
    printed, said = run("--from", tmp_path, "--json")
    assert list(json.loads(printed)["items"]) == ["textworld", "query-quality", "task-statistics", "curves"]
    assert "there are no records for table-1" in said


def test_files_that_cannot_be_used_are_named_and_the_rest_is_shown(folder: Path, run: Run) -> None:
    runs = folder / "runs"
    broken, foreign, whole = (runs / f"{make_run('afk', task, [0.5]).name}.json" for task in ("S", "CS", "C"))
    broken.write_text("{")
    foreign.write_text(json.dumps({"accuracy": 0.9}))
    (runs / "notes.txt").write_text("buy milk")
    (runs / "copy.json").write_bytes(whole.read_bytes())
    (runs / "older").mkdir()
    (runs / "stopped").mkdir()
    (runs / "stopped" / "record.json").write_text("[]")
    (runs / ".half.json.123").write_text("half of it")
    (folder / "expert.json").write_text("[]")
    (folder / "textworld-games.json").unlink()
    printed, said = run("table-1", "task-statistics", "--from", folder)
    lines = said.splitlines()
    assert len(lines) == 6 and all(line.startswith("note: ") for line in lines)
    for name, wrong in {
        broken.name: "is not JSON",
        foreign.name: "it has no config, variant, machine, seeds",
        "notes.txt": "is not JSON",
        "stopped/record.json": "it holds no JSON object",
        "expert.json": "it holds no JSON object",
        "textworld-games.json": "No such file",
    }.items():
        assert any(name in line and wrong in line for line in lines), name
    assert "| C | 40.0 ± 0.8" in printed and "Tasks of Q-BabyAI" in printed


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("tabel-1",), "did you mean table-1"),
        (("table-1", "--from", "nowhere"), "there is no folder of records nowhere"),
        (("table-1", "--budget", "5M"), "--budget says what to train: give --run as well"),
        (("table-1", "--task", "S"), "--task says what to train: give --run as well"),
        (("table-1", "--run", "--budget", "many"), "such as 500K or 20M"),
        (("table-1", "--run", "--budget", "-5M"), "such as 500K or 20M"),
        (("table-1", "--run", "--task", "qbabyai/dangre"), "did you mean qbabyai/danger"),
        (("table-1", "--run", "--agent", "akf"), "did you mean afk"),
        (("table-1", "--run", "--task", "qtextworld/take-1"), "nothing to train for table-1"),
        (("task-statistics", "--run"), "nothing to train for task-statistics"),
    ],
)
def test_what_the_user_got_wrong_is_one_line(
    arguments: tuple[str, ...], said: str, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError) as caught:
        run(*arguments)
    assert said in str(caught.value) and "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir()), "nothing is left behind"


def test_elsewhere_the_records_of_the_package_are_read(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    printed, _ = run("pretrained")
    assert find_records().is_absolute() and "| CSDH |" in printed
    package = tmp_path / "lib" / "afk"  # as pip installs it, with no source tree above it
    monkeypatch.setattr("afk.__file__", str(package / "__init__.py"))
    with pytest.raises(ValueError, match="there is no folder of records results"):
        run("pretrained")
    for folder in (package / "records", Path("results")):  # the records of whoever works here come first
        folder.mkdir(parents=True)
        (folder / "published.json").write_text("{}")
        assert find_records() == folder


@pytest.mark.slow
def test_what_is_missing_is_trained_and_shown(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    add_tiny_preset(monkeypatch)
    monkeypatch.setattr(study, "FRESH_LEVELS", 8)  # as many as in an evaluation: it is compiled
    records, runs = tmp_path / "records", tmp_path / "runs"
    options = ["--preset", "tiny", "--agent", "query", "--task", "S", "--seed", 24, "--seed", 7]
    command = ["table-1", "--from", records, "--run", "--runs", runs, "--budget", "1K", *options]
    printed, said = run(*command, "--json")
    assert "waiting" in said and "run 1 of 1: tiny--query--S--steps=1000--" in said
    (path,) = (records / "runs").glob("*.json")
    record = read_record(path)
    assert path.name == f"{record.name}.json" and record.name.startswith("tiny--query--S--steps=1000--")
    assert record.config["steps"] == 1000 and [seed.seed for seed in record.seeds] == [24, 7]
    assert record.seeds[0].curve["steps"] == [*range(160, 1121, 160)] and record.compile_seconds
    row = json.loads(printed)["items"]["table-1"][0]["rows"][1]
    success = [100 * seed.final["qbabyai/danger"]["success"] for seed in record.seeds]
    assert row["task"] == "S" and row["query"]["values"] == pytest.approx(success)

    (folder,) = runs.iterdir()
    assert folder.name == f"{record.name}--seeds-24+7" and read_record(folder / "record.json") == record
    agent = load_agent(folder / "last-7.safetensors")
    play = play_on(agent, make("qbabyai/danger"), name="it")
    alone = summarise(play_agent(play, agent.network, episodes=8, seed=7))
    fresh = record.seeds[1].fresh["qbabyai/danger"]
    assert {name: fresh[name] for name in alone} == alone, "as `afk eval` finds it"
    assert len(fresh["query_histogram"]) - 1 <= 49 and sum(fresh["query_histogram"]) == 8

    written = path.stat().st_mtime_ns
    _, said = run(*command)
    assert "recorded" in said and "run 1" not in said and path.stat().st_mtime_ns == written

    (folder / "config.json").write_text(json.dumps(replace(agent.config, steps=9999).to_json()))
    path.unlink()
    code = app(["reproduce", *map(str, command)], standalone_mode=False)
    said = capsys.readouterr().err
    assert code == 1
    assert "error: not trained" in said and "holds another run: steps is 9999, not 1000" in said
