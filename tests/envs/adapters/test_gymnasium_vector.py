"""Batches of Q-BabyAI keep Gymnasium's contract, and are what single environments are."""

from typing import Any

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from afk.envs.adapters.gymnasium import QueryableEnv, QueryableVectorEnv
from afk.envs.adapters.gymnasium.support import draw_level, draw_levels
from afk.envs.qbabyai.levels.tasks import Task
from afk.envs.qbabyai.solver import plan
from afk.envs.qbabyai.world import cells
from afk.envs.qbabyai.world.words import VOCABULARY
from afk.envs.registry import find_task_of

NAME = "qbabyai/object-in-box"
ASK_FOR_KITCHEN = np.array([1, 0, *VOCABULARY.query("where kitchen")])


def rough_actions(rng: np.random.Generator, count: int) -> np.ndarray:
    """Actions (count, 5) that get the agent around and open boxes, and now and then ask."""
    actions = rng.integers([2, 7, 2, 22, 24], size=(count, 5))
    actions[:, 0] = rng.random(count) < 0.2
    actions[:, 1] = rng.choice([cells.LEFT, cells.FORWARD, cells.TOGGLE], size=count, p=[0.2, 0.5, 0.3])
    return actions


@pytest.mark.parametrize("seed", ["1", 1.0, -1, [1, "2"], [1, 2, 3]])
def test_a_wrong_seed_of_a_batch_is_refused(seed: Any) -> None:
    with pytest.raises(ValueError, match="seed"):
        QueryableVectorEnv(NAME, 2).reset(seed=seed)


def test_a_batch_gives_what_single_environments_give() -> None:
    count = 2
    batch = QueryableVectorEnv(NAME, count)
    single = SyncVectorEnv([lambda: QueryableEnv(NAME)] * count, autoreset_mode=AutoresetMode.SAME_STEP)
    assert batch.observation_space == single.observation_space
    assert batch.action_space == single.action_space
    assert data_equivalence(batch.reset(seed=3), single.reset(seed=3), exact=True)
    rng = np.random.default_rng(0)
    ended = np.zeros(count, int)
    for number in range(700):
        actions = rough_actions(rng, count)
        result, expected = batch.step(actions), single.step(actions)
        assert data_equivalence(result, expected, exact=True), number
        assert result[0] in batch.observation_space
        ended += result[2] | result[3]
        if number == 600:
            assert data_equivalence(batch.reset(), single.reset(), exact=True)
    assert (ended > 10).all(), "more episodes than a batch holds levels ready for"


def test_a_batch_keeps_the_last_observation_of_an_episode() -> None:
    batch, single = QueryableVectorEnv(NAME, 2), QueryableEnv(NAME)
    batch.reset(seed=[4, 5])
    single.reset(seed=4)
    *actions, last_action = plan(single.state)
    for action in actions:
        batch.step(np.stack([action, ASK_FOR_KITCHEN]))
        single.step(action)
    _, rewards, terminated, _, infos = batch.step(np.stack([last_action, ASK_FOR_KITCHEN]))
    last, reward, _, _, info = single.step(last_action)
    assert terminated.tolist() == infos["_final_obs"].tolist() == [True, False]
    assert data_equivalence(infos["final_obs"][0], last) and infos["final_obs"][1] is None
    assert rewards[0] == reward and infos["final_info"]["success"].tolist() == [True, False]
    assert infos["final_info"]["queries"].tolist() == [info["queries"], 0]
    assert infos["queries"].tolist() == [0, len(actions) + 1]


def test_seeds_of_a_batch() -> None:
    batch = QueryableVectorEnv(NAME, 2, text=False)
    first, _ = batch.reset(seed=1)
    again, _ = batch.reset(seed=[1, 2])
    other, _ = batch.reset(seed=3)
    assert data_equivalence(first, again, exact=True)
    assert not data_equivalence(first, other)


def test_a_batch_without_text() -> None:
    with_text, without = QueryableVectorEnv(NAME, 2), QueryableVectorEnv(NAME, 2, text=False)
    observations, infos = with_text.reset(seed=1)
    arrays, fewer_infos = without.reset(seed=1)
    assert set(observations) - set(arrays) == {"mission", "response"}
    assert set(infos) - set(fewer_infos) == {"good_queries", "_good_queries"}
    assert all((arrays[name] == observations[name]).all() for name in arrays)
    assert arrays in without.observation_space
    with pytest.raises(ValueError, match=r"actions of shape \(2, 5\) are expected here, not \(5,\)"):
        without.step(ASK_FOR_KITCHEN)


def test_make_vec() -> None:
    envs = gymnasium.make_vec(
        "QBabyAI-ObjectInBox-v0",
        2,
        vectorization_mode="vector_entry_point",
        render_mode="rgb_array",
        tile_size=8,
    )
    assert isinstance(envs, QueryableVectorEnv)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    with pytest.raises(ResetNeeded, match="reset"):
        envs.step(envs.action_space.sample())
    envs.reset(seed=0)
    assert envs.step(envs.action_space.sample())[1].shape == (2,)
    pictures = envs.render()
    assert pictures is not None and [picture.shape for picture in pictures] == [(72, 72, 3)] * 2
    envs.close()


def test_a_second_environment_compiles_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def play() -> None:
        single, batch = QueryableEnv(NAME), QueryableVectorEnv(NAME, 2)
        single.reset(seed=0)
        single.step(ASK_FOR_KITCHEN)
        batch.reset(seed=0)
        batch.step(np.stack([ASK_FOR_KITCHEN] * 2))

    play()
    caplog.clear()
    with jax.log_compiles():
        play()
    assert not [record.getMessage() for record in caplog.records if "ompil" in record.getMessage()]


@pytest.mark.slow
def test_a_level_does_not_depend_on_what_is_drawn_with_it() -> None:
    task = find_task_of(Task, "qbabyai/object-in-box+danger")  # a third of its draws are not sound
    seeds = np.arange(600, dtype=np.uint32)
    together, few = draw_levels(task, seeds), draw_levels(task, seeds[590:])
    for index in range(590, 600):
        alone = draw_level(task, seeds[index])
        assert jax.tree.all(jax.tree.map(lambda a, b, i=index: (a == b[i]).all(), alone, together))
        assert jax.tree.all(jax.tree.map(lambda a, b, i=index: (a == b[i - 590]).all(), alone, few))
