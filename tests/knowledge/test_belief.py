"""Askers of sources that lie: the exact solution against arithmetic by hand and against draws."""

from itertools import product

import numpy as np
import pytest

from afk.knowledge.belief import SILENT, STOP, Case, Heard, asking_in_turn, bayesian, expect


def case(*lies: float, price: float = 0.0, step: float = 0.0, levels: int = 1) -> Case:
    shape = levels, len(lies)
    return Case(np.ones((levels, 2)), step, np.broadcast_to(lies, shape), np.full(shape, price))


def test_majority_of_three_is_right_as_often_as_two_of_them() -> None:
    levels, rate = case(0.25, 0.25, 0.25, price=0.01), 0.25
    found = expect(levels, asking_in_turn(levels, 3), np.array(0.25))
    assert found.success == pytest.approx((1 - rate) ** 3 + 3 * rate * (1 - rate) ** 2)
    assert found.questions == 3 and found.cost == pytest.approx(0.03)
    assert found.acted_on_false == pytest.approx(rate**3)


def test_a_second_opinion_of_equals_is_worth_nothing_and_a_third_is() -> None:
    two, three = case(0.3, 0.3, price=0.001), case(0.3, 0.3, 0.3, price=0.001)
    alone, among = (expect(each, bayesian(each, each.lies), each.lies) for each in (two, three))
    assert alone.questions == 1 and alone.success == pytest.approx(0.7)
    assert among.questions == pytest.approx(2 + 2 * 0.3 * 0.7)  # the third only where the first two differ
    assert among.success == pytest.approx(0.7**3 + 3 * 0.3 * 0.7**2)


def test_who_knows_the_honest_one_asks_it_alone() -> None:
    levels = case(0.5, 0.0, 0.5, price=0.01)
    found = expect(levels, bayesian(levels, levels.lies), levels.lies)
    assert found.success == 1 and found.questions == 1 and found.acted_on_false == 0


@pytest.mark.parametrize(("price", "questions"), [(0.0, 1), (0.49, 1), (0.51, 0)])
def test_it_stops_asking_where_a_guess_is_cheaper(price: float, questions: int) -> None:
    levels = case(0.0, price=price)
    found = expect(levels, bayesian(levels, levels.lies), levels.lies)
    assert found.questions == questions and found.net_return == pytest.approx(max(0.5, 1 - price))


def test_no_other_asker_does_better() -> None:
    rng = np.random.default_rng(0)
    count = 20
    levels = Case(
        rng.uniform(0.5, 1, (count, 2)),
        0.02,
        rng.uniform(0, 0.6, (count, 2)),
        rng.uniform(0, 0.1, (count, 2)),
    )
    best = expect(levels, bayesian(levels, levels.lies), levels.lies).net_return
    after = [(said, SILENT) for said in (0, 1)] + [(SILENT, said) for said in (0, 1)]
    for first, then in product((STOP, 0, 1), product((False, True), repeat=4)):
        goes_on = dict(zip(after, then, strict=True))

        def choose(heard: Heard, first: int = first, goes_on: dict[Heard, bool] = goes_on) -> np.ndarray:
            last = STOP if not goes_on.get(heard) else heard.index(SILENT)
            return np.full(count, first if heard == (SILENT, SILENT) else last)

        assert (expect(levels, choose, levels.lies).net_return <= best + 1e-12).all()


def test_what_is_expected_is_what_happens() -> None:
    rng, draws = np.random.default_rng(1), 20_000
    levels = case(0.4, 0.1, 0.3, price=0.02, step=0.01)
    choose = bayesian(levels, levels.lies)
    totals = np.zeros(3)
    for truth, *false in zip(
        rng.integers(0, 2, draws), *(rng.random((3, draws)) < levels.lies.T), strict=True
    ):
        heard: Heard = (SILENT,) * 3
        while (source := int(choose(heard)[0])) != STOP:
            said = int(truth ^ false[source])
            heard = (*heard[:source], said, *heard[source + 1 :])
        asked = [number for number, said in enumerate(heard) if said != SILENT]
        likely = [
            np.prod([abs((heard[source] != answer) - 1 + levels.lies[0, source]) for source in asked])
            for answer in (0, 1)
        ]
        totals += [likely[truth] > likely[1 - truth], len(asked), all(false[source] for source in asked)]
    found = expect(levels, choose, levels.lies)
    expected = [found.success[0], found.questions[0], found.acted_on_false[0]]
    np.testing.assert_allclose(totals / draws, expected, atol=0.012)
