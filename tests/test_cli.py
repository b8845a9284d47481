"""The command line as a user meets it: what it prints, and how it refuses."""

import json
import subprocess
import sys
from pathlib import Path

import jax
import pytest

from afk.envs.base import draw_pool
from afk.envs.qbabyai.solver import plan
from afk.envs.qbabyai.text import describe_action
from afk.envs.registry import make
from afk.experiments.evaluate import fresh_keys

from .command import Run


def run_apart(
    *arguments: str, folder: Path | None = None, typed: str | None = None
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "afk", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, cwd=folder, input=typed
    )


def test_tasks_are_listed(run: Run) -> None:
    rows = json.loads(run_apart("tasks", "--json").stdout)
    assert len(rows) == 20
    assert [row["world"] for row in rows] == ["Q-BabyAI"] * 16 + ["Q-TextWorld"] * 4
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
        (("eval", "expert", "--task", "qbabyai/dangre"), "did you mean qbabyai/danger"),
        (("eval", "expert", "--task", "zzz"), "`afk tasks` lists them all"),
        (
            ("eval", "oracle", "--task", "qbabyai/danger"),
            "there is no agent oracle: say shipped, a run's folder or a checkpoint",
        ),
        (("eval", "expert", "--task", "qbabyai/danger", "--episodes", "0"), "--episodes"),
        (("eval", "expert", "--task", "qbabyai/danger", "--seed", "one"), "--seed"),
        (("eval", "expert"), "--task"),
        (("bench", "env", "--task", "qbabyai/nowhere"), "unknown task"),
        (("eval", "shipped", "--task", "qbabyai/object-in-box+danger-two-rooms"), "no agent is shipped for"),
        (("eval", "tests", "--task", "qbabyai/danger"), "holds no agent yet"),
        (("eval", "pyproject.toml", "--task", "qbabyai/danger"), "is broken"),
        (("watch", "expert", "--task", "qbabyai/danger"), "there is no agent expert"),
        (("watch", "shipped", "--task", "qbabyai/danger", "--gif", "a.png"), "a.png"),
        (("play", "qbabyai/dangre"), "did you mean qbabyai/danger"),
        (("play", "qbabyai/danger", "--seed", "-1"), "--seed"),
        (("bench", "env", "--envs", "0"), "--envs"),
        (("bench", "train", "--preset", "slow"), "one of paper, fast, laptop"),
        (("sing",), "sing"),
    ],
)
def test_what_the_user_got_wrong_is_one_line(arguments: tuple[str, ...], said: str, run: Run) -> None:
    done = run(*arguments)
    assert done.code == 2
    assert said in done.err and done.err.startswith("error: ") and done.err.count("\n") == 1
    assert done.out == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("train",), "either tasks to train on"),
        (("train", "qbabyai/danger", "--n-gram", "3"), "not n = 3"),
        (("train", "qbabyai/danger", "--alpha", "0"), "alpha is above 0"),
        (("train", "qbabyai/danger", "--devices", "9"), "--devices is from 1"),
        (("train", "qbabyai/danger", "--seed", "99999999999999999999999"), "below 2**32"),
        (("train", "qbabyai/danger", "--steps", "inf"), "such as 500K or 20M"),
        (("train", "qbabyai/danger", "--told", "2"), "told is a share from 0 to 1, not 2"),
        (("train", "qbabyai/danger", "--bonus", "nan"), "bonus is a number from 0 on"),
        (("train", "qbabyai/danger", "--bonus-until", "2"), "bonus_until is a share from 0 to 1, not 2"),
        (("train", "qtextworld/take-1", "--preset", "paper", "--lend-bonus"), "DQN, which has no lend_bonus"),
        (("train", "qbabyai/danger", "--from", "shipped"), "another network than afk has here"),
        (("train", "qbabyai/danger", "--from", "nowhere"), "there is no agent nowhere"),
        (("train", "--resume", "nowhere", "--agent", "query"), "leave out agent"),
        (("train", "qbabyai/dangre"), "did you mean"),
        (("train", "qbabyai/danger", "qtextworld/take-1"), "Q-BabyAI and of Q-TextWorld cannot be mixed"),
        (("train", "qbabyai/danger", "--preset", "slow"), "one of paper, fast"),
        (("train", "qbabyai/danger", "--agent", "akf"), "did you mean afk"),
        (("train", "qbabyai/danger", "--steps", "many"), "such as 500K or 20M"),
        (("train", "--resume", "nowhere"), "no config.json"),
        (("train", "qbabyai/danger", "--agent", "no-query", "--told", "0.5"), "no-query has no notebook"),
        (("train", "qbabyai/danger", "--agent", "query", "--bonus-until", "0"), "leave out --bonus-until"),
        (("train", "qbabyai/danger", "--set", "bonus"), "--set takes NAME=VALUE"),
        (("train", "qbabyai/danger", "--set", "settings.bonuses=1"), "did you mean settings.bonus?"),
    ],
)
def test_training_refuses_in_one_line(
    arguments: tuple[str, ...], said: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(*arguments)
    assert done.code == 2 and said in done.err and done.err.count("\n") == 1
    assert not list(tmp_path.iterdir()), "nothing is left behind"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("eval", "expert", "--task", "qbabyai/dangre"), "did you mean qbabyai/danger"),
        (("eval", "expert"), "--task"),
        (("train", "qbabyai/danger", "--from", "shipped"), "another network than afk has here"),
        (("train", "--resume", "nowhere"), "no config.json"),
    ],
)
def test_a_refusal_is_all_that_a_process_says(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = run_apart(*arguments, folder=tmp_path)
    assert done.returncode == 2 and done.stdout == ""
    assert said in done.stderr and done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir()), "nothing is left behind"


def test_a_shipped_agent_is_evaluated_and_watched(tmp_path: Path) -> None:
    done = run_apart("eval", "shipped", "--task", "qbabyai/danger", "--episodes", "50", "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["success"] > 0.9 and summary["recall"] > 0.9 and summary["variant"] == "afk-plus"
    gif = tmp_path / "episode.gif"
    done = run_apart("watch", "shipped", "--task", "qbabyai/danger", "--seed", "1", "--gif", str(gif))
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
