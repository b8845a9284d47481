"""Q-TextWorld in text keeps Gymnasium's contract."""

import runpy
import sys
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

from afk.envs import registry
from afk.envs.adapters.gymnasium import (
    FlatEnv,
    QueryableEnv,
    TextEnv,
    TokenEnv,
    TokenVectorEnv,
    gymnasium_id,
    register_all,
)
from afk.envs.qtextworld.levels.tasks import Task, paper_tasks

from .text_expert import expert

NAME = "qtextworld/take-1-cut"
IDS = [f"QTextWorld-{rest}-v0" for rest in ("Take1", "Take2", "Take1Cut", "Take2Cut")]
EXAMPLE = Path(__file__).parents[3] / "examples" / "text_game.py"
needs_bank = pytest.mark.usefixtures("bank")


def test_ids_need_neither_bank_nor_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name in {"textworld", *(name for name in sys.modules if name.startswith("textworld."))}:
        monkeypatch.setitem(sys.modules, name, None)
    for name in IDS:
        del gymnasium.registry[name]
    register_all()
    assert [gymnasium_id(task.name) for task in paper_tasks()] == IDS
    assert set(IDS) < set(gymnasium.registry)
    for make in (gymnasium.make, partial(gymnasium.make_vec, vectorization_mode="vector_entry_point")):
        with pytest.raises(ValueError, match=r"pip install textworld.*afk textworld prepare") as error:
            make(IDS[0])
        assert "\n" not in str(error.value)


@needs_bank
@pytest.mark.parametrize("name", IDS)
@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version")
@pytest.mark.slow
def test_every_id_passes_gymnasiums_own_check_in_text_and_in_tokens(name: str) -> None:
    env = gymnasium.make(name)
    check_env(env.unwrapped)
    check_env(TokenEnv(env))


@needs_bank
@pytest.mark.parametrize("task", paper_tasks(), ids=lambda task: task.name)
def test_the_expert_wins_in_text(task: Task) -> None:
    env = TextEnv(task.name)
    advise = expert(env)
    for seed in range(3):
        observation, info = env.reset(seed=seed)
        assert observation["text"].startswith(observation["mission"])
        questions = info["good_queries"]
        assert len(questions) == task.good_queries
        terminated, asked = False, []
        while not terminated:
            command = advise()
            asked += [command] if command in questions else []
            observation, reward, terminated, truncated, info = env.step(command)
            assert (observation["response"] != "") == command.startswith("ask ")
            assert observation["text"].startswith(observation["response"])
            assert info["asked"] == info["queries"] == len(asked)
            assert reward == float(terminated) and info["success"] == terminated and not truncated
        assert sorted(asked) == sorted(questions)
        with pytest.raises(ResetNeeded, match="the episode is over"):
            env.step("open fridge")


@needs_bank
def test_a_task_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    task = Task("mine/salad", ingredients=2, cut=True, knife_held=False)
    monkeypatch.setattr(registry, "_registered", {})
    registry.register(task)
    register_all()
    env = gymnasium.make("Mine-Salad-v0")
    _, info = env.reset(seed=0)
    questions = info["good_queries"]
    assert len(set(questions)) == 5 and "ask charlie where knife" in questions
    for number, question in enumerate(questions, start=1):
        info = env.step(question)[-1]
        assert info["asked"] == info["queries"] == number


@needs_bank
def test_what_can_be_done_is_listed() -> None:
    env = TextEnv(NAME)
    for seed in range(5):
        _, info = env.reset(seed=seed)
        commands = info["admissible_commands"]
        assert {"open fridge", "open oven", "open griller"} <= set(commands)
        command = commands[seed % len(commands)]
        observation, _, _, _, info = env.step(command)
        assert observation["text"].startswith(("opened.", "taken."))
        assert command not in info["admissible_commands"]


