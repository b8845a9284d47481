"""Tables of numbers beside published ones: what stands in them, whatever they are written as."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from afk.report.estimates import Estimate, interquartile_mean, over_seeds, over_tasks, plain_mean

MISSING = "missing"


class Published(NamedTuple):
    """A number of the paper, with its standard deviation where it gives one."""

    mean: float
    std: float | None = None


@dataclass(frozen=True)
class Cell:
    """A number of ours beside the paper's.

    Attributes:
        estimate: ours; None while there is no record.
        paper: the published number.
        better: 1 if more is better, -1 if less is, 0 if neither or if the two cannot be compared.
        digits: after the decimal point.
        values: ours, seed by seed, for averages over tasks.
    """

    estimate: Estimate | None = None
    paper: Published | None = None
    better: int = 0
    digits: int = 1
    values: tuple[float, ...] = ()

    @staticmethod
    def of_seeds(values: Sequence[float], **more: Any) -> "Cell":
        """A number for each seed; none if it is missing."""
        return Cell(over_seeds(values) if values else None, values=tuple(values), **more)

    @property
    def mark(self) -> str:
        """Better or worse than published, the same, missing, or nothing if that cannot be said.

        It is the same where the published mean lies within our interval (within its own deviation of ours, if
        we have none, as with one seed), and where both are written alike.
        """
        if self.estimate is None:
            return MISSING
        if self.paper is None or not self.better:
            return ""
        ours, theirs = self.estimate, self.paper.mean
        spread = self.paper.std or 0.0
        low, high = ours.interval or (ours.mean - spread, ours.mean + spread)
        written_alike = round(ours.mean, self.digits) == round(theirs, self.digits)
        if low <= theirs <= high or written_alike:
            return "same"
        return "better" if (ours.mean > theirs) == (self.better > 0) else "worse"


class Column(NamedTuple):
    """A column of cells.

    Attributes:
        title: what it is called.
        shows_paper: whether the paper's numbers stand beside ours; they may do in another column.
        is_reference: whether it is there to hold others against, and no result itself.
    """

    title: str
    shows_paper: bool = True
    is_reference: bool = False


class Row(NamedTuple):
    """A row: what it is about, then a number or a word for each column."""

    heads: tuple[str, ...]
    cells: tuple[Cell | str, ...]


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        name: of its files.
        title: what it shows, in one line.
        heads: the titles of the columns that say what a row is about.
        columns: those of the numbers.
        rows: in order.
        notes: what a reader has to know, a line each.
        averages: rows of averages over the others.
    """

    name: str
    title: str
    heads: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    averages: tuple[Row, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether no number of ours is in it but for references."""
        cells = (
            cell
            for row in self.rows
            for column, cell in zip(self.columns, row.cells, strict=True)
            if not column.is_reference
        )
        return not any(isinstance(cell, Cell) and cell.estimate for cell in cells)


def with_averages(table: Table) -> Table:
    """The table with the mean and the interquartile mean across its rows.

    Only rows with a number of ours are averaged, on both sides, so that like is compared with like.
    """
    columns = [[row.cells[index] for row in table.rows] for index in range(len(table.columns))]
    counts = [sum(isinstance(cell, Cell) and bool(cell.values) for cell in column) for column in columns]
    if max(counts, default=0) < 2:
        return table
    rows = []
    for title, average in (("mean", plain_mean), ("interquartile mean", interquartile_mean)):
        cells = tuple(_average(column, average) for column in columns)
        rows.append(Row((title, *[""] * (len(table.heads) - 1)), cells))
    fewer = [
        f"{column.title} {count}"
        for column, count in zip(table.columns, counts, strict=True)
        if 0 < count < len(table.rows)
    ]
    some = f" ({', '.join(fewer)} of {len(table.rows)})" if fewer else ""
    note = f"Averages are over the rows with records{some}, the paper's over the same rows."
    return replace(table, averages=tuple(rows), notes=(*table.notes, note))


def _average(column: list[Cell | str], average: Any) -> Cell | str:
    """The average of a column; the paper's over the same rows, if it has a number for each."""
    cells = [cell for cell in column if isinstance(cell, Cell) and cell.values]
    if not cells:
        return ""
    published = [cell.paper.mean for cell in cells if cell.paper]
    complete = len(published) == len(cells)
    return Cell(
        over_tasks([cell.values for cell in cells], average),
        Published(round(float(average(np.array(published))), cells[0].digits)) if complete else None,
        better=cells[0].better if len({cell.better for cell in cells}) == 1 else 0,
        digits=cells[0].digits,
    )
