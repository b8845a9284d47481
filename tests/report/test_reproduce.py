"""`afk reproduce`: the paper's items from records, and from runs that it trains."""

import csv
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from afk.agents.agent import Size
from afk.cli import app
from afk.envs.registry import make
from afk.experiments import presets, study
from afk.experiments.evaluate import play_agent, summarise
from afk.experiments.run_record import read_record, short_name, task_named, write_record
from afk.experiments.shelf import load_agent, play_on
from afk.learn.ppo import Settings
from afk.report.archive import read_archive
from afk.report.choice import GRID_TASKS, TEXT_TASKS
from afk.report.estimates import Estimate
from afk.report.items import ITEMS
from afk.report.tables import Cell, Published, Table

from .made_records import SEEDS, make_run

RESULTS = Path(__file__).parents[2] / "results"
TINY = {
    "steps": 4 * 320,
    "size": Size(width=8, head=8, view_layers=1, film_blocks=1, distinct_notes=0),
    "settings": Settings(environments=16, steps=20, minibatches=2, epochs=1),
    "levels": 32,
    "chunk": 1,
    "evaluate_every": 2,
    "evaluation_episodes": 8,
}
Run = Callable[..., tuple[str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """The command, in this process: what it prints, and what it says beside."""

    def run_command(*arguments: object) -> tuple[str, str]:
        capsys.readouterr()
        app(["reproduce", *map(str, arguments)], standalone_mode=False)
        return capsys.readouterr()

    return run_command


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Records of some agents on some tasks, and the paper's numbers."""
    place = tmp_path / "records"
    for agent, success in (("no-query", 0.4), ("afk", 0.95), ("afk-plus", 0.99), ("afk-no-pointer", 0.8)):
        for task in ("C", "S", "CH", "SD", "CS"):
            spread = np.linspace(-0.01, 0.01, len(SEEDS))
            write_record(place / "runs", make_run(agent, task, (success + spread).tolist()))
    write_record(place / "runs", make_run("afk", "qtextworld/take-1", [0.9, 0.8]))
    write_record(place / "runs", make_run("afk", ["SD", "CD"], [0.9, 0.8], unseen={"CS": [0.2, 0.3]}))
    write_record(place / "runs", make_run("afk-plus", [short_name(task) for task in GRID_TASKS], [0.98]))
    for name in ("published", "expert", "textworld-games", "shipped"):
        shutil.copy(RESULTS / f"{name}.json", place)
    return place


def number(table: Table, row: str, column: str) -> Cell:
    """A number of a table."""
    index = [each.title for each in table.columns].index(column)
    found = next(each for each in table.rows if each.heads[0] == row).cells[index]
    assert isinstance(found, Cell)
    return found


def test_table_1_puts_the_papers_numbers_beside_ours(folder: Path) -> None:
    (table,) = ITEMS["table-1"].tables(read_archive(folder))
    assert [row.heads[0] for row in table.rows] == [short_name(task) for task in GRID_TASKS]
    assert [column.title for column in table.columns] == [
        *("no-query", "query", "afk", "afk-plus (one for 15 tasks)", "afk-plus (shipped)")
    ]
    assert "Left out, with records of few of these tasks (see `curves`): afk-plus." in table.notes
    ours = number(table, "CS", "afk")
    assert ours.estimate and ours.estimate.mean == pytest.approx(95) and ours.mark == "better"
    assert ours.paper == (90.3, 1.8) and number(table, "C", "afk").mark == "worse"
    assert number(table, "C", "query").mark == number(table, "DH", "afk").mark == "missing"
    generalist = number(table, "CSDH", "afk-plus (one for 15 tasks)")
    assert generalist.mark == "better" and generalist.paper == (0.0, 0.1)
    assert any("For DH the appendix" in note for note in table.notes)


def test_lengths_are_compared_where_both_solve_the_task(folder: Path) -> None:
    (table,) = ITEMS["lengths"].tables(read_archive(folder))
    assert number(table, "C", "afk").mark == "worse"  # 20 steps are more than 10.8
    assert number(table, "CH", "afk").mark == "better"
    assert number(table, "C", "no-query").mark == "", "a short episode may be a bad one"
    assert number(table, "C", "afk-plus (shipped)").mark == "better"
    assert number(table, "CSDH", "afk-plus (shipped)").mark == "", "the paper's agent fails there"


def test_what_is_shipped_stands_beside_the_paper_where_all_of_it_is_known(folder: Path) -> None:
    archive = read_archive(folder)
    (table,) = ITEMS["table-1"].tables(archive)
    ours = number(table, "CSDH", "afk-plus (shipped)")
    found = archive.shipped[task_named("CSDH")]
    assert ours.estimate and ours.estimate.mean == 100 * found["success"] and ours.mark == "better"
    some = {task: row for task, row in archive.shipped.items() if task != task_named("CSDH")}
    (table,) = ITEMS["table-1"].tables(replace(archive, shipped=some))
    assert not any("shipped" in column.title for column in table.columns)


def test_the_ablation_shows_whole_and_ablated_agents(folder: Path) -> None:
    (table,) = ITEMS["ablation"].tables(read_archive(folder))
    assert [column.title for column in table.columns] == [
        *("afk-no-notebook", "afk-no-pointer", "afk-no-bonus", "afk")
    ]
    assert [row.heads[0] for row in table.rows] == ["C", "S", "D", "H", "CH", "CS", "SD"]
    assert number(table, "CH", "afk-no-pointer").paper == (90.5, 1.4)
    assert number(table, "CH", "afk-no-bonus").paper == (50.0, 1.8)


def test_another_agent_without_its_parts_has_a_table_of_its_own(folder: Path) -> None:
    for agent, success in (("afk-plus", 0.9), ("afk-plus-no-names", 0.4), ("query", 0.1)):
        write_record(folder / "runs", make_run(agent, "SH", [success]))
    published, ours = ITEMS["ablation"].tables(read_archive(folder))
    assert published.name == "ablation" and "SH" not in [row.heads[0] for row in published.rows]
    assert [column.title for column in ours.columns] == ["afk-plus", "afk-plus-no-names"]
    assert number(ours, "SH", "afk-plus-no-names").estimate == Estimate(40.0, seeds=1)


def test_unseen_tasks_and_queries(folder: Path) -> None:
    archive = read_archive(folder)
    (table,) = ITEMS["generalisation"].tables(archive)
    assert [row.heads for row in table.rows] == [("CS", "SD + CD"), ("SD", "CS + CD")]
    assert (
        number(table, "CS", "success").paper == (22.1, 0.7) and number(table, "CS", "success").mark == "same"
    )
    assert number(table, "SD", "success").mark == "missing"
    quality = {table.title: table for table in ITEMS["query-quality"].tables(archive)}
    afk = quality["Quality of the queries of afk (the paper's table 6)"]
    assert [row.heads[0] for row in afk.rows] == ["C", "S", "CS", "CH", "SD", "DH", "Take 1"]
    assert number(afk, "CH", "precision").mark == "better" and number(afk, "DH", "F1").mark == "missing"
    assert not any("no-query" in title for title in quality), "it cannot ask"
    (histogram,) = ITEMS["query-histogram"].tables(archive)
    assert [row.heads[1:] for row in histogram.rows] == [
        *(("CS", "CS"), ("SD + CD", "CS"), ("SD", "SD"), ("CS + CD", "SD"))
    ]
    assert histogram.rows[0].cells[2:] == (
        *("0.0%", "0.0%", "10.0%", "20.0%", "60.0%", "5.0%", "0.0%", "0.0%", "0.0%", "0.0%", "5.0%"),
    )


def test_presets_are_told_apart(folder: Path) -> None:
    write_record(folder / "runs", make_run("afk", "C", [0.5], preset="laptop"))
    (table,) = ITEMS["table-1"].tables(read_archive(folder))
    titles = [column.title for column in table.columns]
    assert titles[2:4] == ["afk (fast)", "afk (laptop)"]
    assert number(table, "C", "afk (laptop)").estimate != number(table, "C", "afk (fast)").estimate


def test_steps_until_success(folder: Path) -> None:
    (table,) = ITEMS["curves"].tables(read_archive(folder))
    row = next(row for row in table.rows if row.heads == ("C", "afk"))
    assert row.cells[1:] == ("2.75M", "4.85M", "not reached")
    assert ("15 tasks together", "afk-plus") in [row.heads for row in table.rows]


def test_shares_are_no_tasks_and_tell_runs_apart(tmp_path: Path) -> None:
    letters = [short_name(task) for task in GRID_TASKS]
    for shares, success in ((letters, 0.1), ([*letters, "CSDH"], 0.9)):
        write_record(tmp_path / "runs", make_run("afk-plus", shares, [success]))
    (table,) = ITEMS["table-1"].tables(read_archive(tmp_path))
    columns = [column.title for column in table.columns]
    cells = next(row.cells for row in table.rows if row.heads[0] == "CSDH")
    found = [
        cell.estimate.mean
        for title, cell in zip(columns, cells, strict=True)
        if "one for 15 tasks" in title and isinstance(cell, Cell) and cell.estimate
    ]
    assert sorted(found) == pytest.approx([10, 90])


def test_shipped_agents_stand_beside_the_papers(folder: Path) -> None:
    (table,) = ITEMS["shipped"].tables(read_archive(folder))
    record = {row["task"]: row for row in json.loads((RESULTS / "shipped.json").read_text())["tasks"]}
    cell, found = number(table, "S", "success"), record["qbabyai/danger"]
    assert cell.estimate and cell.estimate.mean == pytest.approx(100 * found["success"])
    assert cell.estimate.interval == pytest.approx([100 * end for end in found["success_interval"]])
    assert cell.paper == Published(100.0, 0.0) and len(table.rows) == len(record)


@pytest.mark.parametrize("item", ITEMS)
def test_every_item_is_printed_and_written(item: str, folder: Path, tmp_path: Path, run: Run) -> None:
    out = tmp_path / "out"
    printed, _ = run(item, "--from", folder, "--out", out)
    tables = ITEMS[item].tables(read_archive(folder))
    for table in tables:
        assert f"### {table.title}" in printed
        assert (out / f"{table.name}.md").read_text().strip() in printed
        assert r"\begin{tabular}" in (out / f"{table.name}.tex").read_text()
        rows = list(csv.reader((out / f"{table.name}.csv").read_text().splitlines()))
        assert len(rows) == 1 + len(table.rows) + len(table.averages) and len({len(row) for row in rows}) == 1
    figures = {"curves": 5, "query-histogram": 1}.get(item, 0)
    assert [path.read_bytes()[:4] for path in out.glob("*.png")] == [b"\x89PNG"] * figures
    assert [path.read_bytes()[:4] for path in out.glob("*.pdf")] == [b"%PDF"] * figures


@pytest.mark.parametrize("item", ITEMS)
def test_every_item_can_be_empty(item: str, tmp_path: Path, run: Run) -> None:
    (tmp_path / "runs").mkdir()
    printed, said = run(item, "--from", tmp_path, "--out", tmp_path / "out", "--json")
    assert json.loads(printed)["items"][item] and "published.json cannot be read" in said


def test_without_an_item_all_that_there_is_is_printed(tmp_path: Path, run: Run) -> None:
    write_record(tmp_path / "runs", make_run("afk", TEXT_TASKS[0], [0.5]))
    printed, said = run("--from", tmp_path, "--json")
    assert list(json.loads(printed)["items"]) == ["textworld", "query-quality", "task-statistics", "curves"]
    assert "there are no records for table-1" in said


def test_files_that_cannot_be_used_are_named_and_the_rest_is_shown(folder: Path, run: Run) -> None:
    runs = folder / "runs"
    (runs / "fast--afk--S.json").write_text("{")
    (runs / "notes.txt").write_text("buy milk")
    (runs / "fast--query--C.json").write_text(json.dumps({"accuracy": 0.9}))
    (runs / "copy.json").write_bytes((runs / "fast--afk--C.json").read_bytes())
    (runs / "older").mkdir()
    (runs / ".fast--afk--D.json.123").write_text("half of it")
    (folder / "expert.json").write_text("[]")
    (folder / "textworld-games.json").unlink()
    printed, said = run("table-1", "task-statistics", "--from", folder)
    lines = said.splitlines()
    assert len(lines) == 7 and all(line.startswith("note: ") for line in lines)
    for name, wrong in {
        "copy.json": "holds the record that is called fast--afk--C.json",
        "fast--afk--S.json": "is not JSON",
        "fast--query--C.json": "it has no preset",
        "notes.txt": "is not JSON",
        "older": "Is a directory",
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


def test_what_is_missing_is_trained_and_shown(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(presets.PRESETS, "tiny", TINY)
    monkeypatch.setattr(study, "FRESH_LEVELS", 8)  # as many as in an evaluation: it is compiled
    records, runs = tmp_path / "records", tmp_path / "runs"
    options = ["--preset", "tiny", "--agent", "query", "--task", "S", "--seed", 24, "--seed", 7]
    command = ["table-1", "--from", records, "--run", "--runs", runs, "--budget", "1K", *options]
    printed, said = run(*command, "--json")
    assert "waiting" in said and "run 1 of 1: tiny--query--S" in said
    path = records / "runs" / "tiny--query--S.json"
    record = read_record(path)
    assert record.config["steps"] == 1000 and [seed.seed for seed in record.seeds] == [24, 7]
    assert record.seeds[0].curve["steps"] == [320, 640, 960, 1280] and record.compile_seconds
    row = json.loads(printed)["items"]["table-1"][0]["rows"][1]
    success = [100 * seed.final["qbabyai/danger"]["success"] for seed in record.seeds]
    assert row["task"] == "S" and row["query"]["values"] == pytest.approx(success)

    agent = load_agent(runs / "tiny--query--S" / "last-7.safetensors")
    play = play_on(agent, make("qbabyai/danger"), name="it")
    alone = summarise(play_agent(play, agent.network, episodes=8, seed=7))
    fresh = record.seeds[1].fresh["qbabyai/danger"]
    assert {name: fresh[name] for name in alone} == alone, "as `afk eval` finds it"
    assert len(fresh["query_histogram"]) - 1 <= 49 and sum(fresh["query_histogram"]) == 8

    written = path.stat().st_mtime_ns
    _, said = run(*command)
    assert "recorded" in said and "run 1" not in said and path.stat().st_mtime_ns == written

    (runs / "tiny--query--S" / "config.json").write_text(
        json.dumps(replace(agent.config, steps=9999).to_json())
    )
    path.unlink()
    _, said = run(*command)
    assert "not trained" in said and "holds a run with other settings" in said
