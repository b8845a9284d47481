"""Success and length task by task, an agent a column: the paper's tables 1 to 4 and 10."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import mean

from afk.experiments.run_record import RunRecord, task_named
from afk.report.archive import Archive
from afk.report.choice import (
    ABLATIONS,
    GRID_TASKS,
    PAPER_AGENTS,
    TEXT_TASKS,
    Contender,
    contenders,
    final_values,
    find_run,
    is_ablation,
    provenance,
    published_row,
    titles,
)
from afk.report.tables import Cell, Column, Row, Table, with_averages

ABLATED_TASKS = tuple(map(task_named, ("C", "S", "D", "H", "CH")))
SOLVED = 90.0  # percent of success from which lengths are compared
LETTERS = "C: Object in Box, S: Danger, D: Go to Favorite, H: Open Door."
_HOW = (
    "Ours: mean ± standard deviation over seeds [95% bootstrap interval] of the paper's final metric, the "
    "mean of the last ten evaluations. Better and worse: the published mean lies outside our interval."
)
_OTHERS = "Agents that the paper does not have are compared with its AFK."


def _is_whole(run: RunRecord) -> bool:
    return not is_ablation(run.agent)


@dataclass(frozen=True)
class Comparison:
    """A table of one measure, a row a task and a column an agent.

    Attributes:
        name: of the item.
        title: of the table.
        tasks: its rows.
        published: the table in the file of the paper's numbers.
        agents: the paper's columns, and what that file calls them.
        keep: which other runs have a column.
        measure: what is compared.
        scale: what the measure is multiplied with.
        better: 1 if more is better, -1 if less is.
        solved_only: whether only agents that solve a task are compared.
        notes: what a reader has to know.
    """

    name: str
    title: str
    tasks: tuple[str, ...]
    published: str
    agents: Mapping[str, str]
    keep: Callable[[RunRecord], bool] = _is_whole
    measure: str = "success"
    scale: float = 100.0
    better: int = 1
    solved_only: bool = False
    notes: tuple[str, ...] = ()


def table_1(archive: Archive) -> list[Table]:
    """Success on the fifteen tasks of Q-BabyAI."""
    what = Comparison(
        "table-1",
        "Success on Q-BabyAI in percent (the paper's table 1)",
        GRID_TASKS,
        "qbabyai_success",
        PAPER_AGENTS,
        notes=(
            LETTERS,
            "Paper: its appendix prints the means of level 1 once more, with smaller deviations.",
        ),
    )
    return [_compare(archive, what)]


def lengths(archive: Archive) -> list[Table]:
    """Steps an episode on the fifteen tasks of Q-BabyAI."""
    what = Comparison(
        "lengths",
        "Steps an episode on Q-BabyAI, queries included (the paper's tables 2 and 10)",
        GRID_TASKS,
        "qbabyai_episode_length",
        PAPER_AGENTS,
        measure="episode_length",
        scale=1.0,
        better=-1,
        solved_only=True,
        notes=(
            LETTERS,
            f"Compared where ours and the paper's succeed in {SOLVED:.0f}% or more: a mistake ends most "
            "episodes, so that a short one may be a bad one.",
        ),
    )
    return [_compare(archive, what)]


def textworld(archive: Archive) -> list[Table]:
    """Success on Q-TextWorld."""
    what = Comparison(
        "textworld",
        "Success on Q-TextWorld in percent (the paper's table 3)",
        TEXT_TASKS,
        "qtextworld_success",
        PAPER_AGENTS,
        notes=("Paper: the mean over the last 1,000 episodes of training, not over evaluations.",),
    )
    return [_compare(archive, what)]


def ablation(archive: Archive) -> list[Table]:
    """Success of agents from which something was left out, beside the whole ones."""
    ablated = [run for run in archive.runs if is_ablation(run.agent)]
    whole = {run.agent.partition("-no-")[0] for run in ablated}
    more = {run.tasks[0] for run in ablated if len(run.tasks) == 1} - set(ABLATED_TASKS)
    what = Comparison(
        "ablation",
        "Success without one of an agent's parts in percent (the paper's table 4)",
        (*ABLATED_TASKS, *sorted(more, key=published_row)),
        "ablation_success",
        ABLATIONS | {"afk": "afk"},
        keep=lambda run: is_ablation(run.agent) or run.agent in whole,
        notes=(
            LETTERS,
            "What we call the bonus is the paper's episodic exploration.",
            "Paper: what its text says that each part is worth is half a point less than its table gives.",
        ),
    )
    return [_compare(archive, what)]


def _compare(archive: Archive, what: Comparison) -> Table:
    """Make a table."""
    who = contenders(archive, what.tasks, what.agents, what.keep)
    columns, runs = [], {}
    for each, title in zip(who, titles(who), strict=True):
        columns.append(Column(title, shows_paper=each.agent in what.agents and not each.together))
        runs[title] = [find_run(archive, each, [task]) for task in what.tasks]
    rows = tuple(
        Row((published_row(task),), tuple(_cell(archive, what, each, task) for each in who))
        for task in what.tasks
    )
    others = [] if all(column.shows_paper for column in columns) else [_OTHERS]
    notes = (_HOW, *others, *what.notes, *archive.paper_notes(what.published), *provenance(runs))
    return with_averages(Table(what.name, what.title, ("task",), tuple(columns), rows, notes))


def _cell(archive: Archive, what: Comparison, who: Contender, task: str) -> Cell:
    """What an agent came to on a task."""
    run = find_run(archive, who, [task])
    row, column = published_row(task), what.agents.get(who.agent, "afk")
    comparable = not what.solved_only or _is_solved(archive, run, task, column)
    return Cell.of_seeds(
        [what.scale * value for value in final_values(run, task, what.measure)],
        paper=archive.paper(what.published, row, column),
        better=what.better if comparable else 0,
    )


def _is_solved(archive: Archive, run: RunRecord | None, task: str, column: str) -> bool:
    """Whether our agent and the paper's solve a task of Q-BabyAI."""
    ours = final_values(run, task, "success")
    theirs = archive.paper("qbabyai_success", published_row(task), column)
    return bool(ours) and theirs is not None and min(100 * mean(ours), theirs.mean) >= SOLVED
