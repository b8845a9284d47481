"""Precision, recall and F1 of queries."""

import numpy as np
import pytest

from afk.envs.core import query_quality


@pytest.mark.parametrize(
    ("good", "queries", "wanted", "expected"),
    [
        (1, 3, 3, (1 / 3, 1 / 3, 1 / 3)),
        (0, 0, 3, (0, 0, 0)),
        (3, 1, 3, (1, 1, 1)),
        (2, 1, 4, (1, 1 / 2, 2 / 3)),
    ],
)
def test_no_measure_is_above_one(
    good: int, queries: int, wanted: int, expected: tuple[float, float, float]
) -> None:
    np.testing.assert_allclose(query_quality(good, queries, wanted), expected)
    arrays = query_quality(*(np.array([each]) for each in (good, queries, wanted)))
    np.testing.assert_allclose(np.concatenate(arrays), expected)
