"""How long an answer is in view of agents without a notebook, and what it changes."""

from afk.report.archive import Archive
from afk.report.columns import (
    PUBLISHED_ABLATIONS,
    PUBLISHED_AGENTS,
    final_values,
    has_other_levels,
    provenance,
    published_row,
)
from afk.report.tables import Cell, Column, Row, Table
from afk.studies.record import RunRecord

_ONE_STEP, _KEPT = "for one step", "until the next question"
_PAPER = {"qbabyai_success": PUBLISHED_AGENTS, "ablation_success": PUBLISHED_ABLATIONS}
_NOTES = (
    "Success is in percent; mean ± standard deviation over seeds of the mean of the last ten evaluations.",
    "The other tables have answers in view for one step; the authors' code, and so the paper's numbers, keep "
    "the last one until the next question.",
)


def last_answer(archive: Archive) -> list[Table]:
    """Success and length with an answer in view for one step, and with one that stays."""
    kept = [
        run for run in archive.apart if run.config.get("keep_last_answer") and not run.config.get("sources")
    ]
    pairs = [(_usual(archive, run), run) for run in kept]
    rows = [
        Row((published_row(task), run.agent), _cells(archive, usual, run, task))
        for usual, run in pairs
        for task in dict.fromkeys(run.tasks)
    ]
    columns = tuple(
        Column(f"{measure}, {view}", shows_paper=measure == "success" and view == _KEPT)
        for measure in ("success", "steps")
        for view in (_ONE_STEP, _KEPT)
    )
    title = "Agents without a notebook, by how long they see an answer"
    sources = provenance({_ONE_STEP: [usual for usual, _ in pairs], _KEPT: kept})
    return [Table("last-answer", title, ("task", "agent"), columns, tuple(rows), (*_NOTES, *sources))]


def _usual(archive: Archive, kept: RunRecord) -> RunRecord | None:
    """The run that differs from another one in how long answers are in view, and at most in its length."""
    alike = (kept.preset, kept.agent, kept.tasks)
    return next((run for run in archive.runs if (run.preset, run.agent, run.tasks) == alike), None)


def _cells(archive: Archive, usual: RunRecord | None, kept: RunRecord, task: str) -> tuple[Cell, ...]:
    """Success with either view, then length."""
    papers = (
        archive.paper(table, published_row(task), names[kept.agent])
        for table, names in _PAPER.items()
        if kept.agent in names
    )
    paper = next((found for found in papers if found), None)
    success = [[100 * value for value in final_values(run, task, "success")] for run in (usual, kept)]
    return (
        Cell.of_seeds(success[0]),
        Cell.of_seeds(success[1], paper=paper, better=int(not has_other_levels(archive, task))),
        *(Cell.of_seeds(final_values(run, task, "episode_length")) for run in (usual, kept)),
    )
