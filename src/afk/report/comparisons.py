"""Success and length task by task, an agent a column: the paper's tables 1 to 4 and 10."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean
from typing import Any

from afk.report.archive import Archive
from afk.report.columns import (
    EXPERT,
    PUBLISHED_ABLATIONS,
    PUBLISHED_AGENTS,
    Contender,
    contenders,
    expert_steps,
    final_values,
    find_run,
    has_other_levels,
    has_paper_levels,
    is_ablation,
    pretrained_value,
    provenance,
    published_row,
    titles,
    whole_of,
)
from afk.report.tables import Cell, Column, Row, Table, with_averages
from afk.studies.plan import ABLATED_TASKS, GRID_TASKS, TEXT_TASKS
from afk.studies.record import RunRecord, preset_changes

SOLVED = 90.0  # percent of success from which lengths are compared
LETTERS = "C: Object in Box, S: Danger, D: Go to Favorite, H: Open Door."
_HOW = (
    "Ours: mean ± standard deviation over seeds [95% bootstrap interval] of the paper's final metric, the "
    "mean of the last ten evaluations. Better and worse: the published mean lies outside our interval, on "
    "the paper's own levels."
)
LENGTHS = (
    "Expert: all of Q_t asked, then as few steps as possible, on our levels and, where known, the paper's. "
    "Steps above the expert's can be compared; steps cannot where levels differ. Better and worse stand "
    f"where the levels are the paper's own and both agents succeed in {SOLVED:.0f}% or more: a mistake ends "
    "most episodes, so that a short one may be a bad one."
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
        is_length: whether it is a length: compared on the paper's own levels only, and by agents that solve
            the task, and shown beside the expert's.
        least: the share of the tasks from which on an agent that is not the paper's has a column.
        with_pretrained: whether the agents that come with the package have one.
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
    is_length: bool = False
    least: float = 0.0
    with_pretrained: bool = False
    notes: tuple[str, ...] = ()


TABLE_1 = Comparison(
    "table-1",
    "Success on Q-BabyAI in percent (the paper's table 1)",
    GRID_TASKS,
    "qbabyai_success",
    PUBLISHED_AGENTS,
    least=0.5,
    with_pretrained=True,
    notes=(
        LETTERS,
        "Paper: its appendix prints the means of level 1 once more, with smaller deviations.",
    ),
)
STEPS = Comparison(
    "lengths",
    "Steps an episode on Q-BabyAI, queries included (the paper's tables 2 and 10)",
    GRID_TASKS,
    "qbabyai_episode_length",
    PUBLISHED_AGENTS,
    measure="episode_length",
    scale=1.0,
    better=-1,
    is_length=True,
    least=0.5,
    with_pretrained=True,
    notes=(LETTERS, LENGTHS),
)


def table_1(archive: Archive) -> list[Table]:
    """Success on the fifteen tasks of Q-BabyAI."""
    return [compare(archive, TABLE_1)]


def lengths(archive: Archive) -> list[Table]:
    """Steps an episode on the fifteen tasks of Q-BabyAI."""
    return [compare(archive, STEPS)]


def textworld(archive: Archive) -> list[Table]:
    """Success on Q-TextWorld."""
    what = Comparison(
        "textworld",
        "Success on Q-TextWorld in percent (the paper's table 3)",
        TEXT_TASKS,
        "qtextworld_success",
        PUBLISHED_AGENTS,
        notes=("Paper: the mean over the last 1,000 episodes of training, not over evaluations.",),
    )
    return [compare(archive, what)]


def ablation(archive: Archive) -> list[Table]:
    """Success of agents from which something was left out, a table for each whole one."""
    ablated = [run for run in archive.runs if is_ablation(run.agent)]
    published = Comparison(
        "ablation",
        "Success without one of an agent's parts in percent (the paper's table 4)",
        (*ABLATED_TASKS, *_tasks_of(ablated, "afk", known=ABLATED_TASKS)),
        "ablation_success",
        PUBLISHED_ABLATIONS | {"afk": "afk"},
        keep=lambda run: whole_of(run.agent) == "afk",
        notes=(
            LETTERS,
            "What we call the bonus is the paper's episodic exploration.",
            "Paper: what its text says that each part is worth is half a point less than its table gives.",
        ),
    )
    others = [
        Comparison(
            f"ablation-{whole}",
            f"Success of {whole} without one of its parts in percent",
            _tasks_of(ablated, whole),
            "ablation_success",
            {},
            keep=lambda run, whole=whole: whole_of(run.agent) == whole and len(run.tasks) == 1,
            notes=(LETTERS,),
        )
        for whole in sorted({whole_of(run.agent) for run in ablated} - {"afk"})
    ]
    alike = replace(archive, runs=tuple(_alike(archive)))
    return [compare(alike, what) for what in (published, *others)]


def _alike(archive: Archive) -> Iterable[RunRecord]:
    """Runs in which whole agents had the settings of those without a part, and perhaps another length."""
    wanted = {
        (whole_of(run.agent), run.preset, run.tasks): _settings(run)
        for run in archive.runs
        if is_ablation(run.agent)
    }
    found = {
        key: run
        for run in (*archive.superseded, *archive.runs)
        if wanted.get(key := (run.agent, run.preset, run.tasks), own := _settings(run)) == own
    }
    return found.values()


def _settings(run: RunRecord) -> dict[str, Any]:
    """What of a run is not its preset's but its length."""
    return {name: value for name, value in preset_changes(run.config).items() if name != "steps"}


