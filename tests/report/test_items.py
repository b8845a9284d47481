"""The paper's items from records: what stands in their tables and figures."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from afk.envs.registry import task_named
from afk.knowledge.traits import SourceSpec
from afk.report.archive import read_archive
from afk.report.estimates import Estimate, over_seeds
from afk.report.figures import draw_curves
from afk.report.items import ITEMS
from afk.report.tables import Cell, Published, Table
from afk.studies.plan import GRID_TASKS, RELEASED_TASKS
from afk.studies.record import keep_record, short_name, write_record

from .made_records import RESULTS, make_run


def number(table: Table, row: str, column: str) -> Cell:
    """A number of a table."""
    index = [each.title for each in table.columns].index(column)
    found = next(each for each in table.rows if each.heads[0] == row).cells[index]
    assert isinstance(found, Cell)
    return found


def test_table_1_puts_the_papers_numbers_beside_ours(folder: Path) -> None:
    (table,) = ITEMS["table-1"](read_archive(folder))
    assert [row.heads[0] for row in table.rows] == [short_name(task) for task in GRID_TASKS]
    assert [column.title for column in table.columns] == [
        *("no-query", "query", "afk", "afk-plus (one for 15 tasks)", "afk-plus (pretrained)")
    ]
    assert "Left out, with records of few of these tasks (see `curves`): afk-plus." in table.notes
    ours = number(table, "CS", "afk")
    assert ours.estimate and ours.estimate.mean == pytest.approx(95)
    assert ours.paper == (90.3, 1.8) and ours.mark == "", "its levels are not the paper's"
    assert number(table, "C", "query").mark == number(table, "DH", "afk").mark == "missing"
    generalist = number(table, "CSDH", "afk-plus (one for 15 tasks)")
    assert generalist.estimate and generalist.paper == (0.0, 0.1)
    assert any("For DH the appendix" in note for note in table.notes)


@pytest.mark.parametrize("item", ["table-1", "lengths", "pretrained", "generalisation", "ablation"])
def test_nothing_on_other_levels_than_the_papers_bears_a_mark(item: str, folder: Path) -> None:
    known = set(map(short_name, GRID_TASKS))
    table = ITEMS[item](read_archive(folder))[0]
    rows = [*table.averages, *(row for row in table.rows if row.heads[0] in known)]
    cells = [cell for row in rows for cell in row.cells if isinstance(cell, Cell)]
    assert {cell.mark for cell in cells} <= {"", "missing"} and any(cell.paper for cell in cells)


def test_the_headline_compares_on_the_papers_levels(folder: Path) -> None:
    (table,) = ITEMS["headline"](read_archive(folder))
    for row in ("Object in Box + Danger", "Take 2 Cut"):
        ours, theirs = (number(table, row, column) for column in ("success", "on the paper's levels"))
        assert ours.estimate and ours.paper is None and ours.mark == ""
        assert theirs.estimate and theirs.paper and theirs.mark
    assert ours == replace(theirs, paper=None), "its games are of one kind"


def test_agents_of_the_released_edition_are_compared_with_the_paper(folder: Path) -> None:
    trained = make_run("afk", ["released/CS"], [0.97, 0.99], unseen={"CS": [0.4, 0.4]})
    keep_record(folder / "runs", trained)
    success, lengths, both = ITEMS["released"](read_archive(folder))
    assert [row.heads[0] for row in success.rows] == [short_name(task) for task in GRID_TASKS]
    found = number(success, "CS", "afk")
    assert found.estimate and found.estimate.mean == pytest.approx(98) and found.mark == "better"
    assert number(success, "C", "afk").mark == "missing", "an agent of our levels is none of theirs"
    assert number(lengths, "CS", "afk").mark == "worse"  # on the paper's own levels lengths compare
    shares = [cell.estimate.mean for cell in both.rows[4].cells if isinstance(cell, Cell) and cell.estimate]
    assert both.rows[4].heads == ("CS",) and shares[1] == pytest.approx(40)
    seen = [row.heads for table in ITEMS["generalisation"](read_archive(folder)) for row in table.rows]
    assert not any("released" in head for heads in seen for head in heads)


def test_lengths_are_compared_on_the_papers_levels_where_both_solve_the_task(folder: Path) -> None:
    archive = read_archive(folder)
    levels = {row: {"same_as_ours": True} for row in ("C", "CH", "CSDH")}
    (table,) = ITEMS["lengths"](replace(archive, published=archive.published | {"qbabyai_levels": levels}))
    assert number(table, "C", "afk").mark == "worse"  # 20 steps are more than 10.8
    assert number(table, "CH", "afk").mark == "better"
    assert number(table, "C", "no-query").mark == "", "a short episode may be a bad one"
    assert number(table, "C", "afk-plus (pretrained)").mark == "better"
    assert number(table, "CSDH", "afk-plus (pretrained)").mark == "", "the paper's agent fails there"
    assert number(table, "S", "afk-plus (pretrained)").mark == "", "its levels are not the paper's"


@pytest.mark.parametrize("item", ["lengths", "pretrained", "generalisation"])
def test_the_expert_stands_beside_every_length(item: str, folder: Path) -> None:
    archive = read_archive(folder)
    table = ITEMS[item](archive)[0]
    cell = number(table, "CS", "expert")
    assert cell.estimate and cell.estimate.mean == archive.expert[task_named("CS")]["episode_length"]
    assert cell.paper == (12, None) and cell.mark == "", "what it needs on the paper's levels"


def test_the_expert_alone_is_no_result(folder: Path) -> None:
    for path in (*(folder / "runs").iterdir(), folder / "pretrained.json"):
        path.unlink()
    tables = [table for item in ("lengths", "generalisation") for table in ITEMS[item](read_archive(folder))]
    assert tables and all(table.is_empty for table in tables)


def test_what_is_pretrained_stands_beside_the_paper_where_all_of_it_is_known(folder: Path) -> None:
    archive = read_archive(folder)
    (table,) = ITEMS["table-1"](archive)
    ours = number(table, "CSDH", "afk-plus (pretrained)")
    found = archive.pretrained[task_named("CSDH")]
    assert ours.estimate and ours.estimate.mean == 100 * found["success"]
    some = {task: row for task, row in archive.pretrained.items() if task != task_named("CSDH")}
    (table,) = ITEMS["table-1"](replace(archive, pretrained=some))
    assert not any("pretrained" in column.title for column in table.columns)


def test_the_ablation_shows_whole_and_ablated_agents(folder: Path) -> None:
    (table,) = ITEMS["ablation"](read_archive(folder))
    assert [column.title for column in table.columns] == [
        *("afk-no-notebook", "afk-no-pointer", "afk-no-bonus", "afk")
    ]
    assert [row.heads[0] for row in table.rows] == ["C", "S", "D", "H", "CH", "CS", "SD"]
    assert number(table, "CH", "afk-no-pointer").paper == (90.5, 1.4)
    assert number(table, "CH", "afk-no-bonus").paper == (50.0, 1.8)


def test_whole_agents_stand_beside_ablated_ones_of_the_same_settings(folder: Path) -> None:
    longer = {"steps": 9_000_000, "changes": {"hint_fraction": 0.3}}
    keep_record(folder / "runs", make_run("afk", "CH", [1.0] * 5, **longer))
    archive = read_archive(folder)
    (success,), (table,) = ITEMS["table-1"](archive), ITEMS["ablation"](archive)
    found = [number(each, "CH", "afk").estimate for each in (success, table)]
    assert found[0] and found[1] and (found[0].mean, found[1].mean) == (100, pytest.approx(95))


def test_another_agent_without_its_parts_has_a_table_of_its_own(folder: Path) -> None:
    for agent, success in (("afk-plus", 0.9), ("afk-plus-no-word-cells", 0.4), ("query", 0.1)):
        keep_record(folder / "runs", make_run(agent, "SH", [success]))
    published, ours = ITEMS["ablation"](read_archive(folder))
    assert published.name == "ablation" and "SH" not in [row.heads[0] for row in published.rows]
    assert [column.title for column in ours.columns] == ["afk-plus", "afk-plus-no-word-cells"]
    assert number(ours, "SH", "afk-plus-no-word-cells").estimate == Estimate(40.0, seeds=1)


def test_unseen_tasks_and_queries(folder: Path) -> None:
    archive = read_archive(folder)
    (table,) = ITEMS["generalisation"](archive)
    assert [row.heads for row in table.rows] == [("CS", "SD + CD"), ("SD", "CS + CD")]
    assert number(table, "CS", "success").paper == (22.1, 0.7) and number(table, "CS", "success").estimate
    assert number(table, "SD", "success").mark == "missing"
    quality = {table.title: table for table in ITEMS["query-quality"](archive)}
    afk = quality["Quality of the queries of afk (the paper's table 6)"]
    assert [row.heads[0] for row in afk.rows] == ["C", "S", "CS", "CH", "SD", "DH", "Take 1"]
    assert number(afk, "CH", "precision").estimate and number(afk, "DH", "F1").mark == "missing"
    assert not any("no-query" in title for title in quality), "it cannot ask"
    (histogram,) = ITEMS["query-histogram"](archive)
    assert [row.heads[1:] for row in histogram.rows] == [
        *(("CS", "CS"), ("SD + CD", "CS"), ("SD", "SD"), ("CS + CD", "SD"))
    ]
    assert histogram.rows[0].cells[2:] == (
        *("0.0%", "0.0%", "10.0%", "20.0%", "60.0%", "5.0%", "0.0%", "0.0%", "0.0%", "0.0%", "5.0%"),
    )


def test_a_task_left_out_of_all_is_named_by_itself(folder: Path) -> None:
    others = [short_name(task) for task in GRID_TASKS if task != task_named("SH")]
    keep_record(folder / "runs", make_run("afk-plus", others, [0.9], unseen={"SH": [0.7]}))
    ours = ITEMS["generalisation"](read_archive(folder))[-1]
    assert ("SH", "all but SH") in [row.heads for row in ours.rows]


def test_no_two_curves_look_alike(folder: Path) -> None:
    ablated = [f"afk-{kind}no-{part}" for kind in ("", "plus-") for part in ("bonus", "words", "turns")]
    for agent in ("query", "afk", *ablated):
        keep_record(folder / "runs", make_run(agent, "C", [0.5], preset="laptop"))
    axis = draw_curves(read_archive(folder))["curves-success"].axes[0]
    looks = [(line.get_color(), line.get_linestyle()) for line in axis.lines if line.get_linestyle() != ":"]
    assert len(looks) == len(set(looks)) == 12
    of_afk = {line.get_color() for line in axis.lines if str(line.get_label()).startswith("afk (")}
    assert len(of_afk) == 1, "an agent keeps its colour"


def test_what_is_not_the_presets_is_told(folder: Path) -> None:
    changes = {"random_start_fraction": 0.5, "settings.bonus": 0.05, "settings.discount": 0.9}
    keep_record(folder / "runs", make_run("afk", "H", [0.5], steps=3_000_000, changes=changes))
    (table,) = ITEMS["table-1"](read_archive(folder))
    (note,) = [note for note in table.notes if note.startswith("afk: ")]
    assert note.startswith(
        "afk: preset fast with settings.discount 0.9, random_start_fraction 0.5 on H, steps a seed "
    )


def test_a_run_that_several_rows_rest_on_is_told_once(folder: Path) -> None:
    more: dict[str, Any] = {"steps": 3_000_000, "changes": {"distractor_fraction": 0.5}}
    run = make_run("afk-plus", ["C", "S"], [0.9], unseen={"CS": [0.5], "CSD": [0.4]}, **more)
    keep_record(folder / "runs", run)
    ours = ITEMS["generalisation"](read_archive(folder))[-1]
    assert [row.heads for row in ours.rows[2:4]] == [("CS", "C + S"), ("CSD", "C + S")]
    (note,) = [note for note in ours.notes if note.startswith("afk-plus: ")]
    assert note.startswith("afk-plus: preset fast with distractor_fraction 0.5 on C + S, steps a seed ")


def test_agents_that_keep_an_answer_in_view_have_a_table_of_their_own(folder: Path) -> None:
    items = ("ablation", "curves", "table-1")
    before = [ITEMS[item](read_archive(folder)) for item in items]
    assert ITEMS["last-answer"](read_archive(folder))[0].is_empty
    kept: dict[str, Any] = {"steps": 9_000_000, "changes": {"keep_last_answer": True}}
    keep_record(folder / "runs", make_run("afk-no-notebook", "S", [0.25], steps=1_000_000))
    keep_record(folder / "runs", make_run("afk-no-notebook", "S", [0.5, 0.75], **kept))
    archive = read_archive(folder)
    (table,) = ITEMS["last-answer"](archive)
    (row,) = table.rows
    assert row.heads == ("S", "afk-no-notebook")
    assert number(table, "S", "success, until the next question").estimate == over_seeds([50, 75])
    assert number(table, "S", "success, until the next question").paper, "its code keeps answers, too"
    one_step = next(
        run for run in archive.runs if (run.agent, run.tasks) == ("afk-no-notebook", ("qbabyai/danger",))
    )
    assert number(table, "S", "success, for one step").estimate == over_seeds([25])
    assert not one_step.config["keep_last_answer"], "fewer seeds and steps, but what other tables are about"
    (folder / "runs" / f"{one_step.name}.json").unlink()
    assert [ITEMS[item](read_archive(folder)) for item in items] == before, "no other table knows of it"


def test_runs_with_sources_are_in_no_table_of_the_papers(folder: Path) -> None:
    before = ITEMS["table-1"](read_archive(folder))
    run = make_run("afk", "S", [0.1] * 5, steps=9_000_000)
    specs = [SourceSpec(price=(0.0, 0.5)).to_json()]
    keep_record(folder / "runs", replace(run, config=run.config | {"sources": specs}))
    archive = read_archive(folder)
    assert len(archive.apart) == 1 and ITEMS["table-1"](archive) == before


def test_presets_are_told_apart(folder: Path) -> None:
    keep_record(folder / "runs", make_run("afk", "C", [0.5], preset="laptop"))
    (table,) = ITEMS["table-1"](read_archive(folder))
    titles = [column.title for column in table.columns]
    assert titles[2:4] == ["afk (fast)", "afk (laptop)"]
    assert number(table, "C", "afk (laptop)").estimate != number(table, "C", "afk (fast)").estimate


def test_of_several_runs_the_one_with_most_seeds_is_shown_then_the_longest(tmp_path: Path) -> None:
    def shown() -> float:
        (run,) = read_archive(tmp_path).runs
        return run.seeds[0].final["qbabyai/danger"]["success"]

    for success, seeds, steps in ((0.1, 1, 3_000_000), (0.2, 1, 5_000_000), (0.3, 2, 2_000_000)):
        keep_record(tmp_path / "runs", make_run("afk", "S", [success] * seeds, steps=steps))
        assert shown() == success
    keep_record(tmp_path / "runs", make_run("afk", "S", [0.4, 0.4], steps=1_000_000))
    assert shown() == 0.3 and len([*(tmp_path / "runs").iterdir()]) == 4


def test_records_in_the_folders_of_runs_are_read_too(tmp_path: Path) -> None:
    write_record(tmp_path / "runs" / "last" / "record.json", make_run("afk", "S", [0.5]))
    write_record(tmp_path / "runs" / "mine" / "record.json", make_run("afk", "C", [0.25]))
    keep_record(tmp_path / "runs", make_run("afk", "S", [0.75, 0.75]))
    (tmp_path / "runs" / "under-way").mkdir()
    archive = read_archive(tmp_path)
    assert not any(str(tmp_path / "runs") in problem for problem in archive.problems)
    (table,) = ITEMS["table-1"](archive)
    found = [number(table, row, "afk").estimate for row in ("S", "C")]
    assert [each.mean for each in found if each] == [75, 25]


def test_steps_until_success(folder: Path) -> None:
    (table,) = ITEMS["curves"](read_archive(folder))
    row = next(row for row in table.rows if row.heads == ("C", "afk"))
    assert row.cells[1:] == ("2.75M", "4.85M", "not reached")
    assert ("15 tasks together", "afk-plus") in [row.heads for row in table.rows]


def test_shares_are_no_tasks_and_tell_runs_apart(tmp_path: Path) -> None:
    letters = [short_name(task) for task in GRID_TASKS]
    for shares, success in ((letters, 0.1), ([*letters, "CSDH"], 0.9)):
        keep_record(tmp_path / "runs", make_run("afk-plus", shares, [success]))
    (table,) = ITEMS["table-1"](read_archive(tmp_path))
    columns = [column.title for column in table.columns]
    cells = next(row.cells for row in table.rows if row.heads[0] == "CSDH")
    found = [
        cell.estimate.mean
        for title, cell in zip(columns, cells, strict=True)
        if "one for 15 tasks" in title and isinstance(cell, Cell) and cell.estimate
    ]
    assert sorted(found) == pytest.approx([10, 90])


def test_pretrained_agents_stand_beside_the_papers(folder: Path) -> None:
    (table,) = ITEMS["pretrained"](read_archive(folder))
    record = {row["task"]: row for row in json.loads((RESULTS / "pretrained.json").read_text())["tasks"]}
    cell, found = number(table, "S", "success"), record["qbabyai/danger"]
    assert cell.estimate and cell.estimate.mean == pytest.approx(100 * found["success"])
    assert cell.estimate.interval == pytest.approx([100 * end for end in found["success_interval"]])
    ours = [task for task in record if task not in RELEASED_TASKS]
    assert cell.paper == Published(100.0, 0.0) and len(table.rows) == len(ours) == 19
