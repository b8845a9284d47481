"""Both worlds keep Gymnax's contract: as the environment behind them, compiled, in batches, without end."""

import copy
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from afk.envs.adapters.gymnasium import FlatEnv, QueryableEnv
from afk.envs.adapters.gymnasium.support import observation_arrays
from afk.envs.adapters.gymnax import EnvParams, GymnaxEnv
from afk.envs.core import Environment
from afk.envs.qbabyai.solver import plan
from afk.envs.registry import make

from ...small_games import small_game

LEVELS, BATCH = 12, 5
GRIDS = ("qbabyai/danger", "qbabyai/object-in-box")
TASKS = (*GRIDS, "short/take-1")


@cache
def world(name: str) -> Environment[Any]:
    return make(name) if name in GRIDS else small_game(max_steps=6)


@cache
def adapter(name: str) -> GymnaxEnv:
    """An environment, with few levels."""
    return GymnaxEnv(world(name), levels=LEVELS)


def equal(first: Any, second: Any) -> bool:
    """Whether two trees hold the same numbers."""
    same = jax.tree.map(lambda one, other: np.array_equal(one, other), first, second)
    return all(jax.tree.leaves(same))


def levels_of(params: EnvParams, states: Any) -> list[int | None]:
    """Which level each of some states, with a leading axis, is the first of; None if it is of none."""
    levels, states = jax.device_get((params.levels.states, states))
    same = True
    for level, state in zip(jax.tree.leaves(levels), jax.tree.leaves(states), strict=True):
        count = len(state)
        same &= (state.reshape(count, 1, -1) == level.reshape(1, params.levels.size, -1)).all(-1)
    return [int(row.argmax()) if row.any() else None for row in np.asarray(same)]


def level_of(params: EnvParams, state: Any) -> int | None:
    """The same of one state."""
    return levels_of(params, jax.tree.map(lambda leaf: leaf[None], state))[0]


def rough_action(env: GymnaxEnv, key: jax.Array) -> jax.Array:
    """Anything, and in a grid half the time something physical."""
    some_key, few_key, which_key = jax.random.split(key, 3)
    some = env.action_space().sample(some_key)
    few = jax.random.randint(few_key, (), 0, 7)
    return jnp.where(jax.random.bernoulli(which_key), few, some)


@pytest.mark.parametrize("name", TASKS)
def test_an_episode_is_that_of_the_environment_behind_until_it_ends(name: str) -> None:
    env, params = adapter(name), adapter(name).default_params
    step, look = jax.jit(env.world.step), jax.jit(lambda state: env.flatten(env.world.observe(state)))
    flatten, choose = jax.jit(env.flatten), jax.jit(partial(rough_action, env))
    observation, state = env.reset(jax.random.key(0), params)
    assert level_of(params, state) is not None
    np.testing.assert_array_equal(observation, look(state))
    expected, endings = state, 0
    for key in jax.random.split(jax.random.key(1), 2 * env.world.max_steps + 1):
        act_key, step_key = jax.random.split(key)
        action = choose(act_key)
        expected, time_step = step(expected, jnp.asarray(env.action_vectors)[action])
        observation, state, reward, done, info = env.step(step_key, state, action, params)
        assert (reward, done) == (time_step.reward, time_step.done)
        assert equal(info["final_observation"], time_step.observation)
        assert info["discount"] == 1 - time_step.terminated
        stats = time_step.stats
        for key, what in {
            "terminated": time_step.terminated,
            "truncated": time_step.truncated,
            "success": time_step.success,
            "queries": stats.queries,
            "asked": stats.good,
            "wanted": stats.wanted,
        }.items():
            assert info[key] == what, key
        if done:
            assert level_of(params, state) is not None
            np.testing.assert_array_equal(observation, look(state))
            expected, endings = state, endings + 1
        else:
            np.testing.assert_array_equal(observation, flatten(time_step.observation))
            assert equal(state, expected)
    assert endings >= 2


