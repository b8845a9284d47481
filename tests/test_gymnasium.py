"""Q-BabyAI keeps Gymnasium's contract, alone and in batches."""

from collections.abc import Iterator
from typing import Any

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from afk.envs.gymnasium import FlatEnv, QueryableEnv, QueryableVectorEnv, gymnasium_id, register_all
from afk.envs.gymnasium_support import draw_level, draw_levels
from afk.envs.qbabyai import cells
from afk.envs.qbabyai.solver import plan
from afk.envs.qbabyai.tasks import paper_tasks
from afk.envs.qbabyai.words import VOCABULARY
from afk.envs.registry import find_grid_task, task_names

NAME = "qbabyai/object-in-box"
ASK_FOR_KITCHEN = np.array([1, 0, *VOCABULARY.query("where kitchen")])


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Ids that are known for one test, and windows that open nowhere."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    before = set(gymnasium.registry)
    register_all()
    yield
    for name in set(gymnasium.registry) - before:
        del gymnasium.registry[name]


def rough_actions(rng: np.random.Generator, count: int) -> np.ndarray:
    """Actions (count, 5) that get the agent around and open boxes, and now and then ask."""
    actions = rng.integers([2, 7, 2, 22, 24], size=(count, 5))
    actions[:, 0] = rng.random(count) < 0.2
    actions[:, 1] = rng.choice([cells.LEFT, cells.FORWARD, cells.TOGGLE], size=count, p=[0.2, 0.5, 0.3])
    return actions


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


@pytest.mark.parametrize("seed", ["1", 1.0, -1, [1, "2"], [1, 2, 3]])
def test_a_wrong_seed_of_a_batch_is_refused(seed: Any) -> None:
    with pytest.raises(ValueError, match="seed"):
        QueryableVectorEnv(NAME, 2).reset(seed=seed)


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


def test_a_level_does_not_depend_on_what_is_drawn_with_it() -> None:
    task = find_grid_task("qbabyai/object-in-box+danger")  # a third of its draws are not sound
    seeds = np.arange(600, dtype=np.uint32)
    together, few = draw_levels(task, seeds), draw_levels(task, seeds[590:])
    for index in range(590, 600):
        alone = draw_level(task, seeds[index])
        assert jax.tree.all(jax.tree.map(lambda a, b, i=index: (a == b[i]).all(), alone, together))
        assert jax.tree.all(jax.tree.map(lambda a, b, i=index: (a == b[i - 590]).all(), alone, few))


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
