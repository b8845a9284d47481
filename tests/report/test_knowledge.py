"""Agents with sources in tables and figures, from rows that a test chooses."""

import json
from pathlib import Path
from typing import Any

import pytest

from afk.report.archive import read_archive
from afk.report.knowledge import BOUND, crossing, halved, knowledge, sweeps
from afk.report.knowledge_figures import draw_knowledge
from afk.report.tables import Cell, Table

TASK = "qbabyai/danger"
PRICES, RATES = (0.0, 0.25, 0.42, 0.6), (0.0, 0.5)


def make_rows(questions: dict[float, float], net: dict[float, float], **about: Any) -> list[dict[str, Any]]:
    """Rows of two seeds, of which the second asks as much and has 0.1 more."""
    return [
        {
            **{"task": TASK, "seed": seed, "sources": 1, "swept": "price", "at": at, "episodes": 10} | about,
            "queries": questions[at],
            "net_return": net[at] + 0.1 * seed,
            "success": 0.9,
            "acted_on_false": 0.0,
        }
        for at in questions
        for seed in range(2)
    ]


@pytest.fixture
def folder(folder: Path) -> Path:
    """Records of an agent that asks up to a price, and of one with half of what can be had."""
    priced = make_rows(
        {0.0: 1.0, 0.25: 1.0, 0.42: 0.2, 0.6: 0.0}, {0.0: 0.9, 0.25: 0.65, 0.42: 0.5, 0.6: 0.5}
    )
    lied_to = make_rows(dict.fromkeys(RATES, 1.5), {0.0: 0.4, 0.5: 0.2}, sources=2, swept="lies")
    (folder / "knowledge-agents.json").write_text(json.dumps({"rows": priced + lied_to}))
    experts = [
        {"task": TASK, "sources": 1, "asker": "asks", "reward": 0.9, "queries": 1.0, "success": 1.0},
        {"task": TASK, "sources": 1, "asker": "does not ask", "reward": 0.5, "queries": 0.0, "success": 0.5},
    ]
    bounds = [
        {"task": TASK, "sources": 2, "asker": BOUND, "swept": "lies", "at": at, "net_return": net}
        for at, net in zip(RATES, (0.9, 0.5), strict=True)
    ]
    (folder / "knowledge-experts.json").write_text(json.dumps({"rows": experts + bounds}))
    return folder


def find_table(folder: Path, name: str) -> Table:
    return next(table for table in knowledge(read_archive(folder)) if table.name == name)


def mean_of(cell: Cell | str) -> float:
    assert isinstance(cell, Cell)
    assert cell.estimate is not None
    return cell.estimate.mean


def test_the_crossing_is_where_both_experts_have_the_same(folder: Path) -> None:
    archive = read_archive(folder)
    sweep = next(each for each in sweeps(archive) if each.swept == "price")
    assert crossing(archive, sweep) == pytest.approx(0.4)


def test_asking_halves_between_two_prices() -> None:
    assert halved([0.0, 0.2, 0.4], [3.0, 2.0, 1.0]) == pytest.approx(0.3)
    assert halved([0.0, 0.2], [3.0, 2.0]) is None


def test_when_asking_is_worth_it(folder: Path) -> None:
    ((row,),) = [find_table(folder, "when-to-ask").rows]
    questions, exact, stops, share = map(mean_of, row.cells)
    assert (questions, exact) == (1.0, pytest.approx(0.4))
    assert stops == pytest.approx(0.25 + 0.17 * 0.5 / 0.8)
    assert share == pytest.approx(100 * (0.9 + 0.65 + 0.5 + 0.5 + 4 * 0.05) / (0.9 + 0.65 + 0.5 + 0.5))


def test_every_price_has_its_row_and_the_experts_pay_it(folder: Path) -> None:
    rows = find_table(folder, "price-of-asking").rows
    assert [row.heads[-1] for row in rows] == ["0", "0.25", "0.42", "0.6"]
    assert [mean_of(row.cells[-2]) for row in rows] == pytest.approx([0.9, 0.65, 0.48, 0.3])


def test_the_share_of_the_bound_is_of_sums_over_rates(folder: Path) -> None:
    ((row,),) = [find_table(folder, "whom-to-believe").rows]
    assert mean_of(row.cells[0]) == pytest.approx(100 * (0.6 + 0.1) / 1.4)


def test_figures_show_prices_and_lies(folder: Path) -> None:
    assert set(draw_knowledge(read_archive(folder))) == {"price-of-asking", "whom-to-believe"}


def test_without_records_there_is_nothing(folder: Path) -> None:
    for name in ("knowledge-agents", "knowledge-experts", "pretrained-sources"):
        (folder / f"{name}.json").unlink()
    archive = read_archive(folder)
    assert all(table.is_empty for table in knowledge(archive))
    assert not draw_knowledge(archive)
    assert sum("No such file" in problem for problem in archive.problems) == 3


def test_who_answers_stands_beside_each_other(folder: Path) -> None:
    rows = [
        {"task": TASK, "told_by": who, "success": success, "success_interval": [0.1, 1.0], "episodes": 10}
        | {"f1": 0.5, "queries": 2.0}
        for who, success in (("oracle", 1.0), ("sql", 0.99), ("no-questions", 0.0))
    ]
    (folder / "pretrained-sources.json").write_text(json.dumps({"rows": rows}))
    table = find_table(folder, "sources")
    shown = {
        column.title: cell.estimate.mean
        for column, cell in zip(table.columns, table.rows[0].cells, strict=True)
        if isinstance(cell, Cell) and cell.estimate
    }
    assert (shown["success, sql"], shown["success, no-questions"], shown["F1, oracle"]) == (99.0, 0.0, 0.5)
    assert "success, documents" not in shown and "10 fresh levels" in table.notes[0]
