"""The agents that come with the package, by who answers: the oracle, other sources, nobody, and all told."""

from typing import Any

from afk.report.archive import Archive
from afk.report.columns import TEXT_TASKS, published_row
from afk.report.estimates import Estimate
from afk.report.tables import Cell, Column, Row, Table
from afk.studies.plan import GRID_TASKS

_SOURCES = ("oracle", "sql", "documents")
# A column: its title, the measure, and who tells.
_COLUMNS = (
    *((f"success, {who}", "success", who) for who in (*_SOURCES, "no-questions", "all-told")),
    *((f"F1, {who}", "f1", who) for who in _SOURCES),
    *((f"questions, {who}", "queries", who) for who in ("oracle", "no-questions")),
)


def sources(archive: Archive) -> Table:
    """A row a task; all play the same levels."""
    found = {(row["task"], row["told_by"]): row for row in archive.pretrained_sources}
    tasks = [task for task in (*GRID_TASKS, *TEXT_TASKS) if any(task == known for known, _ in found)]
    rows = [
        Row((published_row(task),), tuple(_cell(found.get((task, who)), name) for _, name, who in _COLUMNS))
        for task in tasks
    ]
    counts = sorted({row["episodes"] for row in found.values()})
    levels = f"{', '.join(map(str, counts))} fresh levels of each task, the same in each column."
    notes = (
        f"Success is in percent. {levels} SQL and documents know what was true at the start; with "
        "no-questions each question is refused, with all-told the answers to all good queries are known from "
        "the start (benchmarks/pretrained_sources.py).",
    )
    columns = tuple(Column(title) for title, *_ in _COLUMNS)
    title = "The agents that come with the package, by who answers"
    return Table("sources", title, ("task",), columns, tuple(rows), notes)


def _cell(row: dict[str, Any] | None, measure: str) -> Cell:
    """A measure of a row; nothing where there is none."""
    if row is None:
        return Cell()
    if measure != "success":
        return Cell(Estimate(row[measure]), digits=2 if measure == "f1" else 1)
    low, high = (100 * each for each in row["success_interval"])
    return Cell(Estimate(100 * row["success"], interval=(low, high)))
