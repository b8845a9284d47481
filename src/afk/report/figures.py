"""The paper's figures: training curves, and the histogram of queries. They take matplotlib."""

import io
from collections.abc import Iterable, Mapping
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from afk.report.archive import Archive
from afk.report.columns import PUBLISHED_AGENTS, published_row
from afk.report.curves import panel_title, panels
from afk.report.queries import BINS, histogram_runs, query_shares
from afk.studies.plan import GRID_TASKS
from afk.studies.record import RunRecord, short_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What is drawn against steps: its scale, its title, and the paper's tables of where it ended.
_MEASURES: dict[str, tuple[float, str, tuple[str, ...]]] = {
    "success": (100.0, "success in percent", ("qbabyai_success", "qtextworld_success")),
    "episode_length": (1.0, "steps an episode", ("qbabyai_episode_length",)),
    "reward": (1.0, "reward", ()),
    "queries": (1.0, "queries an episode", ()),
}
_COLUMNS = 4  # of panels
_COLOURS = {"afk": "#0b5400", "query": "#f3905c", "no-query": "#027db5"}
_MORE_COLOURS = (
    *("#9258cc", "#c00000", "#767171", "#b58900", "#2aa198", "#e377c2", "#8c564b", "#17becf", "#1a1a1a"),
)
_LINES = ("-", "--", "-.")  # of an agent's presets; dotted is the paper
_LEVELS = ("#3b8bba", "#f3905c", "#9258cc", "#c00000")  # of tasks: one to four composed
FORMATS = ("png", "pdf")


def draw_curves(archive: Archive) -> dict[str, "Figure"]:
    """A figure a measure, with a panel for what was trained on: means over seeds, and the seeds' range."""
    if not archive.runs:
        return {}
    figures = {f"curves-{name.replace('_', '-')}": _draw_measure(archive, name) for name in _MEASURES}
    return figures | _draw_tasks(archive)


def _draw_measure(archive: Archive, measure: str) -> "Figure":
    """The curves of a measure; dotted lines are where the paper's agents ended."""
    scale, title, tables = _MEASURES[measure]
    shown = panels(archive)
    style = _styles(run for runs in shown.values() for run in runs.values())
    columns = min(_COLUMNS, len(shown))
    figure, axes = lay_out(len(shown), columns)
    for axis, (tasks, runs) in zip(axes, shown.items(), strict=True):
        for name, run in runs.items():
            colour, line = style[run.agent, run.preset]
            steps = np.array(run.seeds[0].curve["steps"]) / 1e6
            values = scale * np.array([seed.curve[measure] for seed in run.seeds])
            axis.plot(steps, values.mean(0), line, color=colour, label=name)
            axis.fill_between(steps, values.min(0), values.max(0), color=colour, alpha=0.2, linewidth=0)
            for table in tables:
                paper = archive.paper(table, published_row(tasks[0]), PUBLISHED_AGENTS.get(run.agent, ""))
                if paper and len(tasks) == 1:
                    axis.axhline(paper.mean, color=colour, linestyle=":", linewidth=1)
        axis.set_title(panel_title(tasks))
        axis.set_xlabel("million steps")
        if measure == "success":
            axis.set_ylim(-4, 104)
    for axis in axes[::columns]:
        axis.set_ylabel(title)
    handles = {
        label: handle
        for axis in axes
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=6, frameon=False)
    return figure


def _draw_tasks(archive: Archive) -> dict[str, "Figure"]:
    """How one agent learns all tasks of Q-BabyAI: a figure a run, means over its seeds."""
    figures = {}
    for run in archive.runs:
        if set(GRID_TASKS) <= run.seeds[0].by_task.keys():
            steps = np.array(run.seeds[0].curve["steps"])
            success = {
                short_name(task): (steps, np.mean([seed.by_task[task] for seed in run.seeds], 0))
                for task in GRID_TASKS
            }
            figures[f"curves-by-task-{run.preset}-{run.agent}"] = draw_levels(success)
    return figures


def draw_levels(success: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> "Figure":
    """Steps and success by the letters of tasks: a panel for each number of them that is composed."""
    figure, axes = lay_out(len(_LEVELS), len(_LEVELS))
    for level, axis in enumerate(axes, start=1):
        shown = {letters: points for letters, points in success.items() if len(letters) == level}
        for number, (letters, (steps, values)) in enumerate(shown.items()):
            shade = 1 - 0.7 * number / len(shown)
            axis.plot(steps / 1e6, 100 * values, label=letters, color=_LEVELS[level - 1], alpha=shade)
        axis.set_title(f"level {level}")
        axis.set_xlabel("million steps, all tasks together")
        axis.set_ylim(-4, 104)
        axis.legend(loc="lower right", frameon=False, ncols=2)
    axes[0].set_ylabel("success in percent")
    return figure


def draw_histogram(archive: Archive) -> dict[str, "Figure"]:
    """Shares of episodes by their number of queries, on tasks seen and unseen."""
    found = [(title, trained, task, run) for title, trained, task, run in histogram_runs(archive) if run]
    if not found:
        return {}
    figure, axes = lay_out(len(found), 2)
    for axis, (title, trained, task, run) in zip(axes, found, strict=True):
        axis.bar(
            np.arange(BINS + 1), 100 * query_shares(run, task), color=_styles([run])[run.agent, run.preset][0]
        )
        axis.set_xticks(range(BINS + 1), [*map(str, range(BINS)), f"{BINS}+"])
        axis.set_title(
            f"{title}: trained on {' + '.join(map(short_name, trained))}, played {short_name(task)}"
        )
        axis.set_xlabel("queries in an episode")
        axis.set_ylabel("percent of episodes")
    return {"query-histogram": figure}


def encode(figure: "Figure", kind: str) -> bytes:
    """A figure as the content of a file, the same for the same figure."""
    content = io.BytesIO()
    metadata: dict[str, Any] = {"CreationDate": None} if kind == "pdf" else {}
    figure.savefig(content, format=kind, dpi=150, metadata=metadata)
    return content.getvalue()


def lay_out(count: int, columns: int) -> tuple["Figure", list[Any]]:
    """A figure with so many axes."""
    from matplotlib.figure import Figure

    rows = -(-count // columns)
    figure = Figure(figsize=(3.6 * columns, 2.6 * rows + 0.6), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for axis in axes[count:]:
        axis.set_visible(False)
    return figure, axes[:count]


def _styles(runs: Iterable[RunRecord]) -> dict[tuple[str, str], tuple[str, str]]:
    """Colour and line by agent and preset: an agent has one colour, and each of its presets a line."""
    presets: dict[str, list[str]] = {}
    for run in runs:
        known = presets.setdefault(run.agent, [])
        known += [run.preset] if run.preset not in known else []
    more = cycle(_MORE_COLOURS)
    colours = {agent: _COLOURS.get(agent) or next(more) for agent in presets}
    return {
        (agent, preset): (colours[agent], line)
        for agent, known in presets.items()
        for preset, line in zip(known, cycle(_LINES), strict=False)
    }
