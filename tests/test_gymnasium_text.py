"""Q-TextWorld keeps Gymnasium's contract: in text, in tokens and in batches."""

import runpy
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from afk.envs import registry
from afk.envs.gymnasium import (
    FlatEnv,
    QueryableEnv,
    TextEnv,
    TokenEnv,
    TokenVectorEnv,
    gymnasium_id,
    register_all,
)
from afk.envs.gymnasium_support import compiled
from afk.envs.qtextworld import bank as bank_module
from afk.envs.qtextworld.commands import read_command, write_command
from afk.envs.qtextworld.solver import act
from afk.envs.qtextworld.tasks import Task, paper_tasks

NAME = "qtextworld/take-1-cut"
IDS = [f"QTextWorld-{rest}-v0" for rest in ("Take1", "Take2", "Take1Cut", "Take2Cut")]
EXAMPLE = Path(__file__).parent.parent / "examples" / "text_game.py"


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    """Ids that are known for one test."""
    before = set(gymnasium.registry)
    register_all()
    yield
    for name in set(gymnasium.registry) - before:
        del gymnasium.registry[name]


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A small text bank in a cache folder of its own."""
    if find_spec("textworld") is None:
        pytest.skip("textworld is not installed; it takes a C compiler")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(bank_module, "VARIANTS", 96)
        yield


needs_bank = pytest.mark.usefixtures("bank")


def expert(env: TextEnv) -> Callable[[], str]:
    """A function that says what the expert would do now."""
    choose = jax.jit(partial(act, env.task))
    return lambda: write_command(env.task, choose(env.state))


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
@pytest.mark.parametrize("action", [[7, 0, 0], [0, 38, 0], [0, 0, -1], [0.5] * 3, [0] * 4, "open fridge"])
def test_an_action_out_of_range_is_refused(action: Any) -> None:
    env = TokenEnv(TextEnv(NAME))
    env.reset(seed=0)
    with pytest.raises(ValueError, match="action"):
        env.step(action)


@needs_bank
def test_other_mistakes_are_told_in_one_line() -> None:
    with pytest.raises(ValueError, match="unknown task 'qtextworld/take-9'"):
        TextEnv("qtextworld/take-9")
    with pytest.raises(
        ValueError, match="'qbabyai/danger' is of another family; here it is one of qtextworld/take-1, "
    ):
        TextEnv("qbabyai/danger")
    with pytest.raises(
        ValueError, match="'qtextworld/take-1' is of another family; here it is one of qbabyai/"
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
def test_tokens_are_the_text() -> None:
    text, tokens = TextEnv(NAME), TokenEnv(gymnasium.make("QTextWorld-Take1Cut-v0"))
    assert isinstance(tokens.action_space, gymnasium.spaces.MultiDiscrete)
    assert tokens.action_space.nvec.tolist() == [7, 38, 45]
    advise = expert(text)
    said, written = text.reset(seed=3)[0], tokens.reset(seed=3)[0]
    over = False
    while not over:
        assert written.keys() == {f"{name}_tokens" for name in said}
        for name in said:
            assert tokens.vocabulary.decode(written[f"{name}_tokens"]) == said[name]
        command = advise()
        said, *result = text.step(command)
        written, *same = tokens.step(read_command(text.task, command))
        assert result == same
        over = result[1]


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
def test_environments_share_what_is_compiled() -> None:
    assert compiled(TextEnv(NAME).world) is compiled(TokenVectorEnv(NAME).world)
    assert compiled(TextEnv(NAME).world) is not compiled(TextEnv("qtextworld/take-1").world)


def without_texts(infos: dict[str, Any]) -> dict[str, Any]:
    """The infos of single environments that batches have too."""
    kept = {name: info for name, info in infos.items() if "good_queries" not in name and "admiss" not in name}
    return kept | ({"final_info": without_texts(infos["final_info"])} if "final_info" in infos else {})


@needs_bank
def test_a_batch_gives_what_single_environments_give() -> None:
    count = 2
    batch = TokenVectorEnv(NAME, count)
    single = SyncVectorEnv([lambda: TokenEnv(TextEnv(NAME))] * count, autoreset_mode=AutoresetMode.SAME_STEP)
    assert batch.observation_space == single.observation_space
    assert batch.action_space == single.action_space
    (observations, infos), (expected, texts) = batch.reset(seed=3), single.reset(seed=3)
    assert data_equivalence((observations, infos), (expected, without_texts(texts)), exact=True)
    rng, task = np.random.default_rng(0), paper_tasks()[2]
    endings = {"won": 0, "lost": 0, "cut off": 0}
    for number in range(250):
        # What can be done, and something to ask; the second one dawdles, so that it runs out of steps.
        commands = [rng.choice([*texts["admissible_commands"][0], "ask Charlie where egg"])]
        commands += [rng.choice(["open oven", "ask Charlie how egg"])]
        actions = np.stack([read_command(task, command) for command in commands])
        observations, rewards, terminated, truncated, infos = batch.step(actions)
        *expected, texts = single.step(actions)
        result = [observations, rewards, terminated, truncated]
        assert data_equivalence((result, infos), (expected, without_texts(texts)), exact=True), number
        assert observations in batch.observation_space
        endings["won"] += int(rewards.sum())
        endings["lost"] += int((terminated & (rewards == 0)).sum())
        endings["cut off"] += int(truncated.sum())
        if number == 200:
            batch.reset()
            _, texts = single.reset()
    assert min(endings.values()) >= 5, endings
    assert sum(endings.values()) > 30, "more games than a batch holds ready"


@needs_bank
def test_make_vec_and_pictures_in_words() -> None:
    envs = gymnasium.make_vec(
        "QTextWorld-Take1Cut-v0", 2, vectorization_mode="vector_entry_point", render_mode="ansi"
    )
    assert isinstance(envs, TokenVectorEnv)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    observations, _ = envs.reset(seed=4)
    env = TextEnv(NAME, render_mode="ansi")
    assert env.render_mode == "ansi"
    texts = [env.reset(seed=seed)[0]["text"] for seed in (4, 5)]
    assert env.render() == texts[1]
    assert envs.render() == tuple(texts)
    assert [envs.vocabulary.decode(tokens) for tokens in observations["text_tokens"]] == texts
    assert gymnasium.make("QTextWorld-Take1Cut-v0").reset(seed=4)[0]["text"] == texts[0]
    env = TextEnv(NAME)
    env.reset(seed=0)
    assert env.render() is None


@needs_bank
def test_the_example_plays_a_game(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    printed = capsys.readouterr().out
    assert "> ask charlie where" in printed and printed.endswith("The game is won.\n")
