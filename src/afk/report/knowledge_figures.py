"""Figures of agents with sources: what is asked at a price, and what comes of sources that lie."""

from typing import TYPE_CHECKING, Any

import numpy as np

from afk.report.archive import Archive
from afk.report.columns import published_row
from afk.report.figures import lay_out
from afk.report.knowledge import (
    ASKERS,
    ASKS,
    GUESSES,
    SWEEPS,
    Sweep,
    asker_at,
    crossing,
    seeds_at,
    sweeps,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_AGENT = "#0b5400"
_EXPERTS = {ASKS: "#027db5", GUESSES: "#f3905c"}
_ASKERS = dict(zip(ASKERS, ("#767171", "#f3905c", "#9258cc", "#027db5", "#1a1a1a"), strict=True))
_ROWS = (("queries", "questions an episode"), ("net_return", "net return"))


def draw_knowledge(archive: Archive) -> dict[str, "Figure"]:
    """Questions and net return by price, net return by rate of lies: means over seeds and their range."""
    found = sweeps(archive)
    prices = {sweep: points for sweep, points in found.items() if sweep.swept == "price"}
    lies = {sweep: points for sweep, points in found.items() if sweep.swept in SWEEPS}
    figures = {"price-of-asking": _draw_prices(archive, prices)} if prices else {}
    return figures | ({"whom-to-believe": _draw_lies(archive, lies)} if lies else {})


def _draw_prices(archive: Archive, found: dict[Sweep, list[float]]) -> "Figure":
    """A column a task: above how much is asked, below what comes of it, beside the two experts."""
    figure, axes = lay_out(len(_ROWS) * len(found), len(found))
    for number, (sweep, points) in enumerate(found.items()):
        for row, (measure, title) in enumerate(_ROWS):
            axis = axes[row * len(found) + number]
            _draw_agent(axis, archive, sweep, points, measure)
            for expert, colour in _EXPERTS.items():
                _draw_asker(axis, archive, sweep, points, expert, measure, f"expert that {expert}", colour)
            if (price := crossing(archive, sweep)) is not None:
                axis.axvline(price, color="#c00000", linestyle=":", linewidth=1)
            axis.set_ylabel(title if not number else "")
        axes[number].set_title(published_row(sweep.task))
        axes[len(found) + number].set_xlabel("price of a question")
        axes[len(found) + number].set_ylim(bottom=-0.1)
    return _with_legend(figure, axes[0])


def _draw_lies(archive: Archive, found: dict[Sweep, list[float]]) -> "Figure":
    """A panel for each task, number of sources, and whose lies are swept."""
    figure, axes = lay_out(len(found), min(4, len(found)))
    for axis, (sweep, points) in zip(axes, found.items(), strict=True):
        _draw_agent(axis, archive, sweep, points, "net_return")
        for asker, colour in _ASKERS.items():
            _draw_asker(axis, archive, sweep, points, asker, "net_return", asker, colour)
        axis.set_title(f"{published_row(sweep.task)}, {sweep.sources} sources", fontsize="medium")
        axis.set_xlabel(f"rate of lies of {SWEEPS[sweep.swept]}")
    axes[0].set_ylabel("net return")
    return _with_legend(figure, axes[0])


def _draw_agent(axis: Any, archive: Archive, sweep: Sweep, points: list[float], measure: str) -> None:
    values = np.array([seeds_at(archive, sweep, point, measure) for point in points])
    axis.plot(points, values.mean(1), color=_AGENT, marker=".", label="agent")
    axis.fill_between(points, values.min(1), values.max(1), color=_AGENT, alpha=0.2, linewidth=0)


def _draw_asker(
    axis: Any,
    archive: Archive,
    sweep: Sweep,
    points: list[float],
    asker: str,
    measure: str,
    label: str,
    colour: str,
) -> None:
    values = [asker_at(archive, sweep, asker, point, measure) for point in points]
    if None not in values:
        axis.plot(points, values, "--", color=colour, linewidth=1, label=label)


def _with_legend(figure: "Figure", axis: Any) -> "Figure":
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False)
    return figure
