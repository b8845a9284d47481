"""Everybody on the same levels of a task in one table: the expert, our agents, the paper's, and models."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from afk.envs.asking import ORACLE
from afk.files import read_object
from afk.play.evaluation import RESULT
from afk.report.archive import read_archive
from afk.report.columns import published_row
from afk.training.evaluate import summarise
from afk.training.pretrained import PRETRAINED, play_fresh, pretrained_tasks

_RESAMPLES = 2_000  # of levels, for the interval of a share


@dataclass(frozen=True)
class Entry:
    """A row of the table.

    Attributes:
        who: who plays.
        how: the mode and the form of a model; nothing of others.
        measures: what `summarise` gives; of models, what they cost as well.
    """

    who: str
    how: str
    measures: dict[str, Any]


@dataclass(frozen=True)
class Gap:
    """How much of what knowledge is worth a model gets by asking.

    Attributes:
        who: the model and the form.
        share: (asking - no questions) / (all told - no questions), of success rates.
        interval: its 95% interval, by resampling of levels; None if some resamples have no gap.
    """

    who: str
    share: float
    interval: tuple[float, float] | None


def make_leaderboard(
    task: str, models: Path, records: Path, *, episodes: int, seed: int
) -> tuple[list[Entry], list[Gap]]:
    """Play a task with our agents, read what models did on the same levels, and the paper's number.

    Args:
        task: the task's name.
        models: a folder, anywhere under which results of models are.
        records: a folder of records, for the paper's numbers; where it is missing they are left out.
        episodes: how many levels our agents play.
        seed: what the levels are drawn with; results with another are left out.
    """
    results = list(_results(models))
    results = [result for result in results if (result["task"], result["seed"]) == (task, seed)]
    names = ["expert", *([PRETRAINED] if task in pretrained_tasks() else []), "random"]
    entries = [Entry(name, "", _play(name, task, episodes, seed)) for name in names]
    entries += _published(task, records)
    entries += [
        Entry(result["agent"], f"{result['mode']}, {_form(result)}{_whom(result)}", result)
        for result in results
    ]
    return sorted(entries, key=lambda entry: -entry.measures["success"]), find_gaps(results)


def _play(name: str, task: str, episodes: int, seed: int) -> dict[str, Any]:
    return summarise(play_fresh(name, task, episodes=episodes, seed=seed)[1])


def _published(task: str, records: Path) -> list[Entry]:
    """The paper's agent, trained on this task alone and played on the paper's levels."""
    if not records.is_dir():
        return []
    number = read_archive(records).paper(f"{task.split('/')[0]}_success", published_row(task), "afk")
    return [] if number is None else [Entry("the paper's afk", "", {"success": number.mean / 100})]


def _results(folder: Path) -> Iterator[dict[str, Any]]:
    """What models did, wherever under a folder."""
    for path in sorted(folder.rglob(RESULT)):
        result = read_object(path)
        if not {"agent", "task", "seed", "mode", "macros", "tools", "success", "won"} <= result.keys():
            raise ValueError(f"{path} is not the result of a model")
        yield result


def _form(result: dict[str, Any]) -> str:
    return f"{'macros' if result['macros'] else 'steps'}, {'tools' if result['tools'] else 'text'}"


def _whom(result: dict[str, Any]) -> str:
    """Whom a model asked, if it was not the oracle."""
    source = result.get("source", ORACLE)
    return "" if source == ORACLE else f", {source}"


def find_gaps(results: Sequence[dict[str, Any]]) -> list[Gap]:
    """The share of the gap that asking recovers, for models that played in all three modes.

    Whoever is asked, the ends of the gap are the same: there nobody is.
    """
    ends: dict[tuple[str, str], dict[str, list[bool]]] = {}
    for result in results:
        if result["mode"] != "asking":
            ends.setdefault((result["agent"], _form(result)), {})[result["mode"]] = result["won"]
    gaps = []
    for result in results:
        won = ends.get((result["agent"], _form(result)), {})
        if (
            result["mode"] != "asking"
            or len(won) < 2
            or np.mean(won["all-told"]) == np.mean(won["no-questions"])
        ):
            continue
        who = f"{result['agent']} ({_form(result)}{_whom(result)})"
        gaps.append(_gap(who, won["no-questions"], result["won"], won["all-told"]))
    return gaps


def _gap(who: str, silent: list[bool], asking: list[bool], told: list[bool]) -> Gap:
    """The share, and its interval: the same levels are drawn again for all three modes."""
    count = min(len(silent), len(asking), len(told))
    levels = np.array([silent[:count], asking[:count], told[:count]], float)
    drawn = np.random.default_rng(0).integers(count, size=(_RESAMPLES, count))
    none, some, every = levels[:, drawn].mean(-1)
    interval = None
    if (every != none).all():
        low, high = np.quantile((some - none) / (every - none), (0.025, 0.975))
        interval = float(low), float(high)
    none, some, every = levels.mean(-1)
    share = float((some - none) / (every - none)) if every != none else 0.0
    return Gap(who, share, interval)
