"""What can be said of a few seeds: means, deviations, bootstrap intervals, interquartile means."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 10_000
_LEVEL = (2.5, 97.5)  # percentiles of a 95% interval


@dataclass(frozen=True)
class Estimate:
    """A number and how sure it is.

    Attributes:
        mean: the number.
        std: the standard deviation, over seeds unless a record says otherwise; None where there is none.
        interval: of 95%, by bootstrap over seeds, or over episodes where there is one agent; None otherwise.
        seeds: how many it rests on; None if it does not rest on seeds.
    """

    mean: float
    std: float | None = None
    interval: tuple[float, float] | None = None
    seeds: int | None = None


def over_seeds(values: Sequence[float]) -> Estimate:
    """The mean over seeds, with the deviation of a sample (n - 1)."""
    if len(values) == 1:
        return Estimate(float(values[0]), seeds=1)
    means = resampled_means(values, np.random.default_rng(0))
    return Estimate(float(np.mean(values)), float(np.std(values, ddof=1)), _interval(means), len(values))


def over_tasks(samples: Sequence[Sequence[float]], average: Callable[[np.ndarray], np.ndarray]) -> Estimate:
    """An average of the tasks' means, and its interval if the seeds of every task are drawn again.

    Args:
        samples: for each task the values of its seeds.
        average: of an array over its first axis, such as `interquartile_mean`.
    """
    generator = np.random.default_rng(0)
    means = np.stack([resampled_means(values, generator) for values in samples])
    middle = average(np.array([np.mean(values) for values in samples]))
    uncertain = any(len(values) > 1 for values in samples)
    return Estimate(float(middle), interval=_interval(average(means)) if uncertain else None)


def interquartile_mean(values: np.ndarray) -> np.ndarray:
    """The mean over the first axis without the lowest and the highest quarter, rounded down."""
    cut = len(values) // 4
    return np.sort(values, axis=0)[cut : len(values) - cut].mean(0)


def plain_mean(values: np.ndarray) -> np.ndarray:
    """The mean over the first axis."""
    return values.mean(0)


def resampled_means(values: Sequence[float], generator: np.random.Generator) -> np.ndarray:
    """The means of (RESAMPLES,) samples drawn from values with replacement."""
    chosen = generator.integers(len(values), size=(RESAMPLES, len(values)))
    return np.asarray(values, float)[chosen].mean(1)


def _interval(means: np.ndarray) -> tuple[float, float]:
    low, high = np.percentile(means, _LEVEL)
    return float(low), float(high)
