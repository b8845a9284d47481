"""When asking is worth its price, and whom agents believe, beside who plans as well as can be."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from afk.report.archive import Archive
from afk.report.columns import published_row
from afk.report.estimates import Estimate
from afk.report.sources import sources
from afk.report.tables import Cell, Column, Row, Table

ASKS, GUESSES = "asks", "does not ask"  # experts, see `benchmarks/knowledge_experts.py`
BOUND = "knows the rates"
ASKERS = (
    "never asks",
    "asks one source",
    "asks all, believes the majority",
    "knows how rates are drawn",
    BOUND,
)
SWEEPS = {"lies": "all sources", "lies of all but one": "all but one"}  # whose lies are swept
_SHOWN = (0.0, 0.06, 0.13, 0.25, 0.42, 0.6, 1.0)  # prices in the table; the figure has all
_LEVELS = (
    "{episodes:,} fresh levels a point, the same at all points; mean ± standard deviation over {seeds} seeds "
    "(benchmarks/knowledge.py, benchmarks/knowledge_experts.py)."
)


class Sweep(NamedTuple):
    """What is swept in a task, and with how many sources.

    Attributes:
        task: its name.
        sources: how many there are.
        swept: ``price``, or one of `SWEEPS`.
    """

    task: str
    sources: int
    swept: str


def sweeps(archive: Archive) -> dict[Sweep, list[float]]:
    """What agents were swept over, and the points."""
    found: dict[Sweep, set[float]] = {}
    for row in archive.knowledge_agents:
        found.setdefault(Sweep(row["task"], row["sources"], row["swept"]), set()).add(row["at"])
    return {sweep: sorted(points) for sweep, points in found.items()}


def seeds_at(archive: Archive, sweep: Sweep, point: float, measure: str) -> list[float]:
    """What the seeds of an agent came to at a point."""
    wanted = (*sweep, point)
    return [
        float(row[measure])
        for row in archive.knowledge_agents
        if (row["task"], row["sources"], row["swept"], row["at"]) == wanted
    ]


def asker_at(archive: Archive, sweep: Sweep, asker: str, point: float, measure: str) -> float | None:
    """What somebody who plans comes to at a point; with one source the plan is the same at every price."""
    for row in archive.knowledge_experts:
        if (row["task"], row["sources"], row["asker"]) == (sweep.task, sweep.sources, asker):
            if sweep.swept == "price" and measure == "net_return":
                return row["reward"] - point * row["queries"]
            if sweep.swept == "price" or (row["swept"], row["at"]) == (sweep.swept, point):
                return float(row[measure])
    return None


def crossing(archive: Archive, sweep: Sweep) -> float | None:
    """The price from which on the expert that asks nothing has more than the one that asks."""
    rewards = [asker_at(archive, sweep, asker, 0, "reward") for asker in (ASKS, GUESSES)]
    queries = asker_at(archive, sweep, ASKS, 0, "queries")
    if None in rewards or not queries:
        return None
    return (float(rewards[0] or 0) - float(rewards[1] or 0)) / queries


def bound_at(archive: Archive, sweep: Sweep, point: float) -> float | None:
    """The net return of who plans best there."""
    askers = (ASKS, GUESSES) if sweep.swept == "price" else (BOUND,)
    found = [asker_at(archive, sweep, asker, point, "net_return") for asker in askers]
    return max((each for each in found if each is not None), default=None)


def halved(prices: list[float], questions: list[float]) -> float | None:
    """The price, between two that were tried, at which half as much is asked as for free; None if at none."""
    half = questions[0] / 2
    for number in range(1, len(prices)):
        before, after = questions[number - 1], questions[number]
        if after <= half < before:
            share = (before - half) / (before - after)
            return prices[number - 1] + share * (prices[number] - prices[number - 1])
    return None


def knowledge(archive: Archive) -> list[Table]:
    """Who answers, when agents ask, what comes of each price, and whom they believe."""
    return [sources(archive), _when_to_ask(archive), _prices(archive), _shares(archive), _rates(archive)]


def _when_to_ask(archive: Archive) -> Table:
    rows = []
    for sweep, prices in _of(archive, one_source=True):
        seeds = np.array([seeds_at(archive, sweep, price, "queries") for price in prices]).T
        stops = [stop for each in seeds if (stop := halved(prices, each.tolist())) is not None]
        exact = crossing(archive, sweep)
        cells = (
            Cell.of_seeds(seeds[:, 0].tolist()),
            _reference(exact),
            Cell.of_seeds(stops, digits=2),
            Cell.of_seeds(_of_bound(archive, sweep, prices)),
        )
        rows.append(Row((published_row(sweep.task),), cells))
    columns = (
        Column("questions when free"),
        Column("price from which the expert asks nothing", is_reference=True),
        Column("price at which half as much is asked"),
        Column("net return, % of the best expert's"),
    )
    notes = (
        "One agent for all tasks sees the price. The best expert at a price is the better one of two: the "
        "one that asks all it has to know, and the one that acts on what may be true till it is refuted. The "
        "last column sums over all prices up to twice that from which the expert asks nothing.",
        *_about(archive, one_source=True),
    )
    return Table("when-to-ask", "When asking is worth its price", ("task",), columns, tuple(rows), notes)


def _prices(archive: Archive) -> Table:
    rows = [
        Row(
            (published_row(sweep.task), f"{price:g}"),
            (
                Cell.of_seeds(seeds_at(archive, sweep, price, "queries")),
                Cell.of_seeds([100 * each for each in seeds_at(archive, sweep, price, "success")]),
                Cell.of_seeds(seeds_at(archive, sweep, price, "net_return"), digits=2),
                *(_reference(asker_at(archive, sweep, who, price, "net_return")) for who in (ASKS, GUESSES)),
            ),
        )
        for sweep, prices in _of(archive, one_source=True)
        for price in prices
        if price in _SHOWN
    ]
    columns = (
        *(Column(title) for title in ("questions", "success", "net return")),
        *(Column(f"net return of the expert that {who}", is_reference=True) for who in (ASKS, GUESSES)),
    )
    title = "Questions and net return by price"
    return Table("price-of-asking", title, ("task", "price"), columns, tuple(rows))


def _shares(archive: Archive) -> Table:
    rows = []
    for sweep, rates in _of(archive, one_source=False):
        others = [
            _reference(
                100 * _sum(archive, sweep, rates, asker) / _sum(archive, sweep, rates, BOUND), digits=1
            )
            for asker in ASKERS[:-1]
        ]
        own = Cell.of_seeds(_of_bound(archive, sweep, rates))
        rows.append(Row((published_row(sweep.task), f"{sweep.sources}", SWEEPS[sweep.swept]), (own, *others)))
    columns = (
        Column("agent"),
        *(Column(asker, is_reference=True) for asker in ASKERS[:-1]),
    )
    notes = (
        "Net return in percent of that of an asker that knows how often each source of the level lies "
        "and asks as is best (afk.knowledge.belief): the upper bound. Sums over the rates of lies 0, 0.1 to "
        "0.5. The agent is told neither rates nor prices.",
        *_about(archive, one_source=False),
    )
    title = "Whom to believe: net return in percent of the bound"
    return Table("whom-to-believe", title, ("task", "sources", "who lies"), columns, tuple(rows), notes)


def _rates(archive: Archive) -> Table:
    rows = [
        Row(
            (published_row(sweep.task), f"{sweep.sources}", SWEEPS[sweep.swept], f"{rate:g}"),
            (
                Cell.of_seeds([100 * each for each in seeds_at(archive, sweep, rate, "success")]),
                Cell.of_seeds(seeds_at(archive, sweep, rate, "queries")),
                Cell.of_seeds(seeds_at(archive, sweep, rate, "acted_on_false"), digits=2),
                Cell.of_seeds(seeds_at(archive, sweep, rate, "net_return"), digits=2),
                *(
                    _reference(asker_at(archive, sweep, who, rate, "net_return"))
                    for who in (BOUND, ASKERS[0])
                ),
            ),
        )
        for sweep, rates in _of(archive, one_source=False)
        for rate in rates
    ]
    columns = (
        *(Column(title) for title in ("success", "questions", "false answers acted upon", "net return")),
        *(Column(f"net return of who {who}", is_reference=True) for who in (BOUND, ASKERS[0])),
    )
    title = "Success, questions and net return by the rate of lies"
    return Table("rates-of-lies", title, ("task", "sources", "who lies", "rate"), columns, tuple(rows))


def _of(archive: Archive, *, one_source: bool) -> Iterator[tuple[Sweep, list[float]]]:
    """Sweeps over prices, or over rates of lies, and their points."""
    return ((sweep, at) for sweep, at in sweeps(archive).items() if (sweep.swept == "price") == one_source)


def _of_bound(archive: Archive, sweep: Sweep, points: list[float]) -> list[float]:
    """Each seed's net return, summed over points, in percent of the best that can be had."""
    if sweep.swept == "price":
        exact = crossing(archive, sweep)
        points = [point for point in points if exact is None or point <= 2 * exact]
    bounds = [bound_at(archive, sweep, point) for point in points]
    if not points or None in bounds:
        return []
    own = np.array([seeds_at(archive, sweep, point, "net_return") for point in points]).sum(0)
    return (100 * own / sum(each or 0.0 for each in bounds)).tolist()


def _sum(archive: Archive, sweep: Sweep, points: list[float], asker: str) -> float:
    """What somebody who plans comes to, summed over points; not a number where that is not known."""
    found = [asker_at(archive, sweep, asker, point, "net_return") for point in points]
    return sum(float("nan") if each is None else each for each in found)


def _reference(value: float | None, digits: int = 2) -> Cell:
    return Cell(Estimate(value) if value is not None and np.isfinite(value) else None, digits=digits)


def _about(archive: Archive, *, one_source: bool) -> list[str]:
    """What the numbers rest on."""
    rows: list[dict[str, Any]] = [
        row for row in archive.knowledge_agents if (row["swept"] == "price") == one_source
    ]
    if not rows:
        return []
    return [_LEVELS.format(episodes=rows[0]["episodes"], seeds=len({row["seed"] for row in rows}))]
