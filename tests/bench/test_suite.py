"""`afk bench all`: everything is measured once, in toy size, printed and drawn."""

import json
from pathlib import Path

import pytest

from afk.bench import environments as bench
from afk.bench.suite import PUBLISHED, Scope, published_speed
from afk.cli.main import app
from afk.training.machine import describe_machine

from ..training.tiny_run import add_tiny_preset

TASK = "qbabyai/danger"


@pytest.mark.slow
def test_everything_is_measured_and_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    add_tiny_preset(monkeypatch)
    monkeypatch.setattr(bench, "POOL", 64)
    monkeypatch.setattr(bench, "_COPIED", 1 << 16)
    plot = tmp_path / "speed.png"
    sizes = ["--envs", "16", "--envs", "4", "--seconds", "0.1", "--quick"]
    options = ["--task", TASK, "--preset", "tiny", *sizes, "--plot", str(plot), "--json"]
    app(["bench", "all", *options], standalone_mode=False)
    printed, said = capsys.readouterr()
    record = json.loads(printed)
    assert "training with 8 environments" in said and plot.read_bytes()[:4] == b"\x89PNG"

    (world,) = record["environments"]
    assert [point["environments"] for point in world["scaling"]] == [4, 16] and world["task"] == TASK
    assert world["scaling"][1]["steps_per_second"] == world["steps_per_second"] > 0
    assert world["levels_per_second"] > 0 and bench.times_peer(world, "steps").endswith(" x minigrid")
    assert bench.explain_bound(world).startswith("bound by")
    (training,) = record["training"]
    assert training["preset"] == "tiny" and training["environments"] == 8
    assert training["rollout_steps_per_second"] > training["steps_per_second"] > 0
    assert 0 < training["fraction_of_device_rate"] < 1
    assert sum(training["share_of_time"].values()) == pytest.approx(1)
    (evaluation,) = record["evaluation"]
    assert evaluation["episodes"] == 100
    length = evaluation["steps_per_second"] / evaluation["episodes_per_second"]
    assert 1 <= length <= 49, "steps of an episode"
    assert record["published"] == PUBLISHED and record["machine"] == describe_machine()
    assert record["load"] >= 0


def test_however_short_a_call_is_it_is_measured_for_as_long_as_asked() -> None:
    calls = []
    spent, first = bench.measure(calls.append, 0.2)
    assert len(calls) > 10_000 and 0 < spent < 0.2 and first > 0


def test_sizes_of_training_are_the_presets_and_others() -> None:
    scope = Scope((TASK,), "laptop", "afk", (4,), (0.25, 1, 4), (8,), 0.1)
    sizes = [(each.settings.environments, each.log_every) for each in scope.configs(TASK)]
    assert sizes == [(16, 10), (64, 10), (256, 2)]
    assert published_speed(TASK) == "231 to 579" and published_speed("qtextworld/take-1") == "at most 58"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--plot", "speed.svg"), ("--plot", ".png", "speed.svg")),
        (("--task", "qbabyai/dangre"), ("qbabyai/dangre", "did you mean qbabyai/danger")),
        (("--preset", "slow"), ("preset 'slow'", "paper, released, fast, laptop")),
        (("--agent", "akf"), ("akf", "did you mean afk")),
    ],
)
def test_what_the_user_got_wrong_is_one_line(arguments: tuple[str, ...], said: tuple[str, ...]) -> None:
    with pytest.raises(ValueError) as caught:
        app(["bench", "all", *arguments], standalone_mode=False)
    message = str(caught.value)
    assert [part for part in said if part not in message] == [], message
    assert "\n" not in message
