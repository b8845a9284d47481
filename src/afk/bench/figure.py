"""The picture of a record of speed. It takes matplotlib."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from afk.bench.environments import PEERS
from afk.bench.suite import PUBLISHED
from afk.report.figures import lay_out

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = ("#0b5400", "#f3905c", "#027db5", "#9258cc", "#c00000", "#767171")


def draw_speed(record: dict[str, Any]) -> "Figure":
    """Speed by batch size, in a panel each: worlds beside their peers, training beside the paper's speed."""
    tasks = [each["task"] for each in record["environments"]]
    colours = {task: _COLOURS[index % len(_COLOURS)] for index, task in enumerate(tasks)}
    figure, (worlds, training, evaluation) = lay_out(3, 3)
    for each in record["environments"]:
        _line(worlds, colours, each["task"], each["scaling"], "environments", "steps_per_second")
        for peer in PEERS:
            if rate := each.get(f"{peer}_steps_per_second"):
                worlds.axhline(rate, color=colours[each["task"]], linestyle=":", linewidth=1)
    for task in tasks:
        mine = [each for each in record["training"] if each["task"] == task]
        _line(training, colours, task, mine, "environments", "steps_per_second")
        _line(training, colours, task, mine, "environments", "rollout_steps_per_second", linestyle="--")
        mine = [each for each in record["evaluation"] if each["task"] == task]
        _line(evaluation, colours, task, mine, "episodes", "episodes_per_second")
    for world in dict.fromkeys(task.split("/")[0] for task in tasks):
        low, high = PUBLISHED[world]["training_steps_per_second"]
        training.axhspan(low or high, high, color="#767171", alpha=0.3, linewidth=1)
    _label(worlds, "worlds (dotted: other engines)", "environments", "steps a second")
    _label(training, "training (dashed: rollout, grey: paper)", "environments", "steps a second")
    _label(evaluation, "evaluation", "episodes at once", "episodes a second")
    for axis in (worlds, training):
        axis.set_yscale("log")
    evaluation.set_ylim(bottom=0)
    handles, labels = worlds.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return figure


def _line(
    axis: Any,
    colours: dict[str, str],
    task: str,
    points: Iterable[dict[str, Any]],
    across: str,
    along: str,
    *,
    linestyle: str = "-",
) -> None:
    """The speed of a task by a size."""
    pairs = sorted((each[across], each[along]) for each in points)
    axis.plot(*zip(*pairs, strict=True), color=colours[task], label=task, linestyle=linestyle, marker=".")


def _label(axis: Any, title: str, across: str, along: str) -> None:
    """Say what a panel shows; the sizes that were measured are its ticks."""
    axis.set_title(title, fontsize="medium")
    axis.set(xscale="log", xlabel=across, ylabel=along)
    sizes = sorted(
        {size for line in axis.get_lines() if line.get_marker() == "." for size in line.get_xdata()}
    )
    axis.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axis.set_xticks([], minor=True)
