"""Whom to believe, solved exactly: one of two answers is true, and sources that lie say which.

What has been heard is a tuple with an entry for each source: `SILENT`, or which of the two answers it gave.
There are 3^S of them, so the best asker is found by going back from those in which all were asked. Levels are
computed side by side: arrays have a leading axis of levels.
"""

from collections.abc import Callable, Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

SILENT = 2  # in what was heard: this source was not asked
STOP = -1  # in a choice: ask nobody more

Heard = tuple[int, ...]
Choose = Callable[[Heard], np.ndarray]  # whom to ask next, (levels,) int, or `STOP`


class Case(NamedTuple):
    """Some levels in which one of two answers is true, either as likely.

    Attributes:
        gains: (levels, 2), what acting on either answer is worth if it is the true one; nothing otherwise.
        step: what the step of a question takes off a gain.
        lies: (levels, sources), how likely what each says is false.
        prices: (levels, sources).
    """

    gains: np.ndarray
    step: float
    lies: np.ndarray
    prices: np.ndarray


class Outcome(NamedTuple):
    """What is to be expected in each level, (levels,) each.

    Attributes:
        success: how likely the true answer is acted upon.
        reward: without what is paid.
        cost: what is paid.
        questions: how many are asked.
        acted_on_false: how likely all that was heard is false, and something was.
    """

    success: np.ndarray
    reward: np.ndarray
    cost: np.ndarray
    questions: np.ndarray
    acted_on_false: np.ndarray

    @property
    def net_return(self) -> np.ndarray:
        """The reward without what is paid."""
        return self.reward - self.cost


def bayesian(case: Case, believed: np.ndarray) -> Choose:
    """The asker that does best if sources lie as often as is believed: (levels, sources), or one for all."""
    lies = np.broadcast_to(believed, case.lies.shape)
    values: dict[Heard, np.ndarray] = {}
    choices: dict[Heard, np.ndarray] = {}
    for heard in reversed(list(_all_heard(case.lies.shape[1]))):
        best = _acting(case, lies, heard).max(1)
        choice = np.full(len(lies), STOP)
        weights = _weights(lies, heard)
        for source in (number for number, said in enumerate(heard) if said == SILENT):
            value = -case.prices[:, source]
            for said in (0, 1):
                likely = _weigh(weights, lies[:, source], said).sum(1) / weights.sum(1)
                value = value + likely * values[_hear(heard, source, said)]
            choice = np.where(value > best, source, choice)
            best = np.maximum(best, value)
        values[heard], choices[heard] = best, choice
    return choices.__getitem__


def asking_in_turn(case: Case, questions: int) -> Choose:
    """The asker that always asks the first so many sources."""

    def choose(heard: Heard) -> np.ndarray:
        asked = sum(said != SILENT for said in heard)
        return np.full(len(case.lies), asked if asked < questions else STOP)

    return choose


def expect(case: Case, choose: Choose, believed: np.ndarray) -> Outcome:
    """What comes of an asker that acts on what is likelier, and more so if it is worth more.

    Args:
        case: the levels.
        choose: whom it asks.
        believed: (levels, sources), or one for all: how often it takes sources to lie.
    """
    believed = np.broadcast_to(believed, case.lies.shape)
    count, sources = case.lies.shape
    reached = {heard: np.zeros((count, 2)) for heard in _all_heard(sources)}
    reached[(SILENT,) * sources][:] = 0.5
    sums = {name: np.zeros(count) for name in Outcome._fields}
    for heard, likely in reached.items():
        choice, asked = choose(heard), sum(said != SILENT for said in heard)
        acted = _acting(case, believed, heard).argmax(1)
        right = np.where(choice == STOP, likely[np.arange(count), acted], 0)
        sums["success"] += right
        sums["reward"] += right * _gains(case, asked)[np.arange(count), acted]
        for truth in (0, 1):
            if asked and all(said in (SILENT, 1 - truth) for said in heard):
                sums["acted_on_false"] += np.where(choice == STOP, likely[:, truth], 0)
        for source in (number for number, said in enumerate(heard) if said == SILENT):
            asks = (choice == source)[:, None] * likely
            sums["questions"] += asks.sum(1)
            sums["cost"] += asks.sum(1) * case.prices[:, source]
            for said in (0, 1):
                reached[_hear(heard, source, said)] += _weigh(asks, case.lies[:, source], said)
    return Outcome(**sums)


def _all_heard(sources: int) -> Iterator[Heard]:
    """All that can have been heard, what is heard earlier first."""
    every = product((0, 1, SILENT), repeat=sources)
    return iter(sorted(every, key=lambda heard: sum(said != SILENT for said in heard)))


def _hear(heard: Heard, source: int, said: int) -> Heard:
    return (*heard[:source], said, *heard[source + 1 :])


def _weigh(weights: np.ndarray, lies: np.ndarray, said: int) -> np.ndarray:
    """(levels, 2) weights of what is true, by how likely a source then says one of the answers."""
    return weights * np.where(np.arange(2) == said, 1 - lies[:, None], lies[:, None])


def _weights(lies: np.ndarray, heard: Heard) -> np.ndarray:
    """How likely either answer is true, (levels, 2), times what both share."""
    weights = np.full((len(lies), 2), 0.5)
    for source, said in enumerate(heard):
        if said != SILENT:
            weights = _weigh(weights, lies[:, source], said)
    return np.maximum(weights, np.finfo(float).tiny)


def _gains(case: Case, asked: int) -> np.ndarray:
    """What acting is worth after some questions: (levels, 2)."""
    return np.maximum(case.gains - case.step * asked, 0)


def _acting(case: Case, lies: np.ndarray, heard: Heard) -> np.ndarray:
    """What acting on either answer is worth now: (levels, 2)."""
    weights = _weights(lies, heard)
    return weights / weights.sum(1, keepdims=True) * _gains(case, sum(said != SILENT for said in heard))
