"""Observations of Q-BabyAI in other forms: numbers only, the whole world, pictures, and words."""

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from minigrid import wrappers

from afk.envs.adapters.gymnasium import FlatEnv, GridTextEnv, QueryableEnv
from afk.envs.qbabyai.levels.tasks import Task
from afk.envs.qbabyai.reference import MinigridReference, snapshot
from afk.envs.qbabyai.solver import plan
from afk.envs.qbabyai.text import describe_action
from afk.envs.registry import find_task_of

NAME = "qbabyai/danger"


def test_without_texts_there_are_numbers_only() -> None:
    env = gymnasium.make("QBabyAI-Danger-v0", text=False).unwrapped
    check_env(env)
    assert isinstance(env.observation_space, spaces.Dict)
    # What Stable-Baselines3 takes in a dictionary, and how long the one-hot vectors are that it makes.
    kinds = {name: type(space) for name, space in env.observation_space.items()}
    assert kinds == {
        "image": spaces.Box,
        "mission_tokens": spaces.MultiDiscrete,
        "response_tokens": spaces.MultiDiscrete,
    }
    assert spaces.flatdim(env.observation_space["mission_tokens"]) == 20 * 67
    observation, _ = env.reset(seed=3)
    full, _ = QueryableEnv(NAME).reset(seed=3)
    assert all((observation[name] == full[name]).all() for name in kinds)


@pytest.mark.parametrize("image", ["grid", "rgb"])
def test_images_are_minigrids(image: str) -> None:
    env = gymnasium.make("QBabyAI-Danger-OpenDoor-v0", image=image).unwrapped
    assert isinstance(env, QueryableEnv)
    check_env(env)
    observation, _ = env.reset(seed=5)
    for action in [[0, 2, 0, 0, 0], [0, 1, 0, 0, 0], [0, 2, 0, 0, 0]]:
        observation, *_ = env.step(action)
    if image == "rgb":
        expected = MinigridReference(env.state).get_pov_render(tile_size=8)
        np.testing.assert_array_equal(observation["image"], expected)
        return
    width, height = observation["image"].shape[:2]
    assert (height, width) == find_task_of(Task, "qbabyai/danger+open-door").plan.shape
    np.testing.assert_array_equal(observation["image"][..., :3].transpose(1, 0, 2), snapshot(env.state).grid)
    ((x, y),) = np.argwhere(observation["image"][..., 3])
    assert (x, y) == tuple(np.asarray(env.state.position))
    assert observation["image"][x, y, 3] == 1 + int(env.state.direction)


def test_other_images_are_refused() -> None:
    with pytest.raises(ValueError, match="image is one of view, grid, rgb, not 'svg'"):
        QueryableEnv(NAME, image="svg")
    with pytest.raises(ValueError, match="FlatEnv wraps an environment that takes queries"):
        FlatEnv(QueryableEnv(NAME, image="rgb"))


@pytest.mark.parametrize("seed", [0, 4])
def test_an_episode_in_words_is_solved(seed: int) -> None:
    env = gymnasium.make("QBabyAIText-Danger-v0")
    check_env(env.unwrapped)
    observation, info = env.reset(seed=seed)
    assert "stepping on one ends the episode" in info["rules"]
    assert observation["mission"] == "avoid danger zone, go to the green square"
    assert observation["mission"] in observation["text"] and observation["response"] == ""
    assert isinstance(env.unwrapped, GridTextEnv)
    question, *lines = [describe_action(action) for action in plan(jax.device_get(env.unwrapped.state))]
    observation, *_ = env.step(question)
    assert observation["response"].startswith("danger zone is")
    assert observation["response"] in observation["text"]
    ends = [env.step(line) for line in lines]
    assert [terminated for _, _, terminated, _, _ in ends] == [False] * (len(lines) - 1) + [True]
    info = ends[-1][-1]
    assert info["success"] and info["queries"] == info["asked"] == 1


def test_a_line_that_cannot_be_read_takes_a_step_and_says_so() -> None:
    env = GridTextEnv(NAME, render_mode="ansi")
    before, _ = env.reset(seed=1)
    after, *_ = env.step("fly away")
    assert after["text"] == (
        "cannot read 'fly away'; write left, right, forward, pick up, drop, toggle, done, or a question such "
        f"as `where kitchen`\n{before['text']}"
    )
    assert int(env.state.step) == 1
    assert env.step("wait")[0]["text"] == before["text"]
    assert "room0:" in str(env.render())
    with pytest.raises(ValueError, match="an action is a line of text, not 3"):
        env.step(3)


@pytest.mark.parametrize(
    "wrapper", ["ImgObsWrapper", "OneHotPartialObsWrapper", "FlatObsWrapper", "ReseedWrapper"]
)
def test_minigrids_wrappers_of_observations_go_around(wrapper: str) -> None:
    env = getattr(wrappers, wrapper)(gymnasium.make("QBabyAI-Danger-v0"))
    observation, _ = env.reset()
    following, *_ = env.step([0, 0, 0, 0, 0])
    for each in (observation, following):
        image = each["image"] if isinstance(each, dict) else each
        assert isinstance(image, np.ndarray) and image.any()
