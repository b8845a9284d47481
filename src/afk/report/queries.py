"""How agents ask: on unseen tasks, how well, and how often (the paper's tables 5 and 6, and a histogram)."""

import re
from typing import Any

import numpy as np

from afk.report.archive import Archive, look_up, to_published
from afk.report.columns import (
    EXPERT,
    Contender,
    contenders,
    expert_steps,
    find_run,
    fresh_values,
    has_other_levels,
    is_ablation,
    provenance,
    published_row,
    titles,
)
from afk.report.comparisons import LENGTHS, LETTERS
from afk.report.tables import Cell, Column, Published, Row, Table, with_averages
from afk.studies.plan import GRID_TASKS, HELD_OUT, QUALITY_TASKS, TEXT_TASKS
from afk.studies.record import RunRecord, short_name

Pair = tuple[str, tuple[str, ...]]
BINS = 10  # of a histogram; as many queries or more are counted together
_HOW = (
    "Ours: mean ± standard deviation over seeds [95% bootstrap interval] of the last agents on fresh levels. "
    "Better and worse: the published mean lies outside our interval."
)


def generalisation(archive: Archive) -> list[Table]:
    """Agents on tasks that they were not trained on, a table an agent."""
    columns = (Column("success"), Column("steps"), EXPERT, Column("queries"), Column("F1"))
    who, tables = travellers(archive), []
    for each, title in zip(who, titles(who), strict=True):
        pairs = _pairs(archive, each)
        rows = tuple(_unseen_row(archive, each, target, sources) for target, sources in pairs)
        runs = [find_run(archive, each, sources) for _, sources in pairs]
        tables.append(
            with_averages(
                Table(
                    _file_name("generalisation", title),
                    f"{title} on tasks it has not seen, success in percent (the paper's table 5)",
                    ("played", "trained on"),
                    columns,
                    rows,
                    (_HOW, LENGTHS, LETTERS, *provenance({title: runs})),
                )
            )
        )
    return tables


def query_quality(archive: Archive) -> list[Table]:
    """Precision, recall and F1 of queries, a table an agent."""
    columns = tuple(map(Column, ("|Q_t|", "queries", "precision", "recall", "F1")))
    tasks, tables = (*GRID_TASKS, *TEXT_TASKS), []
    who = contenders(archive, tasks, ["afk"], _asks)
    for each, title in zip(who, titles(who), strict=True):
        runs = {task: find_run(archive, each, [task]) for task in tasks}
        expected = QUALITY_TASKS if each.agent == "afk" and not each.together else ()
        shown = [task for task in tasks if task in expected or fresh_values(runs[task], task, "f1")]
        paper = (
            {} if each.agent == "query" else archive.published.get("query_quality", {})
        )  # it has AFK's only
        rows = tuple(_quality_row(archive, runs[task], task, paper) for task in shown)
        notes = (
            _HOW,
            LETTERS,
            "F1 is the mean over episodes, in the paper too: it is not the harmonic mean of the columns.",
            *provenance({title: runs.values()}),
        )
        caption = f"Quality of the queries of {title} (the paper's table 6)"
        table = Table(_file_name("query-quality", title), caption, ("task",), columns, rows, notes)
        tables.append(with_averages(table))
    return tables


def query_histogram(archive: Archive) -> list[Table]:
    """Shares of episodes by their number of queries, on tasks seen and unseen."""
    shown = histogram_runs(archive)
    columns = tuple(map(Column, ("queries", "|Q_t|", *map(str, range(BINS)), f"{BINS} or more")))
    rows = []
    for title, trained, target, run in shown:
        shares = [f"{share:.1%}" for share in query_shares(run, target)] if run else [""] * (BINS + 1)
        cells = (_cell(run, target, "queries"), _wanted(run, target), *shares)
        rows.append(Row((title, _together(trained), short_name(target)), cells))
    notes = (
        _HOW,
        LETTERS,
        "Paper: shown as a figure only; on CS most episodes have four queries, and more where it is unseen.",
        *provenance({"records": (run for *_, run in shown)}),
    )
    caption = "Episodes by their number of queries (the paper's histogram, in its appendix)"
    return [Table("query-histogram", caption, ("agent", "trained on", "played"), columns, tuple(rows), notes)]


def histogram_runs(archive: Archive) -> list[tuple[str, tuple[str, ...], str, RunRecord | None]]:
    """Agent, tasks of training, task played, and the record: each of the paper's targets seen and unseen."""
    who = travellers(archive)
    found = []
    for each, title in zip(who, titles(who), strict=True):
        for target, sources in HELD_OUT:
            for trained in ((target,), sources):
                run = find_run(archive, each, trained)
                found.append((title, trained, target, run if fresh_values(run, target, "queries") else None))
    return found


