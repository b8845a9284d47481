"""Means, deviations, intervals and interquartile means against numpy and scipy."""

import numpy as np
import pytest
from scipy.stats import bootstrap, trim_mean

from afk.report.estimates import interquartile_mean, over_seeds, over_tasks, plain_mean

VALUES = [0.91, 0.97, 0.88, 0.99, 0.93]


def test_mean_and_deviation_are_those_of_a_sample() -> None:
    estimate = over_seeds(VALUES)
    assert estimate.seeds == 5
    assert estimate.mean == pytest.approx(np.mean(VALUES))
    assert estimate.std == pytest.approx(np.std(VALUES, ddof=1))


def test_the_interval_is_that_of_the_percentile_bootstrap() -> None:
    wanted = bootstrap(
        (np.array(VALUES),), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    assert over_seeds(VALUES).interval == pytest.approx((wanted.low, wanted.high), abs=0.002)
    assert over_seeds(VALUES) == over_seeds(VALUES), "the same every time"


def test_one_seed_has_neither_deviation_nor_interval() -> None:
    estimate = over_seeds([0.5])
    assert (estimate.mean, estimate.std, estimate.interval, estimate.seeds) == (0.5, None, None, 1)


@pytest.mark.parametrize("count", range(1, 17))
def test_the_interquartile_mean_leaves_out_a_quarter_on_each_side(count: int) -> None:
    values = np.random.default_rng(count).random((count, 3))
    np.testing.assert_allclose(interquartile_mean(values), trim_mean(values, 0.25, axis=0))


def test_averages_over_tasks_draw_the_seeds_of_each_task_again() -> None:
    generator = np.random.default_rng(2)
    tasks = [generator.normal(level, 0.1, size=5).tolist() for level in (0.1, 0.5, 0.6, 0.7, 5.0)]
    estimate = over_tasks(tasks, interquartile_mean)
    assert estimate.mean == pytest.approx(trim_mean([np.mean(task) for task in tasks], 0.25))
    drawn = [trim_mean([generator.choice(task, 5).mean() for task in tasks], 0.25) for _ in range(2_000)]
    assert estimate.interval == pytest.approx(np.percentile(drawn, [2.5, 97.5]), abs=0.02)
    assert over_tasks(tasks, plain_mean).mean == pytest.approx(np.mean(tasks))
    assert over_tasks([[1.0], [3.0]], plain_mean).interval is None
