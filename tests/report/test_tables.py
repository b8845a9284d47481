"""Tables: how numbers are marked, averaged and written."""

import csv
import io
import json
import re

import pytest
from rich.console import Console

from afk.report.estimates import Estimate
from afk.report.render import to_csv, to_json, to_latex, to_markdown, to_terminal
from afk.report.tables import Cell, Column, Published, Row, Table, with_averages


def cell(*values: float, paper: float | None = None, std: float | None = None, better: int = 1) -> Cell:
    published = None if paper is None else Published(paper, std)
    return Cell.of_seeds(values, paper=published, better=better)


@pytest.mark.parametrize(
    ("number", "mark"),
    [
        (cell(paper=90.0), "missing"),
        (cell(), "missing"),
        (cell(95.0, 96.0, 97.0), ""),
        (cell(95.0, 96.0, 97.0, paper=90.0), "better"),
        (cell(95.0, 96.0, 97.0, paper=99.0), "worse"),
        (cell(95.0, 96.0, 97.0, paper=96.5), "same"),
        (cell(95.0, 96.0, 97.0, paper=90.0, better=-1), "worse"),
        (cell(95.0, 96.0, 97.0, paper=99.0, better=-1), "better"),
        (cell(95.0, 96.0, 97.0, paper=90.0, better=0), ""),
        (cell(100.0, 100.0, paper=100.0), "same"),
        (cell(99.97, 99.98, paper=100.0), "same"),  # both are written 100.0
        (cell(95.0, paper=90.0, std=2.0), "better"),
        (cell(95.0, paper=94.0, std=2.0), "same"),
        (cell(95.0, paper=94.0), "better"),
    ],
)
def test_numbers_are_marked(number: Cell, mark: str) -> None:
    assert number.mark == mark


def table() -> Table:
    rows = (
        Row(("C & S_1", "50% {a}"), (cell(10.0, 20.0, paper=5.0, std=1.5), "yes")),
        Row(("D|H", "~^\\"), (cell(paper=0.15, std=0.2), "no, never")),
        Row(("H", "#"), (cell(40.0, 60.0, paper=70.0, std=1.0), "")),
    )
    columns = (Column("afk"), Column("asks"))
    return with_averages(Table("a-table", "Some $ numbers", ("task", "note"), columns, rows, ("Careful.",)))


def test_averages_are_over_rows_with_records_on_both_sides() -> None:
    mean, middle = table().averages
    assert isinstance(mean.cells[0], Cell) and mean.cells[0].estimate and mean.cells[0].paper
    assert mean.heads == ("mean", "") and mean.cells[1] == ""
    assert mean.cells[0].estimate.mean == (15.0 + 50.0) / 2
    assert mean.cells[0].paper.mean == (5.0 + 70.0) / 2, "0.15 stands where ours is missing"
    assert middle.heads[0] == "interquartile mean"
    assert "(afk 2 of 3)" in table().notes[-1]


def test_a_table_of_one_record_has_no_averages() -> None:
    lonely = Table("a", "b", ("task",), (Column("afk"),), (Row(("C",), (cell(1.0, paper=1.0),)),))
    assert with_averages(lonely) == lonely and not lonely.is_empty


def test_markdown_has_a_line_a_row() -> None:
    lines = to_markdown(table()).splitlines()
    assert lines[0] == "### Some $ numbers"
    assert lines[2] == "| task | note | afk | paper | asks |"
    assert lines[4] == "| C & S_1 | 50% {a} | 15.0 ± 7.1 [10.0, 20.0] better | 5.0 ± 1.5 | yes |"
    assert lines[5] == r"| D\|H | ~^\ | missing | 0.15 ± 0.2 | no, never |"
    assert lines[-1].startswith("- Averages") and "- Careful." in lines


def test_csv_parses_back_to_the_numbers() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(table()))))
    assert [row["task"] for row in rows] == ["C & S_1", "D|H", "H", "mean", "interquartile mean"]
    assert (float(rows[0]["afk: mean"]), float(rows[0]["afk: paper"]), rows[0]["afk: mark"]) == (
        15,
        5,
        "better",
    )
    assert float(rows[0]["afk: std"]) == pytest.approx(50**0.5) and rows[0]["afk: seeds"] == "2"
    assert (float(rows[0]["afk: low"]), float(rows[0]["afk: high"])) == (10, 20)
    assert rows[1]["afk: mean"] == "" and rows[1]["afk: mark"] == "missing" and rows[1]["asks"] == "no, never"
    assert rows[3]["afk: std"] == "" and float(rows[3]["afk: mean"]) == 32.5


def test_latex_parses_back_to_the_cells() -> None:
    text = to_latex(table())
    body = text[text.index(r"\toprule") : text.index(r"\bottomrule")]
    lines = [line for line in body.splitlines() if line.endswith(r"\\")]
    cells = [re.split(r"(?<!\\)&", line.removesuffix(r" \\")) for line in lines]
    assert {len(line) for line in cells} == {5}
    assert text.count(r"\begin{tabular}{lllll}") == text.count(r"\end{tabular}") == 1
    assert cells[1][0].strip() == r"C \& S\_1" and cells[1][1].strip() == r"50\% \{a\}"
    assert cells[1][2].strip() == r"15.0 $\pm$ 7.1 [10.0, 20.0] better"
    assert cells[2][1].strip() == r"\textasciitilde{}\textasciicircum{}\textbackslash{}"
    special = re.sub(
        r"\\[&%$#_{}\\]|\$\\pm\$|\\text[a-z]+\{\}", "", " ".join(" ".join(line) for line in cells)
    )
    assert not set(special) & set("&%$#_{}~^\\")


def test_json_holds_every_number() -> None:
    content = json.loads(json.dumps(to_json(table())))
    assert content["rows"][0]["afk"]["values"] == [10.0, 20.0] and content["rows"][0]["asks"] == "yes"
    assert content["rows"][0]["afk"]["paper"] == {"mean": 5.0, "std": 1.5}
    assert content["rows"][1]["afk"]["mark"] == "missing" and len(content["averages"]) == 2


def test_the_terminal_shows_all_of_it() -> None:
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(to_terminal(table()))
    shown = console.export_text()
    assert "Some $ numbers" in shown and "[10.0, 20.0] better" in shown and "Careful." in shown
    wide = Table("a", "[b]", ("x[1]",), (Column("[red]"),), (Row(("[/]",), (Cell(Estimate(1.0)),)),))
    console.print(to_terminal(wide))
    assert "[red]" in console.export_text(clear=False)
