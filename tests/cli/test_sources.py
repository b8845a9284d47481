"""Sources of knowledge on the command line: what there is, and whom one who watches or plays has asked."""

import json

import pytest

from ..command import Run


def test_sources_are_listed(run: Run) -> None:
    rows = json.loads(run("sources", "--json").out)
    assert list(rows) == ["oracle", "sql", "documents", "human", "openai:MODEL"]
    shown = run("sources").out
    assert all(name in shown and title in shown for name, title in rows.items())


@pytest.mark.parametrize(
    ("terms", "good"),
    [
        (("--source", "sql", "--price", "0.25"), 3),
        (("--source", "documents", "--price", "0.1:0.5", "--question-budget", "2"), 2),
        (("--source", "sql", "--lies", "1"), 0),
        (("--silence", "1"), 0),
    ],
)
def test_an_expert_is_watched_with_a_source_and_its_terms(
    terms: tuple[str, ...], good: int, run: Run
) -> None:
    shown = run("watch", "expert", "--task", "C", *terms).out
    assert f"questions 3, good ones {good} of 3" in shown


def test_what_questions_cost_is_in_the_summary(run: Run) -> None:
    terms = ("--source", "documents", "--price", "0.25", "--episodes", "4", "--json")
    summary = json.loads(run("eval", "expert", "--task", "C", *terms).out)
    assert summary["cost"] == 0.75 and summary["net_return"] == pytest.approx(summary["reward"] - 0.75)


@pytest.mark.parametrize(("terms", "good"), [((), 1), (("--price", "1", "--lies", "1"), 0)])
def test_one_plays_with_a_source_and_its_terms(terms: tuple[str, ...], good: int, run: Run) -> None:
    done = run("play", "C", "--source", "documents", *terms, typed="what mary toy\nquit\n")
    assert f"questions 1, good ones {good} of 3" in done.out


@pytest.mark.parametrize("command", [("watch", "expert", "--task", "C"), ("play", "C")])
@pytest.mark.parametrize(
    ("terms", "problem"),
    [
        (("--source", "nobody"), "unknown source 'nobody'"),
        (("--price", "dear"), "--price is a number"),
        (("--price", "2"), "from 0 to 1"),
    ],
)
def test_a_source_or_a_price_that_makes_no_sense_is_said(
    command: tuple[str, ...], terms: tuple[str, ...], problem: str, run: Run
) -> None:
    done = run(*command, *terms)
    assert done.code == 2 and problem in done.err and done.err.count("\n") == 1
