"""Everybody on the same levels of a task in one table: the expert, our agents, the paper's, and models."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from afk.envs.asking import ALL_TOLD, AS_IT_ASKS, MODES, NO_QUESTIONS, ORACLE, Asking
from afk.files import read_object
from afk.play.conversation import has_numbers
from afk.play.evaluation import RESULT
from afk.report.archive import read_archive
from afk.report.columns import published_row
from afk.training.evaluate import summarise
from afk.training.pretrained import PRETRAINED, play_fresh, pretrained_tasks

_RESAMPLES = 2_000  # of levels, for the interval of a share
_KINDS = {"agent": str, "task": str, "seed": int, "mode": str, "macros": bool, "tools": bool}
_NUMBERS = (
    *(
        "episodes",
        "history",
        "max_tokens",
        "success",
        "episode_length",
        "queries",
        "precision",
        "recall",
        "f1",
    ),
    *("prompt_tokens", "completion_tokens", "invalid", "seconds"),
)
_PAPERS_SEEDS, _STUDENT = 5, 2.776  # and Student's t with 4 degrees of freedom, two-sided 95%


@dataclass(frozen=True)
class Entry:
    """A row of the table.

    Attributes:
        who: who plays.
        how: the mode, and the form of a model; nothing of who does not read answers.
        measures: what `summarise` gives; of models, what they cost as well.
    """

    who: str
    how: str
    measures: dict[str, Any]


@dataclass(frozen=True)
class Gap:
    """How much of what knowledge is worth a player gets by asking.

    Attributes:
        who: the model and the form, or our agent.
        share: (asking - no questions) / (all told - no questions), of success rates.
        interval: its 95% interval, by resampling of levels; None if some resamples have no gap.
    """

    who: str
    share: float
    interval: tuple[float, float] | None


def make_leaderboard(
    task: str, models: Path | None, records: Path, *, episodes: int, seed: int
) -> tuple[list[Entry], list[Gap]]:
    """Play a task with our agents, read what models did on the same levels, and the paper's number.

    Args:
        task: the task's name.
        models: a folder, anywhere under which results of models are; without one there are none.
        records: a folder of records, for the paper's numbers; where it is missing they are left out.
        episodes: how many levels our agents play.
        seed: what the levels are drawn with; results with another are left out.
    """
    results = [] if models is None else list(_results(models))
    results = [result for result in results if (result["task"], result["seed"]) == (task, seed)]

    def play(name: str, mode: str = AS_IT_ASKS) -> tuple[dict[str, Any], list[bool]]:
        chunks = list(play_fresh(name, task, episodes=episodes, seed=seed, asking=Asking(mode=mode))[1])
        return summarise(chunks), [bool(each) for chunk in chunks for each in chunk.success]

    entries = [Entry(name, "", play(name)[0]) for name in ("expert", "random")]
    gaps = find_gaps(results)
    if task in pretrained_tasks():
        ours = {mode: play(PRETRAINED, mode) for mode in MODES}
        entries += [Entry(PRETRAINED, mode, measures) for mode, (measures, _) in ours.items()]
        gaps = _gap(PRETRAINED, *(won for _, won in ours.values())) + gaps
    entries += _published(task, records)
    entries += [
        Entry(result["agent"], f"{result['mode']}, {_form(result)}{_whom(result)}", result)
        for result in results
    ]
    return sorted(entries, key=lambda entry: -entry.measures["success"]), gaps


def _published(task: str, records: Path) -> list[Entry]:
    """The paper's agent, trained on this task alone and played on the paper's levels.

    Its interval is Student's, from the deviation over five seeds that the paper gives.
    """
    if not records.is_dir():
        return []
    number = read_archive(records).paper(f"{task.split('/')[0]}_success", published_row(task), "afk")
    if number is None:
        return []
    measures: dict[str, Any] = {"success": number.mean / 100}
    if number.std is not None:
        spread = _STUDENT * number.std / _PAPERS_SEEDS**0.5
        bounds = (number.mean - spread, number.mean + spread)
        measures["success_interval"] = [min(max(bound / 100, 0.0), 1.0) for bound in bounds]
    return [Entry("the paper's afk", f"{AS_IT_ASKS}, {_PAPERS_SEEDS} seeds", measures)]


def _results(folder: Path) -> Iterator[dict[str, Any]]:
    """What models did, wherever under a folder."""
    if not folder.is_dir():
        raise ValueError(f"{folder} is no folder with results of models")
    for path in sorted(folder.rglob(RESULT)):
        result = read_object(path)
        if not _is_result(result):
            raise ValueError(f"{path} is not the result of a model")
        yield result


def _is_result(found: dict[str, Any]) -> bool:
    """Whether an object has all that is read of the result of a model."""
    won, interval = found.get("won"), found.get("success_interval")
    return (
        all(isinstance(found.get(name), kind) for name, kind in _KINDS.items())
        and found["mode"] in MODES
        and has_numbers(found, _NUMBERS)
        and isinstance(found.get("temperature"), int | float | None)
        and isinstance(won, list)
        and len(won) > 0
        and all(isinstance(each, bool) for each in won)
        and isinstance(interval, list)
        and len(interval) == 2
        and has_numbers(dict(enumerate(interval)), (0, 1))
    )


def _form(result: dict[str, Any]) -> str:
    return f"{'macros' if result['macros'] else 'steps'}, {'tools' if result['tools'] else 'text'}"


def _player(result: dict[str, Any]) -> tuple[Any, ...]:
    """A model, and all that it plays with in whatever mode."""
    replies = [result.get(name) for name in ("history", "max_tokens", "temperature")]
    return result["agent"], _form(result), *replies


def _whom(result: dict[str, Any]) -> str:
    """Whom a model asked, if it was not the oracle."""
    source = result.get("source", ORACLE)
    return "" if source == ORACLE else f", {source}"


def find_gaps(results: Sequence[dict[str, Any]]) -> list[Gap]:
    """The share of the gap that asking recovers, for models that played in all three modes.

    Whoever is asked, the ends of the gap are the same: there nobody is.
    """
    ends: dict[tuple[Any, ...], dict[str, list[bool]]] = {}
    for result in results:
        if result["mode"] != AS_IT_ASKS:
            ends.setdefault(_player(result), {})[result["mode"]] = result["won"]
    gaps = []
    for result in results:
        won = ends.get(_player(result), {})
        if result["mode"] == AS_IT_ASKS and len(won) == 2:
            who = f"{result['agent']} ({_form(result)}{_whom(result)})"
            gaps += _gap(who, won[NO_QUESTIONS], result["won"], won[ALL_TOLD])
    return gaps


def _gap(who: str, silent: list[bool], asking: list[bool], told: list[bool]) -> list[Gap]:
    """The share, and its interval: the same levels are drawn again for all modes. Nothing without a gap."""
    count = min(len(silent), len(asking), len(told))
    levels = np.array([silent[:count], asking[:count], told[:count]], float)
    none, some, every = levels.mean(-1)
    if every == none:
        return []
    share = float((some - none) / (every - none))
    drawn = np.random.default_rng(0).integers(count, size=(_RESAMPLES, count))
    none, some, every = levels[:, drawn].mean(-1)
    interval = None
    if (every != none).all():
        low, high = np.quantile((some - none) / (every - none), (0.025, 0.975))
        interval = float(low), float(high)
    return [Gap(who, share, interval)]
