"""The paper's tables and figures by name, and ours."""

from collections.abc import Callable
from difflib import get_close_matches
from typing import TYPE_CHECKING

from afk.report.answers import last_answer
from afk.report.archive import Archive
from afk.report.comparisons import ablation, lengths, table_1, textworld
from afk.report.curves import curves
from afk.report.editions import released
from afk.report.figures import draw_curves, draw_histogram
from afk.report.knowledge import knowledge
from afk.report.knowledge_figures import draw_knowledge
from afk.report.pretrained import headline, pretrained
from afk.report.queries import generalisation, query_histogram, query_quality
from afk.report.tables import Table
from afk.report.worlds import game_statistics, task_statistics

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Each makes its tables from records: one, or one an agent.
ITEMS: dict[str, Callable[[Archive], list[Table]]] = {
    "table-1": table_1,
    "lengths": lengths,
    "released": released,
    "textworld": textworld,
    "ablation": ablation,
    "last-answer": last_answer,
    "generalisation": generalisation,
    "query-quality": query_quality,
    "query-histogram": query_histogram,
    "task-statistics": task_statistics,
    "game-statistics": game_statistics,
    "pretrained": pretrained,
    "headline": headline,
    "curves": curves,
    "knowledge": knowledge,
}
DRAWINGS: dict[str, Callable[[Archive], dict[str, "Figure"]]] = {
    "curves": draw_curves,
    "query-histogram": draw_histogram,
    "knowledge": draw_knowledge,
}


def find_item(name: str) -> Callable[[Archive], list[Table]]:
    """The item of that name; a ValueError that names the nearest one if there is none."""
    if name not in ITEMS:
        near = get_close_matches(name, ITEMS, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]}?" if near else f"it is one of {', '.join(ITEMS)}"
        raise ValueError(f"unknown item {name!r}; {hint}")
    return ITEMS[name]