@needs_bank
def test_questions_in_plain_words() -> None:
    env = TextEnv(NAME)
    env.reset(seed=0)
    observation, _, _, _, info = env.step("ask Charlie where's the fridge?")
    assert observation["response"] == "the fridge is in the messy kitchen."
    assert (info["queries"], info["asked"]) == (1, 0)


@needs_bank
@pytest.mark.parametrize(
    "command", ["", "dance", "take", "eat the zebra", "ask Charlie where's the zebra", "\N{SNOWMAN}" * 200]
)
def test_what_cannot_be_read_takes_a_step(command: str) -> None:
    env = TextEnv(NAME)
    before, info = env.reset(seed=0)
    after, reward, *ends, info_after = env.step(command)
    assert after["text"] == before["text"].replace(before["mission"], "invalid command.")
    assert after["response"] == "" and reward == 0 and ends == [False, False]
    assert info_after == info
    assert env.state.step == 1


@needs_bank
@pytest.mark.parametrize("command", [3, None, b"open fridge", ["open fridge"], np.array([0, 0, 0])])
def test_what_is_no_text_is_refused(command: Any) -> None:
    env = TextEnv(NAME)
    env.reset(seed=0)
    with pytest.raises(ValueError, match=rf"^a command is text, not {type(command).__name__}$"):
        env.step(command)


@needs_bank
def test_other_mistakes_are_refused_in_one_line() -> None:
    with pytest.raises(ValueError, match="unknown task 'qtextworld/take-9'"):
        TextEnv("qtextworld/take-9")
    with pytest.raises(
        ValueError, match="'qbabyai/danger' is of another world; here it is one of qtextworld/take-1, "
    ):
        TextEnv("qbabyai/danger")
    with pytest.raises(
        ValueError, match="'qtextworld/take-1' is of another world; here it is one of qbabyai/"
    ):
        QueryableEnv("qtextworld/take-1")
    with pytest.raises(ValueError, match="render_mode is None or one of ansi, not 'human'"):
        TextEnv(NAME, render_mode="human")
    with pytest.raises(ValueError, match="num_envs is at least 1, not 0"):
        TokenVectorEnv(NAME, 0)
    with pytest.raises(ValueError, match="TokenEnv wraps an environment of Q-TextWorld, not "):
        TokenEnv(gymnasium.make("CartPole-v1"))
    with pytest.raises(ValueError, match="FlatEnv wraps an environment that takes queries in Q-BabyAI, not "):
        FlatEnv(TokenEnv(TextEnv(NAME)))
    with pytest.raises(ValueError, match="a seed is None or an integer that is not negative, not -1"):
        TextEnv(NAME).reset(seed=-1)
    for env in (TextEnv(NAME, render_mode="ansi"), TokenVectorEnv(NAME, 2)):
        for call in (env.render, lambda env=env: env.step(env.action_space.sample())):
            with pytest.raises(ResetNeeded, match="no episode has begun"):
                call()


@needs_bank
def test_the_same_seed_gives_the_same_games() -> None:
    def games(env: TextEnv, seed: int) -> list[Any]:
        return [env.reset(seed=seed), *(env.reset() for _ in range(3))]

    first, second = TextEnv(NAME), TextEnv(NAME)
    assert games(first, 7) == games(second, 7) == games(first, 7) != games(first, 8)
    assert len({observation["text"] for observation, _ in games(first, 7)}) == 4


@needs_bank
def test_a_game_ends_after_20_steps() -> None:
    env = TextEnv(NAME)
    env.reset(seed=0)
    ends = [env.step("ask Charlie where's the egg?")[2:4] for _ in range(20)]
    assert ends == [(False, False)] * 19 + [(False, True)]
    with pytest.raises(ResetNeeded, match="the episode is over"):
        env.step("open fridge")


@needs_bank
def test_the_example_plays_a_game(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    printed = capsys.readouterr().out
    assert "> ask charlie where" in printed and printed.endswith("The game is won.\n")
