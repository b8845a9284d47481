"""How fast agents learn: steps until they succeed, and the points of the training curves."""

from collections.abc import Iterable

import numpy as np

from afk.report.archive import Archive
from afk.report.columns import (
    GRID_TASKS,
    PUBLISHED_AGENTS,
    TEXT_TASKS,
    Contender,
    provenance,
    published_row,
    titles,
)
from afk.report.tables import Cell, Column, Row, Table
from afk.studies.record import RunRecord

THRESHOLDS = (0.5, 0.9, 0.99)


def curves(archive: Archive) -> list[Table]:
    """Steps until the evaluations of training reach a success, task by task."""
    rows = [
        Row(
            (panel_title(tasks), title),
            (_last(run), *(_steps_until(run, threshold) for threshold in THRESHOLDS)),
        )
        for tasks, runs in panels(archive).items()
        for title, run in runs.items()
    ]
    columns = ("last success", *(f"steps to {threshold:.0%}" for threshold in THRESHOLDS))
    notes = (
        "Steps until an evaluation first succeeds so often, the mean over the seeds that get there.",
        "`--out` draws success, length, reward and queries against steps: means over seeds and their range; "
        "dotted, where the paper's agents ended.",
        *provenance({"records": archive.runs}),
    )
    title = "Training curves (the paper's figures in its main text and its appendix)"
    return [Table("curves", title, ("task", "agent"), tuple(map(Column, columns)), tuple(rows), notes)]


def panels(archive: Archive) -> dict[tuple[str, ...], dict[str, RunRecord]]:
    """The runs by what they were trained on, and by what their agents are called; in the paper's order."""
    agents, tasks = list(PUBLISHED_AGENTS), [*GRID_TASKS, *TEXT_TASKS]

    def rank(run: RunRecord) -> tuple:
        task = tasks.index(run.tasks[0]) if len(run.tasks) == 1 and run.tasks[0] in tasks else len(tasks)
        agent = agents.index(run.agent) if run.agent in agents else len(agents)
        return task, run.tasks, agent, run.name

    who = list(dict.fromkeys(Contender(run.agent, run.preset) for run in archive.runs))
    names = dict(zip(who, titles(who), strict=True))
    found: dict[tuple[str, ...], dict[str, RunRecord]] = {}
    for run in sorted(archive.runs, key=rank):
        found.setdefault(run.tasks, {})[names[Contender(run.agent, run.preset)]] = run
    return found


def panel_title(tasks: tuple[str, ...]) -> str:
    """What a panel is called: the task, some tasks, or how many there are."""
    return " + ".join(map(published_row, tasks)) if len(tasks) < 4 else f"{len(set(tasks))} tasks together"


def _last(run: RunRecord) -> Cell:
    """Success in the last evaluation."""
    return Cell.of_seeds([100 * seed.curve["success"][-1] for seed in run.seeds])


def _steps_until(run: RunRecord, threshold: float) -> str:
    """When seeds first reach a success."""
    first = list(_first_steps(run, threshold))
    if not first:
        return "not reached"
    share = "" if len(first) == len(run.seeds) else f" ({len(first)} of {len(run.seeds)} seeds)"
    return f"{np.mean(first) / 1e6:.2f}M{share}"


def _first_steps(run: RunRecord, threshold: float) -> Iterable[float]:
    """For each seed that reaches a success, after how many steps."""
    for seed in run.seeds:
        reached = np.flatnonzero(np.array(seed.curve["success"]) >= threshold)
        if len(reached):
            yield seed.curve["steps"][reached[0]]