@pytest.mark.parametrize("name", TASKS)
def test_a_batch_under_scan_gives_what_single_environments_give(name: str) -> None:
    env = adapter(name)

    def play(key: jax.Array, params: EnvParams) -> tuple[Any, Any]:
        def advance(state: Any, key: jax.Array) -> tuple[Any, Any]:
            act_key, step_key = jax.random.split(key)
            observation, state, *rest = env.step(step_key, state, rough_action(env, act_key), params)
            return state, (observation, *rest)

        reset_key, steps_key = jax.random.split(key)
        first, state = env.reset(reset_key, params)
        _, rows = jax.lax.scan(advance, state, jax.random.split(steps_key, 30))
        return first, rows

    keys = jax.random.split(jax.random.key(2), BATCH)
    first, rows = jax.jit(jax.vmap(play, in_axes=(0, None)))(keys, env.default_params)
    space = env.observation_space(env.default_params)
    assert first.shape == (BATCH, *space.shape) and first.dtype == space.dtype
    assert rows[0].shape == (BATCH, 30, *space.shape)
    assert rows[1].dtype == jnp.float32 and rows[2].dtype == bool
    assert jax.vmap(space.contains)(first).all() and jax.vmap(jax.vmap(space.contains))(rows[0]).all()
    assert len(np.unique(first, axis=0)) > 1
    for number in range(2):
        alone = play(keys[number], env.default_params)
        assert equal(alone, jax.tree.map(lambda leaf, number=number: leaf[number], (first, rows)))


@pytest.mark.parametrize("name", TASKS)
def test_episodes_begin_in_all_levels(name: str) -> None:
    env, params = adapter(name), adapter(name).default_params
    _, states = jax.vmap(env.reset, in_axes=(0, None))(jax.random.split(jax.random.key(3), 200), params)
    begun = levels_of(params, states)
    assert set(begun) == set(range(LEVELS))


@pytest.mark.parametrize("name", TASKS)
def test_the_step_limit(name: str) -> None:
    env = adapter(name)
    idle = env.num_actions - 1  # a question, or a command that cannot be carried out
    for limit in (env.world.max_steps, env.world.max_steps + 5, 3):
        params = env.default_params.replace(max_steps_in_episode=limit)
        _, state = env.reset(jax.random.key(0), params)
        ends = []
        for key in jax.random.split(jax.random.key(1), min(limit, env.world.max_steps)):
            _, state, _, done, info = env.step(key, state, idle, params)
            ends.append((bool(done), bool(info["truncated"]), bool(info["terminated"])))
            assert info["discount"] == 1
        assert ends == [(False, False, False)] * (len(ends) - 1) + [(True, True, False)]
        assert state.step == 0


def test_success_at_the_limit_is_no_truncation() -> None:
    env = adapter("qbabyai/danger")
    _, first = env.reset(jax.random.key(0))
    actions = [np.flatnonzero((env.action_vectors == vector).all(-1))[0] for vector in plan(first)]
    for limit, is_success in ((len(actions), True), (len(actions) - 1, False)):
        params = env.default_params.replace(max_steps_in_episode=limit)
        state, rows = first, []
        for key, action in zip(jax.random.split(jax.random.key(1), limit), actions, strict=False):
            _, state, *row = env.step(key, state, action, params)
            rows.append(row)
        assert [bool(done) for _, done, _ in rows] == [False] * (limit - 1) + [True]
        reward, _, info = rows[-1]
        assert info["success"] == info["terminated"] == (reward > 0) == is_success
        assert info["truncated"] == (info["discount"] == 1) == (not is_success)


def test_grids_are_numbered_and_laid_out_as_in_gymnasium() -> None:
    env, flat = adapter("qbabyai/danger"), FlatEnv(QueryableEnv("qbabyai/danger"))
    assert env.num_actions == env.action_space().n == 7 + 2 * 22 * 24
    vectors = np.stack([flat.action(number) for number in range(env.num_actions)])
    np.testing.assert_array_equal(env.action_vectors, vectors)
    assert env.observation_space().shape == flat.observation_space.shape
    _, state = env.reset(jax.random.key(0))
    action = flat.flatten_action(np.array([1, 0, *env.world.vocabulary.query("what danger zone")]))
    observation, _, _, _, info = env.step(jax.random.key(1), state, action)
    final = info["final_observation"]
    assert final.response.any()
    arrays = observation_arrays(final)
    np.testing.assert_array_equal(observation, flat.observation(arrays))


