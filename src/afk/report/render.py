"""Tables as text: for the terminal, Markdown, LaTeX, CSV and JSON."""

import csv
import io
from dataclasses import asdict
from typing import Any

from rich import box
from rich.console import Group
from rich.markup import escape
from rich.table import Table as RichTable
from rich.text import Text

from afk.report.tables import Cell, Published, Row, Table

_STYLES = {"better": "green", "worse": "red", "missing": "dim"}
_LATEX = {
    "\\": r"\textbackslash{}",
    "±": r"$\pm$",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}
_FIELDS = ("mean", "std", "low", "high", "seeds", "paper", "paper std", "mark")


def to_markdown(table: Table) -> str:
    """The table with its title and notes."""
    header, *lines = _grid(table)
    shown = [header, ["---"] * len(header), *lines]
    body = "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in shown)
    notes = "\n".join(f"- {note}" for note in table.notes)
    return f"### {table.title}\n\n{body}\n" + (f"\n{notes}\n" if notes else "")


def to_terminal(table: Table) -> Group:
    """The same with colours, folded to the width of the terminal."""
    header, *lines = _grid(table)
    shown = RichTable(*map(escape, header), box=box.MARKDOWN, title=escape(table.title), title_justify="left")
    for line in lines:
        shown.add_row(*(Text(cell, _STYLES.get(cell.rpartition(" ")[2], "")) for cell in line))
    return Group(shown, *(Text(f"  {note}", "dim") for note in table.notes), "")


def to_latex(table: Table) -> str:
    """The table for a paper; it takes the package booktabs."""
    header, *lines = ([_escape(cell) for cell in line] for line in _grid(table))
    last = len(lines) - len(table.averages)
    body = [" & ".join(line) + r" \\" for line in lines]
    if table.averages:
        body.insert(last, r"\midrule")
    return "\n".join(
        [
            rf"% {table.title}",
            rf"\begin{{tabular}}{{{'l' * len(header)}}}",
            r"\toprule",
            " & ".join(header) + r" \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            *(f"% {note}" for note in table.notes),
            "",
        ]
    )


def to_csv(table: Table) -> str:
    """Every number on its own, unrounded: mean, std, low, high, seeds, paper, paper std and mark."""
    rows = (*table.rows, *table.averages)
    is_number = [
        any(isinstance(row.cells[index], Cell) for row in rows) for index in range(len(table.columns))
    ]
    header = list(table.heads)
    for column, numbers in zip(table.columns, is_number, strict=True):
        header += [f"{column.title}: {field}" for field in _FIELDS] if numbers else [column.title]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        line: list[Any] = list(row.heads)
        for cell, numbers in zip(row.cells, is_number, strict=True):
            line += _fields(cell) if isinstance(cell, Cell) else [""] * len(_FIELDS) if numbers else [cell]
        writer.writerow(line)
    return text.getvalue()


def to_json(table: Table) -> dict[str, Any]:
    """The table as plain JSON."""
    titles = [column.title for column in table.columns]

    def describe(row: Row) -> dict[str, Any]:
        cells = (
            asdict(cell) | {"mark": cell.mark, "paper": cell.paper and cell.paper._asdict()}
            if isinstance(cell, Cell)
            else cell
            for cell in row.cells
        )
        return dict(zip(table.heads, row.heads, strict=True)) | dict(zip(titles, cells, strict=True))

    return {
        "name": table.name,
        "title": table.title,
        "rows": [describe(row) for row in table.rows],
        "averages": [describe(row) for row in table.averages],
        "notes": list(table.notes),
    }


def _grid(table: Table) -> list[list[str]]:
    """The table as lines of text, the header first; the paper's numbers in columns of their own."""
    rows = (*table.rows, *table.averages)
    shows_paper = [
        column.shows_paper
        and any(isinstance(cell := row.cells[index], Cell) and cell.paper is not None for row in rows)
        for index, column in enumerate(table.columns)
    ]
    header = list(table.heads)
    for column, paper in zip(table.columns, shows_paper, strict=True):
        header += [column.title, "paper"] if paper else [column.title]
    lines = [header]
    for row in rows:
        line = list(row.heads)
        for cell, paper in zip(row.cells, shows_paper, strict=True):
            line.append(_ours(cell) if isinstance(cell, Cell) else cell)
            if paper:
                line.append(_theirs(cell) if isinstance(cell, Cell) else "")
        lines.append(line)
    return lines


def _ours(cell: Cell) -> str:
    """Our number, how sure it is, and how it compares."""
    if cell.estimate is None:
        return cell.mark
    ours, digits = cell.estimate, cell.digits
    parts = [f"{ours.mean:.{digits}f}"]
    if ours.std is not None:
        parts.append(f"± {ours.std:.{digits}f}")
    if ours.interval:
        parts.append(f"[{ours.interval[0]:.{digits}f}, {ours.interval[1]:.{digits}f}]")
    if ours.seeds == 1:
        parts.append("(1 seed)")
    return " ".join([*parts, *([cell.mark] if cell.mark else [])])


def _theirs(cell: Cell) -> str:
    """The paper's number, with as many digits as it has there."""
    if cell.paper is None:
        return ""
    mean, std = cell.paper
    digits = max(cell.digits, len(str(mean).partition(".")[2]))
    return f"{mean:.{digits}f}" + (f" ± {std:.{cell.digits}f}" if std is not None else "")


def _fields(cell: Cell) -> list[Any]:
    """A cell as fields of a CSV file."""
    ours, paper = cell.estimate, cell.paper or Published(float("nan"))
    low, high = (ours.interval if ours and ours.interval else None) or ("", "")
    numbers = [ours.mean, ours.std, low, high, ours.seeds] if ours else [""] * 5
    published = [paper.mean, paper.std] if cell.paper else ["", ""]
    return ["" if value is None else value for value in (*numbers, *published, cell.mark)]


def _escape(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)
