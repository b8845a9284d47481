"""What the agents that come with the package do on fresh levels."""

from dataclasses import replace
from typing import Any

from afk.checks import is_number
from afk.envs.registry import find_task, task_named
from afk.report.archive import Archive
from afk.report.columns import EXPERT, TEXT_TASKS, expert_steps, published_row
from afk.report.comparisons import LENGTHS, LETTERS, pretrained_cell
from afk.report.tables import Cell, Column, Row, Table
from afk.studies.plan import GRID_TASKS, RELEASED_TASKS
from afk.studies.record import SHARES

# A column: its title, the measure, the paper's table that has it too, and whether more is better.
_COLUMNS = (
    ("success", "success", "success", 1),
    ("steps", "episode_length", "episode_length", -1),
    ("queries", "queries", "", 0),
    ("|Q_t|", "good_queries", "", 0),
    ("precision", "precision", "", 0),
    ("recall", "recall", "", 0),
    ("F1", "f1", "", 0),
)
_AFTER_STEPS = 2  # where the expert's column goes
_QUERIES = 3  # where that of questions is then
# Of each world what is easy, what is composed, and what is hardest.
_HEADLINE = tuple(map(task_named, ("S", "CS", "CSD", "CSDH", "qtextworld/take-1", "qtextworld/take-2-cut")))


def pretrained(archive: Archive) -> list[Table]:
    """A row a task, beside the paper's agent for that task."""
    rows = [_row(archive, task) for task in (*GRID_TASKS, *TEXT_TASKS) if task in archive.pretrained]
    episodes = {row.get("episodes") for row in archive.pretrained.values()}
    notes = (
        LETTERS,
        LENGTHS,
        f"One agent for all tasks of Q-BabyAI and one for those of Q-TextWorld, on {_say(episodes)} fresh "
        "levels of each, with the 95% interval (benchmarks/pretrained.py); the paper has an agent a task.",
    )
    title = "The agents that come with the package"
    columns = [Column(name) for name, *_ in _COLUMNS]
    columns.insert(_AFTER_STEPS, EXPERT)
    return [Table("pretrained", title, ("task",), tuple(columns), tuple(rows), notes)]


def headline(archive: Archive) -> list[Table]:
    """Success on six tasks, for the README: of `pretrained`, what a reader wants to know first."""
    rows, on_its_levels = [], dict(zip(GRID_TASKS, RELEASED_TASKS, strict=True))
    for task in (each for each in _HEADLINE if each in archive.pretrained):
        cells, other = _row(archive, task).cells, on_its_levels.get(task, task)
        like = _row(archive, other).cells[0] if other in archive.pretrained else Cell()
        ours = replace(cells[0], paper=None) if isinstance(cells[0], Cell) else cells[0]
        title = getattr(find_task(task), "title", published_row(task))
        rows.append(Row((title,), (ours, cells[_QUERIES], like)))
    columns = (
        Column("success", shows_paper=False),
        Column("queries", shows_paper=False),
        Column("on the paper's levels"),
    )
    title = "One agent for each world, and the paper's agent for each task"
    return [Table("headline", title, ("task",), columns, tuple(rows))]


def _row(archive: Archive, task: str) -> Row:
    """What an agent came to on a task."""
    world = "qtextworld" if task in TEXT_TASKS else "qbabyai"
    cells = [
        pretrained_cell(
            archive,
            task,
            measure,
            published=f"{world}_{table}",  # the paper has no table without a name
            better=better,
            is_length=measure == "episode_length",
            digits=2 if measure in SHARES and measure != "success" else 1,
        )
        for _, measure, table, better in _COLUMNS
    ]
    cells.insert(_AFTER_STEPS, expert_steps(archive, task))
    return Row((published_row(task),), tuple(cells))


def _say(counts: set[Any]) -> str:
    """How many levels, if it is the same number everywhere."""
    return f"{counts.pop():,}" if len(counts) == 1 and all(map(is_number, counts)) else "many"
