"""The command line as a user meets it: what it prints, and how it refuses."""

import json
import subprocess
import sys
from pathlib import Path

import equinox as eqx
import jax
import numpy as np
import pytest
from rich.console import Console

import afk
from afk.envs.level_pool import draw_pool
from afk.envs.qbabyai.solver import plan
from afk.envs.qbabyai.text import describe_action
from afk.envs.registry import make
from afk.training.evaluate import fresh_keys
from afk.training.pretrained import PRETRAINED, find_agent, save_small

from ..command import Run, run_apart

ROOT = Path(__file__).parents[2]
HELP = """
import sys
from afk.cli import main
heavy = {"jax", "jaxlib", "equinox", "optax", "numpy"}
assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()
sys.argv = ["afk", "--help"]
try:
    main.main()
finally:
    assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()
"""


def test_tasks_are_listed(run: Run) -> None:
    rows = json.loads(run_apart("tasks", "--json").stdout)
    assert len(rows) == 35
    assert [row["world"] for row in rows] == ["Q-BabyAI"] * 16 + ["Q-TextWorld"] * 4 + ["Q-BabyAI"] * 15
    assert rows[8]["task"] == "qbabyai/danger+open-door"
    assert (rows[8]["rooms"], rows[8]["room_size"], rows[8]["max_steps"]) == (2, 7, 98)
    assert (rows[8]["good_queries"], rows[8]["early_termination"]) == (2, True)
    assert rows[19] == {
        "world": "Q-TextWorld",
        "task": "qtextworld/take-2-cut",
        "ingredients": 2,
        "cut": True,
        "cook": False,
        "knife": "held",
        "pieces": 5,
        "max_steps": 20,
        "good_queries": 4,
    }
    shown = run("tasks").out
    assert all(row["task"] in shown for row in rows)


