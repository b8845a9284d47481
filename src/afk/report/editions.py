"""The paper's levels beside ours: agents trained on one edition of the tasks, and played on both."""

from dataclasses import replace

from afk.report.archive import Archive
from afk.report.columns import Contender, find_run, fresh_values, provenance, published_row
from afk.report.comparisons import LETTERS, STEPS, TABLE_1, compare
from afk.report.tables import Cell, Column, Row, Table
from afk.studies.plan import GRID_TASKS, RELEASED_TASKS
from afk.studies.record import RunRecord

_EDITION = "The levels have the geometry of the authors' released code, those without a solution included."


def released(archive: Archive) -> list[Table]:
    """Success and length on the paper's own levels, and how agents do on the other edition."""
    like_with_like = [
        replace(
            what,
            name=f"{what.name}-released",
            title=what.title.replace("Q-BabyAI", "the released levels of Q-BabyAI"),
            tasks=RELEASED_TASKS,
            notes=(_EDITION, *what.notes),
        )
        for what in (TABLE_1, STEPS)
    ]
    return [*(compare(archive, what) for what in like_with_like), _both_ways(archive)]


def _both_ways(archive: Archive) -> Table:
    """An agent trained on either edition, played on both: success on fresh levels."""
    runs = {task: _trained_on(archive, task) for task in (*RELEASED_TASKS, *GRID_TASKS)}
    rows = []
    for theirs, ours in zip(RELEASED_TASKS, GRID_TASKS, strict=True):
        played = ((theirs, theirs), (theirs, ours), (ours, ours), (ours, theirs))
        found = ([100 * value for value in fresh_values(runs[on], task, "success")] for on, task in played)
        rows.append(Row((published_row(ours),), tuple(map(Cell.of_seeds, found))))
    columns = (
        "released, played on released",
        "released, played on ours",
        "ours, played on ours",
        "ours, played on released",
    )
    titles = {"trained on released levels": RELEASED_TASKS, "trained on ours": GRID_TASKS}
    return Table(
        "editions",
        "AFK trained on either edition, and played on fresh levels of both: success in percent",
        ("task",),
        tuple(Column(f"trained on {title}", shows_paper=False) for title in columns),
        tuple(rows),
        (LETTERS, *provenance({title: [runs[task] for task in tasks] for title, tasks in titles.items()})),
    )


def _trained_on(archive: Archive, task: str) -> RunRecord | None:
    """The record of the paper's agent on a task: that with most seeds, whatever its preset."""
    known = {run.preset for run in archive.runs if run.agent == "afk" and run.tasks == (task,)}
    runs = [find_run(archive, Contender("afk", preset), [task]) for preset in sorted(known)]
    return max((run for run in runs if run), key=lambda run: len(run.seeds), default=None)