def _tasks_of(runs: Sequence[RunRecord], whole: str, known: Sequence[str] = ()) -> tuple[str, ...]:
    """What an agent without one of its parts was trained on, task by task, besides those that are known."""
    found = {run.tasks[0] for run in runs if whole_of(run.agent) == whole and len(run.tasks) == 1}
    return tuple(sorted(found - set(known), key=published_row))


def compare(archive: Archive, what: Comparison) -> Table:
    """A table of a measure, from records."""
    known = contenders(archive, what.tasks, what.agents, what.keep)
    runs = {each: [find_run(archive, each, [task]) for task in what.tasks] for each in known}
    who = [each for each in known if each.agent in what.agents or _share(runs[each]) >= what.least]
    names = dict(zip(who, titles(who), strict=True))
    columns = [
        Column(names[each], shows_paper=each.agent in what.agents and not each.together) for each in who
    ]
    cells = [[_cell(archive, what, each, task) for task in what.tasks] for each in who]
    notes = [_HOW]
    if what.with_pretrained and set(what.tasks) <= set(archive.pretrained):
        agents = sorted({str(archive.pretrained[task].get("agent")) for task in what.tasks})
        columns.append(Column(f"{', '.join(agents)} (pretrained)", shows_paper=False))
        cells.append(
            [
                pretrained_cell(
                    archive,
                    task,
                    what.measure,
                    published=what.published,
                    better=what.better,
                    is_length=what.is_length,
                )
                for task in what.tasks
            ]
        )
        notes.append("Pretrained: one agent for all tasks, on fresh levels (see `pretrained`).")
    if not all(column.shows_paper for column in columns):
        notes.append(_OTHERS)
    if what.is_length:
        columns.insert(0, EXPERT)
        cells.insert(0, [expert_steps(archive, task) for task in what.tasks])
    notes += [*what.notes, *archive.paper_notes(what.published)]
    notes += provenance({names[each]: runs[each] for each in who})
    if few := sorted({each.agent for each in known if each not in who}):
        notes.append(f"Left out, with records of few of these tasks (see `curves`): {', '.join(few)}.")
    heads = [(published_row(task),) for task in what.tasks]
    rows = tuple(map(Row, heads, zip(*cells, strict=True)))
    return with_averages(Table(what.name, what.title, ("task",), tuple(columns), rows, tuple(notes)))


def _share(runs: Sequence[RunRecord | None]) -> float:
    """Of the tasks that there is a record for."""
    return sum(run is not None for run in runs) / len(runs)


def _cell(archive: Archive, what: Comparison, who: Contender, task: str) -> Cell:
    """What an agent came to on a task."""
    run, column = find_run(archive, who, [task]), what.agents.get(who.agent, "afk")
    success = [100 * value for value in final_values(run, task, "success")]
    is_like = can_compare(archive, task, success, column, is_length=what.is_length)
    return Cell.of_seeds(
        [what.scale * value for value in final_values(run, task, what.measure)],
        paper=archive.paper(what.published, published_row(task), column),
        better=what.better if is_like else 0,
    )


def pretrained_cell(
    archive: Archive,
    task: str,
    measure: str,
    *,
    published: str,
    better: int,
    is_length: bool,
    digits: int = 1,
) -> Cell:
    """What the agent that comes with the package came to on a task; see `Comparison` and `Cell`."""
    estimate, success = (pretrained_value(archive.pretrained[task], each) for each in (measure, "success"))
    is_like = can_compare(archive, task, [success.mean] if success else [], is_length=is_length)
    return Cell(
        estimate,
        archive.paper(published, published_row(task), "afk"),
        better=better if is_like else 0,
        digits=digits,
        values=(estimate.mean,) if estimate else (),
    )


def can_compare(
    archive: Archive, task: str, success: Sequence[float], column: str = "afk", *, is_length: bool = False
) -> bool:
    """Whether what an agent of such a success in percent comes to can be compared with the paper's.

    Nothing can where levels differ, and lengths only where both agents solve the task; see `LENGTHS`.
    """
    if not is_length:
        return not has_other_levels(archive, task)
    theirs = archive.paper("qbabyai_success", published_row(task), column)
    solve = bool(success) and theirs is not None and min(mean(success), theirs.mean) >= SOLVED
    return solve and has_paper_levels(archive, task)
