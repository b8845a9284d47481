"""`afk bench start`: what commands in fresh processes compile, and when they say their first line."""

import json

import pytest

from afk.bench import start
from afk.bench.start import ERRANDS, Errand, bench_start

from ..command import Run

_LINES = (
    "Finished tracing _act for jit in 0.5 sec",
    "Finished jaxpr to MLIR module conversion jit(_act) in 0.25 sec",
    "Finished XLA compilation of jit(_act) in 2.0e-01 sec",
    "Finished XLA compilation of jit(gather) in 0.1 sec",
    "Compiling jit(_act) with global shapes and types",
)


def test_what_jax_says_is_counted() -> None:
    found = start._describe_programs(_LINES)
    assert found["programs"] == 2
    assert (found["tracing_seconds"], found["lowering_seconds"]) == (0.5, 0.25)
    assert found["compiling_seconds"] == pytest.approx(0.3)
    assert found["heaviest"][0] == {"program": "_act", "tracing": 0.5, "lowering": 0.25, "compiling": 0.2}


def test_commands_are_waited_for_cold_and_warm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ERRANDS, "version", Errand("afk --version", ("--version",), r"^afk \d"))
    said: list[str] = []
    waits = bench_start(["version"], rounds=1, say=said.append)["waits"]
    assert [(each["code"], each["cache"], each["programs"]) for each in waits] == [
        ("now", "cold", 0),
        ("now", "warm", 0),
    ]
    assert all(0 < each["cpu_seconds"] < each["seconds"] + 60 for each in waits) and len(said) == 2


def test_a_command_that_ends_early_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ERRANDS, "version", Errand("afk --version", ("--version",), "never said"))
    with pytest.raises(ValueError, match="afk --version ended early: afk "):
        bench_start(["version"], say=lambda line: None)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--what", "lunch"), "watch, view, eval, demo, train, not lunch"),
        (("--before", "/nowhere"), "--before"),
    ],
)
def test_bad_arguments_are_refused(run: Run, arguments: tuple[str, ...], said: str) -> None:
    done = run("bench", "start", *arguments)
    assert done.code == 2 and said in done.err and done.err.count("\n") == 1


def test_waits_are_printed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    wait = {
        "title": "lunch",
        "code": "now",
        "cache": "cold",
        "seconds": 1.26,
        "cpu_seconds": 2.5,
        "programs": 7,
    }
    wait |= dict.fromkeys(("tracing_seconds", "lowering_seconds", "compiling_seconds"), 0.5)
    record = {"machine": {"cores": 2}, "load": 0.0, "waits": [wait]}
    monkeypatch.setattr(start, "bench_start", lambda names, **options: record)
    done = run("bench", "start", "--what", "watch", "--json")
    assert json.loads(done.out) == record
    assert "1.3" in run("bench", "start", "--what", "watch").out