def test_texts_are_numbers_of_tokens() -> None:
    env = adapter("short/take-1")
    assert env.num_actions == np.prod(env.world.action_sizes)
    numbers = np.ravel_multi_index(tuple(env.action_vectors.T), env.world.action_sizes)
    np.testing.assert_array_equal(numbers, np.arange(env.num_actions))
    observation, state = env.reset(jax.random.key(0))
    text, mission, response = np.split(np.asarray(observation).astype(int), [112, 112 + 64])
    expected = env.world.observe(state)
    np.testing.assert_array_equal(text, expected.text)
    np.testing.assert_array_equal(mission, expected.mission)
    assert mission.any() and not response.any()
    assert env.observation_space().high == len(env.world.vocabulary.tokens) - 1


def test_a_choice_of_actions() -> None:
    env = GymnaxEnv(world("qbabyai/danger"), levels=LEVELS, actions=["forward", "what is the danger zone?"])
    assert env.num_actions == 2
    _, state = env.reset(jax.random.key(0))
    _, _, _, _, info = env.step(jax.random.key(1), state, 1)
    assert info["queries"] == info["asked"] == info["wanted"] == 1
    kitchen = GymnaxEnv(
        world("short/take-1"), levels=LEVELS, actions=["open fridge", "ask Charlie where egg"]
    )
    _, state = kitchen.reset(jax.random.key(0))
    assert kitchen.step(jax.random.key(1), state, 0)[4]["queries"] == 0
    assert kitchen.step(jax.random.key(1), state, 1)[4]["queries"] == 1
    for actions, complaint in (
        ([], "at least one line"),
        ("forward", "at least one line"),
        (["dance"], "cannot read 'dance'"),
    ):
        with pytest.raises(ValueError, match=complaint):
            GymnaxEnv(world("qbabyai/danger"), levels=LEVELS, actions=actions)


def test_parameters_of_other_levels_need_no_new_program() -> None:
    env = adapter("qbabyai/danger")
    traced = []

    @jax.jit
    def begin(key: jax.Array, params: EnvParams) -> Any:
        traced.append(params)
        return env.reset(key, params)[1]

    key, other = jax.random.key(0), env.draw_params(jax.random.key(1), LEVELS)
    assert level_of(env.default_params, begin(key, env.default_params)) is not None
    assert level_of(other, begin(key, other)) is not None
    assert level_of(env.default_params, begin(key, other)) is None
    assert len(traced) == 1
    same = env.draw_params(jax.random.key(0), LEVELS)
    assert equal(same, env.default_params), "seed 0"


def test_the_default_parameters_count_where_none_are_given() -> None:
    env, key = adapter("qbabyai/danger"), jax.random.key(4)
    assert env.default_params.max_steps_in_episode == env.world.max_steps
    assert equal(env.reset(key), env.reset(key, env.default_params))
    state = env.reset(key)[1]
    assert equal(env.step(key, state, 2), env.step(key, state, 2, env.default_params))


def test_a_copy_is_as_good() -> None:
    """Rejax copies what it is configured with."""
    for name in TASKS:
        env, key = adapter(name), jax.random.key(5)
        assert equal(copy.deepcopy(env).reset(key), env.reset(key))


def test_several_tasks() -> None:
    env = GymnaxEnv(make(*GRIDS), levels=LEVELS)
    assert env.name == " + ".join(GRIDS)
    keys = jax.random.split(jax.random.key(0), 40)
    _, states = jax.vmap(env.reset)(keys)
    assert len(np.unique(states.level.goal)) == 2


def test_by_name_and_what_is_refused() -> None:
    env = GymnaxEnv("S", levels=1, seed=3)
    assert env.name == "qbabyai/danger" and env.default_params.levels.size == 1
    with pytest.raises(ValueError, match="unknown task 'qbabyai/dangr'"):
        GymnaxEnv("qbabyai/dangr")
    with pytest.raises(ValueError, match="at least one level, not 0"):
        GymnaxEnv("S", levels=0)
    elsewhere = copy.copy(world("qbabyai/danger"))
    elsewhere.world = "moon"
    with pytest.raises(
        ValueError, match="tasks of qbabyai, qtextworld have a flat form, not 'qbabyai/danger'"
    ):
        GymnaxEnv(elsewhere)
