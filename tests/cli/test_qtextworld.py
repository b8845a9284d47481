"""Q-TextWorld on the command line, as a user meets it."""

import json
import re
import sys
from dataclasses import replace
from io import StringIO
from pathlib import Path

import jax
import numpy as np
import pytest
from rich.console import Console

import afk
from afk.agents.base import Size
from afk.bench import environments as bench
from afk.cli import demonstration
from afk.envs import registry
from afk.envs.asking import Asking
from afk.envs.level_pool import draw_pool
from afk.envs.qtextworld.commands import write_command
from afk.envs.qtextworld.environment import QTextWorld
from afk.envs.qtextworld.levels import bank as bank_module
from afk.envs.qtextworld.levels.bank import Bank
from afk.envs.qtextworld.solver import plan
from afk.knowledge.traits import SourceSpec
from afk.training import checkpoint
from afk.training.build import make_agent
from afk.training.config import Config
from afk.training.evaluate import expert, fresh_keys, play, summarise
from afk.training.presets import preset
from afk.training.pretrained import TrainedAgent

from ..command import Run
from ..envs.qtextworld.families import ALL

TAKE, CUT = "qtextworld/take-1", "qtextworld/take-1-cut"
SIZE = Size(width=8, head=8, instruction_words=28, notes=8, note_words=10, distinct_notes=0)


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither a bank nor the package it is made from."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(bank_module, "_kept_bank", bank_module._kept_bank.__wrapped__)
    for name in {"textworld", *(each for each in sys.modules if each.split(".")[0] == "textworld")}:
        monkeypatch.setitem(sys.modules, name, None)


def small_config() -> Config:
    """A run on a game, with a small network."""
    return replace(preset("laptop", [TAKE]), size=SIZE)


def winning_lines(name: str, seed: int) -> list[str]:
    """What the expert would type to win."""
    env = registry.make(name)
    assert isinstance(env, QTextWorld)
    (episodes,) = play(env, expert, episodes=1, seed=seed)
    states = draw_pool(env, fresh_keys(seed)[0], 1).states
    actions = np.asarray(plan(env, states)[0])[: int(episodes.length[0])]
    return [write_command(env.task, action) for action in actions]


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
    agent = str(Path(afk.__file__).parent / "pretrained" / "qbabyai.safetensors")
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
def test_a_source_that_is_spent_or_silent_refuses(run: Run) -> None:
    question = "ask Charlie where's the cookbook?\n"
    done = run("play", CUT, "--question-budget", "1", typed=2 * question)
    assert done.code in (0, None) and "1 of 20 steps, score 0.00 > you cannot know." in done.out
    silent = Asking(sources=(SourceSpec(silence=(1.0, 1.0)),))
    first = afk.watch("expert", TAKE, seed=3, asking=silent).steps[0]
    assert (first.asks, first.answer, first.new) == (True, "you cannot know.", ()), "nothing to be noted"


@pytest.mark.usefixtures("kept")
def test_an_agent_that_knows_the_oracle_only_asks_another_source(run: Run, tmp_path: Path) -> None:
    config, path = small_config(), tmp_path / "best-24.safetensors"
    checkpoint.save(path, make_agent(config, jax.random.key(24)), checkpoint.describe(config, seed=24))
    arguments = ("eval", str(path), "--task", TAKE, "--episodes", "16", "--json")
    summary = json.loads(run(*arguments, "--source", "sql", "--price", "0.5", "--lies", "1").out)
    assert summary["cost"] > 0 and summary["net_return"] == summary["reward"] - summary["cost"]
    assert summary["false_answers"] >= summary["acted_on_false"] and summary["recall"] == 0


@pytest.mark.usefixtures("kept")
def test_a_spoilt_ingredient_is_a_failure(run: Run) -> None:
    *lines, cut = winning_lines(CUT, seed=3)
    verb, name = cut.split(" ", 1)
    wrong = f"{'dice' if verb == 'slice' else 'slice'} {name}"
    done = run("play", CUT, "--seed", "3", typed="\n".join([*lines, wrong]))
    assert f"failure after {len(lines) + 1} steps, score 0.00" in done.out


@pytest.mark.usefixtures("kept")
def test_speed_is_measured_against_textworlds_engine(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "POOL", 64)
    monkeypatch.setattr(bench, "_COPIED", 1 << 16)
    done = run("bench", "env", "--task", "qtextworld/take-1", "--envs", "16", "--seconds", "0.1")
    assert done.code in (0, None), done.err
    assert "qtextworld/take-1: bound by" in done.out and done.out.count("x textworld") == 2


@pytest.mark.usefixtures("kept")
def test_a_checkpoint_is_watched(run: Run, tmp_path: Path) -> None:
    config = small_config()
    path, gif = tmp_path / "best-24.safetensors", tmp_path / "episode.gif"
    checkpoint.save(path, make_agent(config, jax.random.key(24)), checkpoint.describe(config, seed=24))
    code, out, err = run("watch", str(path), "--task", TAKE, "--gif", str(gif))
    assert code in (0, None) and "collect some" in out
    assert re.search(r"(success|failure|out of time) after \d+ steps, reward", out)
    assert "written" in err and gif.read_bytes().startswith(b"GIF89a")
    pretrained = str(Path(afk.__file__).parent / "pretrained" / "qbabyai.safetensors")
    for arguments, said in (
        ((str(path), "--task", "qtextworld/take-2"), f"was trained on {TAKE}, not on qtextworld/take-2"),
        ((str(path), "--task", "qbabyai/danger", "--any-task"), "trained with other actions than"),
        ((pretrained, "--task", TAKE, "--any-task"), "trained with other actions than"),
    ):
        code, out, err = run("watch", *arguments)
        assert (code, out, err.count("\n")) == (2, "", 1) and said in err


@pytest.mark.usefixtures("kept")
def test_the_demonstration_has_a_transcript_if_there_is_an_agent_and_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def say() -> str:
        text = StringIO()
        demonstration.show_text(Console(file=text, width=120), seed=3)
        return text.getvalue()

    config = small_config()
    agent = TrainedAgent(config, 24, make_agent(config, jax.random.key(24)))
    monkeypatch.setattr(demonstration, "find_agent", lambda name, tasks: agent)
    monkeypatch.setattr(demonstration, "pretrained_tasks", lambda: ("qbabyai/danger",))
    assert say() == ""
    monkeypatch.setattr(demonstration, "pretrained_tasks", lambda: ("qbabyai/danger", TAKE))
    said = say()
    assert f"A trained agent on {TAKE}" in said and "collect some" in said and "after 20 steps" in said

    def load_bank() -> Bank:
        raise ValueError("textworld is not installed")

    monkeypatch.setattr(demonstration, "load_bank", load_bank)
    assert say() == ""
