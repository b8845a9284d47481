"""`afk bench sources`: worlds with and without sources take turns."""

import json

import pytest

from afk.bench import sources as bench

from ..command import Run


@pytest.mark.slow
def test_sources_are_measured_beside_the_oracle(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "POOL", 32)
    rows = json.loads(run("bench", "sources", "--task", "S", "--envs", "8", "--rounds", "3", "--json").out)[
        "rows"
    ]
    assert [row["sources"] for row in rows] == [
        "the oracle",
        "one source",
        "one stale source",
        "eight sources",
    ]
    assert [row["goal"] for row in rows] == [None, 0.05, None, 0.2]
    assert rows[0]["cost"] == 0 and all(row["steps_per_second"] > 0 for row in rows)
    assert all(low <= row["cost"] <= high for row in rows for low, high in [row["cost_quartiles"]])


def test_what_counts_is_the_ratio_within_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that others use is slower for a while, and for all worlds alike."""
    clock = [0.0]
    monkeypatch.setattr(bench.time, "process_time", lambda: clock[0])
    monkeypatch.setattr(bench.time, "perf_counter", lambda: clock[0])
    calls = [0]

    def loop_of(task: str, specs: object, environments: int) -> object:
        base = 1.0 + 0.25 * len(specs)  # pyright: ignore[reportArgumentType]

        def loop(key: object) -> None:
            round_number = calls[0] // 4
            calls[0] += 1
            clock[0] += base * (10 if round_number % 2 else 1)

        return loop

    monkeypatch.setattr(bench, "_loop", loop_of)
    rows = bench.bench_sources("S", environments=1, rounds=6)
    assert [row["cost"] for row in rows] == pytest.approx([0, 0.25, 0.25, 2.0])


@pytest.mark.parametrize("arguments", [("--rounds", "0"), ("--envs", "0"), ("--task", "qbabyai/dangre")])
def test_bad_arguments_are_one_line(run: Run, arguments: tuple[str, ...]) -> None:
    done = run("bench", "sources", *arguments)
    assert done.code == 2 and done.err.count("\n") == 1
