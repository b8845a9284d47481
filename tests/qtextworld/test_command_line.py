"""Q-TextWorld by name and on the command line, as a user meets it."""

import json
import sys
from pathlib import Path

import pytest

from afk import bench, cli
from afk.envs import registry
from afk.envs.base import draw_pool
from afk.envs.qtextworld import bank as bank_module
from afk.envs.qtextworld.bank import Bank
from afk.envs.qtextworld.commands import write_command
from afk.envs.qtextworld.environment import QTextWorld
from afk.envs.qtextworld.solver import plan
from afk.envs.qtextworld.tasks import Task, paper_tasks
from afk.experiments.evaluate import expert, fresh_keys, play, summarise

from ..command import Run
from .families import ALL

CUT = "qtextworld/take-1-cut"


@pytest.fixture
def kept(bank: Bank, monkeypatch: pytest.MonkeyPatch) -> Bank:
    """The small bank as the one that is in the cache."""
    monkeypatch.setattr(bank_module, "_kept_bank", lambda path: bank)
    return bank


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither a bank nor the package it is made from."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(bank_module, "_kept_bank", bank_module._kept_bank.__wrapped__)
    for name in {"textworld", *(each for each in sys.modules if each.split(".")[0] == "textworld")}:
        monkeypatch.setitem(sys.modules, name, None)


def winning_lines(name: str, seed: int) -> list[str]:
    """What the expert would type to win."""
    env = registry.make(name)
    assert isinstance(env, QTextWorld)
    (episodes,) = play(env, expert, episodes=1, seed=seed)
    states = draw_pool(env, fresh_keys(seed)[0], 1).states
    return [write_command(env.task, action) for action in plan(env, states)[0][: int(episodes.length[0])]]


def test_names_lead_to_games(kept: Bank) -> None:
    for task in paper_tasks():
        env = registry.make(task.name)
        assert env == QTextWorld(task, kept)
        assert registry.find_task(task.name) == task
        assert (env.name, env.max_steps) == (task.name, 20)


def test_a_game_of_ones_own_is_a_name_like_any_other(kept: Bank, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {})
    task = Task("mine/stew", ingredients=3, cook=True)
    registry.register(task)
    assert registry.task_names()[-1] == "mine/stew"
    assert registry.make("mine/stew") == QTextWorld(task, kept)
    with pytest.raises(ValueError, match="registered already"):
        registry.register(task)


@pytest.mark.usefixtures("nothing")
def test_without_texts_only_games_are_refused(run: Run) -> None:
    assert registry.make("qbabyai/danger").max_steps == 49
    assert all(name.startswith("qbabyai/") for name in bench.default_tasks())
    for arguments in (("play", CUT), ("eval", "expert", "--task", CUT), ("bench", "env", "--task", CUT)):
        done = run(*arguments)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert "pip install textworld" in done.err


@pytest.mark.usefixtures("kept")
def test_the_expert_and_chance_are_evaluated(run: Run) -> None:
    arguments = ("--task", "qtextworld/take-2-cut", "--episodes", "40", "--json")
    done = run("eval", "expert", *arguments)
    summary = json.loads(done.out)
    assert done.code in (0, None)
    assert summary["success"] == summary["f1"] == summary["reward"] == 1
    assert summary["queries"] == summary["good_queries"] == 4
    assert 6 < summary["episode_length"] <= 10
    summary = json.loads(run("eval", "random", *arguments).out)
    assert (summary["success"], summary["episode_length"], summary["good_queries"]) == (0, 20, 4)
    assert 3 < summary["queries"] < 9  # two of seven function words ask


@pytest.mark.usefixtures("kept")
def test_an_agent_of_another_world_does_not_play(run: Run) -> None:
    agent = str(Path(cli.__file__).parent / "shipped" / "qbabyai.safetensors")
    done = run("eval", agent, "--task", CUT, "--any-task")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert f"trained with other actions than {CUT} has" in done.err


def test_episodes_are_counted_to_their_end_only(bank: Bank) -> None:
    (episodes,) = play(QTextWorld(ALL, bank), expert, episodes=30, seed=1)
    assert episodes.success.all() and (episodes.reward == 1).all()
    assert (episodes.length <= ALL.longest_plan).all() and len(set(episodes.length.tolist())) > 3
    assert (episodes.queries == ALL.good_queries).all() and (episodes.good == ALL.good_queries).all()
    assert summarise([episodes])["precision"] == 1


@pytest.mark.usefixtures("kept")
def test_a_game_is_won_in_the_terminal(run: Run) -> None:
    lines = winning_lines(CUT, seed=3)
    done = run("play", CUT, "--seed", "3", typed="\n".join(lines))
    assert done.code in (0, None) and not done.err
    assert "collect some" in done.out and "you are carrying: a knife" in done.out
    assert "needs to be" in done.out and "taken." in done.out
    assert f"success after {len(lines)} steps, score 1.00; questions 2, good ones 2 of 2" in done.out


@pytest.mark.usefixtures("kept")
def test_lines_that_are_no_command_cost_nothing(run: Run) -> None:
    done = run("play", CUT, typed="\nsing\nHELP\nopen\ntake the fridge\nQuit\nopen oven\n")
    assert done.code in (0, None)
    assert "cannot read 'sing'; write take, open, slice, dice, chop or" in done.out
    assert "open fridge\nopen griller\nopen oven\n" in done.out and "ask Charlie where NAME" in done.out
    assert "cannot read 'open': a name is" in done.out
    assert "invalid command." in done.out and "1 of 20 steps, score 0.00 >" in done.out
    assert "ended after 1 steps, score 0.00; questions 0, good ones 0 of 2" in done.out


@pytest.mark.usefixtures("kept")
def test_the_end_of_what_is_typed_ends_the_game(run: Run) -> None:
    assert "ended before the first step" in run("play", CUT).out
    done = run("play", CUT, typed="ask Charlie where's the cookbook?")
    assert "the cookbook is" in done.out and "ended after 1 steps" in done.out
    done = run("play", CUT, typed="open oven\n" * 30)
    assert "out of time after 20 steps" in done.out


@pytest.mark.usefixtures("kept")
def test_a_spoilt_ingredient_is_a_failure(run: Run) -> None:
    *lines, cut = winning_lines(CUT, seed=3)
    verb, name = cut.split(" ", 1)
    wrong = f"{'dice' if verb == 'slice' else 'slice'} {name}"
    done = run("play", CUT, "--seed", "3", typed="\n".join([*lines, wrong]))
    assert f"failure after {len(lines) + 1} steps, score 0.00" in done.out


@pytest.mark.usefixtures("kept")
def test_speed_is_measured_against_textworlds_engine(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "_POOL", 64)
    monkeypatch.setattr(bench, "_COPIED", 1 << 16)
    done = run("bench", "env", "--task", "qtextworld/take-1", "--envs", "16", "--seconds", "0.1")
    assert done.code in (0, None), done.err
    assert "qtextworld/take-1: bound by" in done.out and done.out.count("x textworld") == 2
