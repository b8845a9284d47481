"""Which records a table is made of, and what its columns are called."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from afk.checks import is_number
from afk.report.archive import Archive, look_up
from afk.report.estimates import Estimate
from afk.report.tables import Cell, Column
from afk.studies.plan import GRID_TASKS, RELEASED_TASKS, TEXT_TASKS
from afk.studies.record import RunRecord, preset_changes, short_name

# The agents of the paper, and what the file of its numbers calls them.
PUBLISHED_AGENTS = {"no-query": "no_query", "query": "query", "afk": "afk"}
PUBLISHED_ABLATIONS = {
    "afk-no-notebook": "no_notebook",
    "afk-no-pointer": "no_pointer",
    "afk-no-bonus": "no_exploration",
}
EXPERT = Column("expert", is_reference=True)  # beside every length: see `expert_steps`


class Contender(NamedTuple):
    """An agent in one way of training: what a column, or a table, is about.

    Attributes:
        agent: the variant.
        preset: the settings; None while there is no record of it.
        together: the tasks that one network was trained on; none if each task has a network of its own.
    """

    agent: str
    preset: str | None = None
    together: tuple[str, ...] = ()


def contenders(
    archive: Archive, tasks: Sequence[str], always: Iterable[str], keep: Callable[[RunRecord], bool]
) -> list[Contender]:
    """Who is to be compared on some tasks, in the order of the paper, then by name.

    An agent trained on several tasks counts if it was trained on all of its world; others belong to the study
    of generalisation.

    Args:
        archive: the records.
        tasks: what is compared on.
        always: agents that belong here even without a record.
        keep: whether another run does.
    """
    order = list(always)
    found = {
        Contender(run.agent, run.preset, run.tasks if len(run.tasks) > 1 else ())
        for run in archive.runs
        if set(run.tasks) & set(tasks) and (len(run.tasks) == 1 or is_generalist(run))
        if run.agent in order or keep(run)
    }
    alone = {each.agent for each in found if not each.together}
    found |= {Contender(agent) for agent in order if agent not in alone}

    def rank(each: Contender) -> tuple[bool, int, Contender]:
        place = order.index(each.agent) if each.agent in order else len(order)
        return bool(each.together), place, each._replace(preset=each.preset or "")

    return sorted(found, key=rank)


def is_ablation(agent: str) -> bool:
    """Whether an agent is another one without something, such as afk-no-pointer."""
    return "-no-" in agent


def whole_of(agent: str) -> str:
    """The agent that another one is without something; itself if it is whole."""
    return agent.partition("-no-")[0]


def is_generalist(run: RunRecord) -> bool:
    """Whether one network was trained on all the paper's tasks of a world."""
    return any(set(tasks) <= set(run.tasks) for tasks in (GRID_TASKS, TEXT_TASKS))


def titles(who: Sequence[Contender]) -> list[str]:
    """What they are called; the preset is named only where there are several."""
    several = len({each.preset for each in who if each.preset}) > 1
    names = []
    for each in who:
        details = [each.preset] if several and each.preset else []
        details += [f"one for {len(set(each.together))} tasks"] if each.together else []
        names.append(f"{each.agent} ({', '.join(details)})" if details else each.agent)
    return names


def find_run(archive: Archive, who: Contender, tasks: Iterable[str]) -> RunRecord | None:
    """The record of an agent that was trained on these tasks, or on all that it was trained on together."""
    trained = sorted(who.together or tasks)
    for run in archive.runs:
        if (run.agent, run.preset) == (who.agent, who.preset) and sorted(run.tasks) == trained:
            return run
    return None


def final_values(run: RunRecord | None, task: str, measure: str) -> list[float]:
    """The paper's final metric for each seed; nothing without a record."""
    return [seed.final[task][measure] for seed in run.seeds if task in seed.final] if run else []


def fresh_values(run: RunRecord | None, task: str, measure: str) -> list[float]:
    """A measure of the last agent of each seed on fresh levels; nothing without a record."""
    return [seed.fresh[task][measure] for seed in run.seeds if task in seed.fresh] if run else []


def pretrained_value(found: Mapping[str, Any], measure: str) -> Estimate | None:
    """What a pretrained agent came to on a task; success in percent, with its interval."""
    value, ends = found.get(measure), found.get("success_interval")
    if not is_number(value):
        return None
    if measure != "success":
        return Estimate(value)
    if isinstance(ends, list) and len(ends) == 2 and all(map(is_number, ends)):
        return Estimate(100 * value, interval=(100 * ends[0], 100 * ends[1]))
    return Estimate(100 * value)


def expert_steps(archive: Archive, task: str) -> Cell:
    """What the expert needs on our levels of a task, beside what it needs on the paper's."""
    steps = look_up(archive.expert, task, "episode_length")
    paper = archive.paper(*_levels(task), "optimal_steps")
    return Cell(Estimate(steps) if is_number(steps) else None, paper)


def has_paper_levels(archive: Archive, task: str) -> bool:
    """Whether our levels of a task are the paper's own, as the file of its numbers says."""
    return look_up(archive.published, *_levels(task), "same_as_ours") is True


def has_other_levels(archive: Archive, task: str) -> bool:
    """Whether our levels of a task are not the paper's, as the file of its numbers says."""
    return look_up(archive.published, *_levels(task), "same_as_ours") is False


def _levels(task: str) -> tuple[str, str]:
    """Where the file of the paper's numbers tells of the levels of a task."""
    return f"{task.split('/')[0]}_levels", published_row(task)


def published_row(task: str) -> str:
    """What the file of the paper's numbers calls a task, in whatever edition."""
    name = short_name(task).rpartition("-")[2] if task in RELEASED_TASKS else short_name(task)
    return name.replace("-", " ").title() if task in TEXT_TASKS else name


def provenance(runs: Mapping[str, Iterable[RunRecord | None]]) -> list[str]:
    """Where the numbers under each title come from; those that come from the same are named in one line."""
    lines: dict[str, list[str]] = {}
    for title, some in runs.items():
        known = {run.name: run for run in some if run}  # several rows may rest on one
        if known:
            lines.setdefault(_origin([*known.values()]), []).append(title)
    return [f"{', '.join(names)}: {origin}." for origin, names in lines.items()]


def _origin(runs: Sequence[RunRecord]) -> str:
    """Settings, steps, seeds and machines of some runs."""
    presets = ", ".join(sorted({run.preset for run in runs}))
    changed: dict[str, list[str]] = {}
    for run in runs:
        changed.setdefault(_changes(run), []).append(" + ".join(map(published_row, run.tasks)))
    others = [f"{what} on {', '.join(rows)}" for what, rows in changed.items() if what]
    presets += f" with {'; '.join(others)}" if others else ""
    devices = ", ".join(sorted({str(run.machine.get("device")) for run in runs}))
    trained = [run.seeds[0].curve["steps"][-1] for run in runs]
    steps = " to ".join(f"{count / 1e6:.3g}M" for count in _ends(trained))
    seeds = " to ".join(str(count) for count in _ends([len(run.seeds) for run in runs]))
    return f"preset {presets}, steps a seed {steps}, seeds {seeds}, on {devices}"


def _changes(run: RunRecord) -> str:
    """What of a run is not its preset's, in words, but for how long it was trained."""
    found = preset_changes(run.config).items()
    return ", ".join(f"{name} {value}" for name, value in found if name != "steps")


def _ends(values: Sequence[float]) -> list[float]:
    """The least and the greatest of some values; one if they are the same."""
    return sorted({min(values), max(values)})
