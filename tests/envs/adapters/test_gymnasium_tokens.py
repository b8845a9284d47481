"""Q-TextWorld in tokens keeps Gymnasium's contract, alone and in batches."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from afk.envs.adapters.gymnasium import TextEnv, TokenEnv, TokenVectorEnv
from afk.envs.adapters.gymnasium.support import compiled
from afk.envs.qtextworld.commands import read_command
from afk.envs.qtextworld.levels.tasks import paper_tasks

from .text_expert import expert

pytestmark = pytest.mark.slow
NAME = "qtextworld/take-1-cut"
needs_bank = pytest.mark.usefixtures("bank")


@needs_bank
@pytest.mark.parametrize("action", [[7, 0, 0], [0, 38, 0], [0, 0, -1], [0.5] * 3, [0] * 4, "open fridge"])
def test_an_action_out_of_range_is_refused(action: Any) -> None:
    env = TokenEnv(TextEnv(NAME))
    env.reset(seed=0)
    with pytest.raises(ValueError, match="action"):
        env.step(action)


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
