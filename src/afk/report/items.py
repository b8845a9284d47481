"""The paper's tables and figures by name: what each shows, and the runs that it takes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NamedTuple

from afk.report.archive import Archive
from afk.report.asking import QUALITY_TASKS, UNSEEN, generalisation, query_histogram, query_quality
from afk.report.choice import ABLATIONS, GRID_TASKS, PAPER_AGENTS, TEXT_TASKS
from afk.report.comparisons import ABLATED_TASKS, ablation, lengths, table_1, textworld
from afk.report.curves import curves
from afk.report.shipped import shipped
from afk.report.tables import Table
from afk.report.worlds import game_statistics, task_statistics


class Wanted(NamedTuple):
    """A run that an item of the paper takes: an agent, its tasks, and what it plays unseen."""

    agent: str
    tasks: tuple[str, ...]
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Item:
    """A table or a figure of the paper.

    Attributes:
        tables: makes it from records, as one table or one an agent.
        runs: what has to be trained for it.
    """

    tables: Callable[[Archive], list[Table]]
    runs: tuple[Wanted, ...] = ()


def _each(agents: Sequence[str], tasks: Sequence[str]) -> tuple[Wanted, ...]:
    return tuple(Wanted(agent, (task,)) for task in tasks for agent in agents)


_GRID, _TEXT = _each([*PAPER_AGENTS], GRID_TASKS), _each([*PAPER_AGENTS], TEXT_TASKS)
_ZERO_SHOT = tuple(Wanted("afk", sources, (target,)) for target, sources in UNSEEN)
ITEMS = {
    "table-1": Item(table_1, _GRID),
    "lengths": Item(lengths, _GRID),
    "textworld": Item(textworld, _TEXT),
    "ablation": Item(ablation, _each([*ABLATIONS, "afk"], ABLATED_TASKS)),
    "generalisation": Item(generalisation, _ZERO_SHOT),
    "query-quality": Item(query_quality, _each(["afk"], QUALITY_TASKS)),
    "query-histogram": Item(
        query_histogram, (*_each(["afk"], [target for target, _ in UNSEEN]), *_ZERO_SHOT)
    ),
    "task-statistics": Item(task_statistics),
    "game-statistics": Item(game_statistics),
    "shipped": Item(shipped),
    "curves": Item(curves, (*_GRID, *_TEXT)),
}


def find_item(name: str) -> Item:
    """The item of that name; a ValueError that names the nearest one if there is none."""
    if name not in ITEMS:
        near = get_close_matches(name, ITEMS, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]}?" if near else f"it is one of {', '.join(ITEMS)}"
        raise ValueError(f"unknown item {name!r}; {hint}")
    return ITEMS[name]