def query_shares(run: RunRecord, task: str) -> np.ndarray:
    """The shares of episodes with 0, 1, ... and with `BINS` or more queries, means over seeds."""
    shares = np.zeros(BINS + 1)
    for seed in run.seeds:
        counts = np.array(seed.fresh[task]["query_histogram"], float)
        np.add.at(shares, np.minimum(np.arange(len(counts)), BINS), counts / counts.sum() / len(run.seeds))
    return shares


def travellers(archive: Archive) -> list[Contender]:
    """The paper's AFK, and all agents that played a task unseen."""
    found = {Contender(run.agent, run.preset) for run in archive.runs if _unseen(run)}
    return sorted(found) if any(each.agent == "afk" for each in found) else [Contender("afk"), *sorted(found)]


def _unseen(run: RunRecord) -> list[str]:
    """What a run's agents played without having been trained on it, in whatever edition."""
    trained = set(map(published_row, run.tasks))
    return [task for task in run.seeds[0].fresh if published_row(task) not in trained]


def _asks(run: RunRecord) -> bool:
    """Whether a run's agents are whole and can ask."""
    return bool(run.variant.get("asks", True)) and not is_ablation(run.agent)


def _pairs(archive: Archive, who: Contender) -> list[Pair]:
    """The paper's pairs of a target and its sources, then those of our records."""
    mine = [run for run in archive.runs if (run.agent, run.preset) == (who.agent, who.preset)]
    ours = [(target, run.tasks) for run in mine for target in _unseen(run)]
    known = {(target, frozenset(sources)) for target, sources in HELD_OUT}
    return [
        *HELD_OUT,
        *((target, sources) for target, sources in ours if (target, frozenset(sources)) not in known),
    ]


def _unseen_row(archive: Archive, who: Contender, target: str, sources: tuple[str, ...]) -> Row:
    """Success, steps, queries and F1 on a task that was not trained on."""
    run, paper = find_run(archive, who, sources), _published_pair(archive, target, sources)
    cells = (
        _cell(
            run,
            target,
            "success",
            to_published(paper.get("success")),
            better=int(not has_other_levels(archive, target)),
            scale=100.0,
        ),
        _cell(run, target, "episode_length", to_published(paper.get("episode_length"))),
        expert_steps(archive, target),
        _cell(run, target, "queries"),
        _cell(run, target, "f1", digits=3),
    )
    return Row((short_name(target), _together(sources)), cells)


def _quality_row(archive: Archive, run: RunRecord | None, task: str, paper: dict[str, Any]) -> Row:
    """|Q_t|, queries, precision, recall and F1 on a task, beside what the paper has of it."""
    row, better = published_row(task), int(not has_other_levels(archive, task))
    cells = [
        _cell(run, task, measure, to_published(look_up(paper, row, measure)), better=better, digits=3)
        for measure in ("precision", "recall", "f1")
    ]
    return Row((row,), (_wanted(run, task), _cell(run, task, "queries"), *cells))


def _published_pair(archive: Archive, target: str, sources: tuple[str, ...]) -> dict[str, Any]:
    """What the paper has of a pair."""
    for row in archive.published.get("generalization", []):
        if row["target"] == short_name(target) and set(row["sources"]) == set(map(short_name, sources)):
            return row
    return {}


def _cell(
    run: RunRecord | None,
    task: str,
    measure: str,
    paper: Published | None = None,
    *,
    better: int = 0,
    scale: float = 1.0,
    digits: int = 1,
) -> Cell:
    """A measure of the last agents on fresh levels."""
    values = [scale * value for value in fresh_values(run, task, measure)]
    return Cell.of_seeds(values, paper=paper, better=better, digits=digits)


def _wanted(run: RunRecord | None, task: str) -> str:
    """|Q_t|, the mean over levels."""
    values = fresh_values(run, task, "good_queries")
    return f"{np.mean(values):g}" if values else ""


def _together(tasks: tuple[str, ...]) -> str:
    """What one network was trained on; all tasks of a world but one are named by that one."""
    for world in (GRID_TASKS, TEXT_TASKS):
        left_out = [task for task in world if task not in tasks]
        if len(left_out) == 1 and set(tasks) == set(world) - set(left_out):
            return f"all but {short_name(left_out[0])}"
    return " + ".join(map(short_name, tasks))


def _file_name(item: str, title: str) -> str:
    """What the table of an agent is called."""
    return f"{item}-{re.sub('[^a-z0-9]+', '-', title.lower()).strip('-')}"