@pytest.mark.parametrize("width", [80, 160])
def test_tables_of_tasks_are_not_squeezed(width: int, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.setattr("afk.cli.tasks.make_console", lambda: Console(width=width))
    lines = run("tasks").out.splitlines()
    assert max(map(len, lines)) <= width
    rows = {cells[0]: cells[1:] for line in lines if "/" in line and (cells := line.split())}
    assert rows["qbabyai/object-in-box+danger+go-to-favorite+open-door"][:3] == ["CSDH", "441", "7"]
    assert rows["qtextworld/take-2-cut"][:6] == ["2", "yes", "no", "held", "20", "4"]
    assert ("also says: rooms, size" in " ".join(lines)) == (width == 80)


def test_the_version_is_said(run: Run) -> None:
    assert run("--version").out.split() == ["afk", afk.__version__]
    assert f"\nversion: {afk.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## {afk.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_help_names_every_command_and_takes_no_jax() -> None:
    done = subprocess.run(
        [sys.executable, "-c", HELP], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    commands = ["tasks", "play", "train", "watch", "demo", "reproduce", "view", "sweep"]
    commands += ["eval", "bench", "textworld"]
    assert [each for each in commands if f" {each} " not in done.stdout] == []


@pytest.mark.parametrize("arguments", [(), ("bench",), ("textworld",)])
def test_without_a_command_there_is_help_and_no_error_to_read(arguments: tuple[str, ...], run: Run) -> None:
    done = run(*arguments)
    assert done.code == 2
    assert "Usage:" in done.out + done.err and "error:" not in done.err


def test_the_expert_is_evaluated_on_a_task_by_its_letters() -> None:
    done = run_apart("eval", "expert", "--task", "S", "--episodes", "20", "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["task"] == "qbabyai/danger"
    assert summary["success"] == summary["f1"] == 1 and summary["episodes"] == 20
    assert summary["success_interval"][0] < 1 == summary["success_interval"][1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("eval", "expert", "--task", "qbabyai/dangre"), ("qbabyai/dangre", "did you mean qbabyai/danger")),
        (("eval", "expert", "--task", "zzz"), ("zzz", "afk tasks")),
        (
            ("eval", "oracle", "--task", "qbabyai/danger"),
            ("no agent oracle", "pretrained", "folder", "checkpoint", "expert", "random"),
        ),
        (("eval", "expert", "--task", "qbabyai/danger", "--episodes", "0"), ("--episodes", "1")),
        (("eval", "expert", "--task", "qbabyai/danger", "--seed", "one"), ("--seed",)),
        (("eval", "expert"), ("say what expert is to play: --task",)),
        (("eval", "runs/nowhere"), ("runs/nowhere is no run's folder and no checkpoint", "--task")),
        (("eval", "openai:any", "--task", "C", "--source", "nowhere"), ("unknown source", "nowhere", "sql")),
        (("bench", "env", "--task", "qbabyai/nowhere"), ("unknown task", "qbabyai/nowhere")),
        (
            ("eval", "pretrained", "--task", "qbabyai/object-in-box+danger-two-rooms"),
            ("qbabyai/object-in-box+danger-two-rooms", "there is one for", "qbabyai/danger"),
        ),
        (("eval", "tests", "--task", "qbabyai/danger"), ("tests", "no agent")),
        (("eval", "pyproject.toml", "--task", "qbabyai/danger"), ("pyproject.toml", "broken")),
        (("watch", "nobody", "--task", "qbabyai/danger"), ("no agent nobody", "pretrained")),
        (("watch", "pretrained", "--task", "qbabyai/danger", "--gif", "a.png"), ("a.png", ".gif")),
        (("play", "qbabyai/dangre"), ("qbabyai/dangre", "did you mean qbabyai/danger")),
        (("play", "qbabyai/danger", "--seed", "-1"), ("--seed", "0")),
        (("bench", "env", "--envs", "0"), ("--envs", "1")),
        (("bench", "train", "--preset", "slow"), ("slow", "paper, released, fast, laptop")),
        (("sing",), ("sing",)),
        (("view", "--host", "nosuch.invalid"), ("nosuch.invalid", "cannot be resolved")),
        (("view", "--host", ""), ("--host is empty", "127.0.0.1")),
        (("view", "--host", "192.0.2.1"), ("an address of this machine, which 192.0.2.1 is not",)),
        (("train", "S", "--steps", ""), ("--steps is a number of steps",)),
        (("reproduce", "table-1", "--run", "--budget", ""), ("--budget is a number of steps",)),
        (
            ("reproduce", "table-1", "--run", "--preset", ""),
            ("unknown preset ''", "paper, released, fast, laptop"),
        ),
        (
            ("reproduce", "table-1", "--run", "--preset", "no"),
            ("unknown preset 'no'", "paper, released, fast, laptop"),
        ),
        (("reproduce", "table-1", "--preset", ""), ("--preset says what to train",)),
    ],
)
def test_what_the_user_got_wrong_is_one_line(
    arguments: tuple[str, ...], said: tuple[str, ...], run: Run
) -> None:
    done = run(*arguments)
    assert done.code == 2
    assert [part for part in said if part not in done.err] == [], done.err
    assert done.err.startswith("error: ") and done.err.count("\n") == 1
    assert done.out == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("eval", "expert", "--task", "qbabyai/dangre"), ("qbabyai/dangre", "did you mean qbabyai/danger")),
        (("eval", "expert"), ("--task",)),
        (("train", "qbabyai/danger", "--from", "pretrained"), ("another network",)),
        (("train", "--resume", "nowhere"), ("nowhere", "config.json")),
    ],
)
def test_a_refusal_is_all_that_a_process_says(
    arguments: tuple[str, ...], said: tuple[str, ...], tmp_path: Path
) -> None:
    done = run_apart(*arguments, folder=tmp_path)
    assert done.returncode == 2 and done.stdout == ""
    assert [part for part in said if part not in done.stderr] == [], done.stderr
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir()), "nothing is left behind"


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_agent_with_numbers_that_are_not_finite_is_refused(value: float, tmp_path: Path, run: Run) -> None:
    found, path = find_agent(PRETRAINED, ("S",)), tmp_path / "best-24.safetensors"
    broken = jax.tree.map(lambda leaf: leaf * value, eqx.filter(found.network, eqx.is_inexact_array))
    save_small(path, found._replace(network=broken))
    for command in ("watch", "eval"):
        done = run(command, str(path), "--task", "S")
        assert done.code == 2 and done.err.startswith(f"error: the checkpoint {path} is broken: ")
        assert done.err.endswith("holds numbers that are not finite\n") and done.err.count("\n") == 1


@pytest.mark.slow
def test_a_pretrained_agent_is_evaluated_and_watched(tmp_path: Path) -> None:
    done = run_apart("eval", "pretrained", "--task", "qbabyai/danger", "--episodes", "50", "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["success"] > 0.9 and summary["recall"] > 0.9 and summary["variant"] == "afk-plus"
    gif = tmp_path / "episode.gif"
    done = run_apart("watch", "pretrained", "--task", "qbabyai/danger", "--seed", "1", "--gif", str(gif))
    assert done.returncode == 0, done.stderr
    assert "danger zone is" in done.stdout and gif.read_bytes().startswith(b"GIF89a")


def test_a_level_is_solved_in_the_terminal() -> None:
    states = draw_pool(make("qbabyai/danger"), fresh_keys(3)[0], 1).states
    lines = [describe_action(action) for action in plan(jax.tree.map(lambda leaf: leaf[0], states))]
    done = run_apart("play", "qbabyai/danger", "--seed", "3", typed="\n".join(["help", "jump", *lines]))
    assert done.returncode == 0, done.stderr
    assert "~ tile, k key" in done.stdout and "cannot read 'jump'; write left, right" in done.stdout
    assert 'The answer: "danger zone is' in done.stdout
    assert f"success after {len(lines)} steps, score 0." in done.stdout
    assert "questions 1, good ones 1 of 1" in done.stdout
