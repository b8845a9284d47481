"""Q-BabyAI keeps Gymnasium's contract."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env, data_equivalence

from afk.envs.adapters.gymnasium import FlatEnv, QueryableEnv, QueryableVectorEnv, gymnasium_id
from afk.envs.qbabyai.levels.tasks import paper_tasks
from afk.envs.qbabyai.solver import plan
from afk.envs.qbabyai.world.words import VOCABULARY
from afk.envs.registry import task_names

NAME = "qbabyai/object-in-box"
ASK_FOR_KITCHEN = np.array([1, 0, *VOCABULARY.query("where kitchen")])


@pytest.mark.parametrize("name", [task.name for task in paper_tasks()])
def test_every_id_passes_gymnasiums_own_check(name: str) -> None:
    env = gymnasium.make(gymnasium_id(name))
    assert env.spec is not None and env.spec.id == gymnasium_id(name)
    check_env(env.unwrapped)


def test_ids_follow_the_names() -> None:
    assert gymnasium_id("qbabyai/object-in-box") == "QBabyAI-ObjectInBox-v0"
    assert gymnasium_id("qbabyai/danger+open-door") == gymnasium_id("SH") == "QBabyAI-Danger-OpenDoor-v0"
    assert gymnasium_id("qbabyai/object-in-box+danger-two-rooms") == "QBabyAI-ObjectInBox-Danger-TwoRooms-v0"
    assert gymnasium_id("mine/dangerous-toys") == "Mine-DangerousToys-v0"
    assert len({gymnasium_id(name) for name in task_names()}) == len(task_names())


def test_the_same_seed_gives_the_same_episodes() -> None:
    def episodes(env: QueryableEnv, seed: int) -> list[Any]:
        return [env.reset(seed=seed), *(env.reset() for _ in range(4))]

    first, second = QueryableEnv(NAME), QueryableEnv(NAME)
    assert data_equivalence(episodes(first, 7), episodes(second, 7), exact=True)
    assert data_equivalence(episodes(first, 7), episodes(first, 7), exact=True)
    assert not data_equivalence(episodes(first, 7), episodes(first, 8))
    images = [observation["image"] for observation, _ in episodes(first, 7)]
    assert any((image != images[0]).any() for image in images)


@pytest.mark.parametrize("seed", ["1", 1.0, -1, True, [1]])
def test_a_wrong_seed_is_refused_in_one_line(seed: Any) -> None:
    with pytest.raises(ValueError, match=r"^a seed is None or an integer that is not negative, not .+$"):
        QueryableEnv(NAME).reset(seed=seed)


@pytest.mark.parametrize(
    "action",
    [[2, 0, 0, 0, 0], [0, 7, 0, 0, 0], [1, 0, 0, 0, 24], [0, -1, 0, 0, 0], [0.5] * 5, [0] * 4, [[0] * 5]],
)
def test_an_action_out_of_range_is_refused(action: Any) -> None:
    env = QueryableEnv(NAME)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="action"):
        env.step(action)


def test_an_unknown_task_or_render_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown task 'qbabyai/object'"):
        QueryableEnv("qbabyai/object")
    with pytest.raises(ValueError, match="render_mode is None or one of rgb_array, human, ansi, not 'svg'"):
        QueryableEnv(NAME, render_mode="svg")
    with pytest.raises(ValueError, match="tile_size is a number of pixels from 1 on, not 0"):
        QueryableEnv(NAME, tile_size=0)
    with pytest.raises(ValueError, match="tile_size is a number of pixels from 1 on, not -8"):
        QueryableVectorEnv(NAME, tile_size=-8)
    with pytest.raises(ValueError, match="num_envs is at least 1, not 0"):
        QueryableVectorEnv(NAME, 0)


def test_a_solved_episode() -> None:
    env = QueryableEnv(NAME)
    with pytest.raises(ResetNeeded, match="reset"):
        env.step(ASK_FOR_KITCHEN)
    _, info = env.reset(seed=5)
    questions = info["good_queries"]
    assert info == {"success": False, "queries": 0, "asked": 0, "good_queries": questions}
    actions = [np.array([1, 0, *VOCABULARY.query(text)]) for text in questions]
    actions += [action for action in plan(env.state) if action[0] == 0]
    for number, action in enumerate(actions, start=1):
        observation, reward, terminated, truncated, info = env.step(action)
        assert info["asked"] == info["queries"] == min(number, len(questions))
        assert (observation["response"] != "") == (number <= len(questions))
        assert terminated == info["success"] == (reward > 0) == (number == len(actions))
        assert not truncated
        for sentence in ("mission", "response"):
            assert VOCABULARY.decode(observation[f"{sentence}_tokens"]) == observation[sentence]
    with pytest.raises(ResetNeeded, match="the episode is over"):
        env.step(ASK_FOR_KITCHEN)


def test_an_episode_without_end_is_truncated() -> None:
    env = QueryableEnv(NAME)
    env.reset(seed=0)
    ends = [env.step(ASK_FOR_KITCHEN)[2:4] for _ in range(81)]
    assert ends == [(False, False)] * 80 + [(False, True)]


def test_pictures_and_text() -> None:
    env = QueryableEnv(NAME, render_mode="rgb_array", tile_size=8)
    with pytest.raises(ResetNeeded, match="reset"):
        env.render()
    env.reset(seed=0)
    picture = env.render()
    assert picture.shape == (72, 72, 3) and picture.dtype == np.uint8 and picture.std() > 0
    env = QueryableEnv(NAME, render_mode="ansi")
    observation, _ = env.reset(seed=0)
    assert observation["mission"] in env.render()
    env = QueryableEnv(NAME)
    env.reset(seed=0)
    assert env.render() is None


def test_a_window_opens_and_closes() -> None:
    env = QueryableEnv(NAME, render_mode="human")
    env.reset(seed=0)
    env.step(ASK_FOR_KITCHEN)
    import pygame

    screen = pygame.display.get_surface()
    assert screen is not None and screen.get_width() == 640
    assert np.ptp(pygame.surfarray.array3d(screen)) > 0
    env.close()
    assert not pygame.display.get_init()
    env.close()


def test_flat_actions_are_numbered_once_each() -> None:
    env = FlatEnv(QueryableEnv(NAME))
    count = 7 + 2 * 22 * 24
    assert env.action_space == gymnasium.spaces.Discrete(count)
    vectors = [env.action(number) for number in range(count)]
    assert [env.flatten_action(vector) for vector in vectors] == list(range(count))
    assert len({tuple(vector) for vector in vectors}) == count
    assert all(vector in env.unwrapped.action_space for vector in vectors)
    assert env.action(6).tolist() == [0, 6, 0, 0, 0]
    assert env.action(env.flatten_action(ASK_FOR_KITCHEN)).tolist() == ASK_FOR_KITCHEN.tolist()
    for number in (-1, count):
        with pytest.raises(ValueError, match="a flat action is from 0 to below 1063"):
            env.step(number)


def test_flat_observations_hold_everything() -> None:
    flat, plain = FlatEnv(gymnasium.make("QBabyAI-ObjectInBox-v0")), QueryableEnv(NAME)
    vector, info = flat.reset(seed=2)
    observation, expected_info = plain.reset(seed=2)
    assert vector in flat.observation_space and info == expected_info
    vector = flat.step(flat.flatten_action(ASK_FOR_KITCHEN))[0]
    observation = plain.step(ASK_FOR_KITCHEN)[0]
    image, direction, mission, response = np.split(vector, np.cumsum([49 * 18, 4, 20 * 67]))
    kinds, colours, states = np.split(image.reshape(7, 7, 18), [9, 15], axis=-1)
    channels = [kinds.argmax(-1), colours.argmax(-1), states.argmax(-1), np.full((7, 7), direction.argmax())]
    np.testing.assert_array_equal(np.stack(channels, -1), observation["image"])
    np.testing.assert_array_equal(mission.reshape(20, 67).argmax(-1), observation["mission_tokens"])
    np.testing.assert_array_equal(response.reshape(12, 67).argmax(-1), observation["response_tokens"])
    assert vector.sum() == 49 * 3 + 1 + 20 + 12


def test_a_flat_form_that_keeps_vectors_as_actions() -> None:
    flat, plain = FlatEnv(QueryableEnv(NAME), flat_actions=False), QueryableEnv(NAME)
    assert flat.action_space == plain.action_space
    flat.reset(seed=2)
    plain.reset(seed=2)
    assert flat.step(ASK_FOR_KITCHEN)[1:] == plain.step(ASK_FOR_KITCHEN)[1:]


def test_flat_form_wants_queries() -> None:
    with pytest.raises(ValueError, match="FlatEnv wraps an environment that takes queries"):
        FlatEnv(gymnasium.make("CartPole-v1"))
