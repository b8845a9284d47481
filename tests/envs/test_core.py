"""Batches that never stop: levels from the pool in turn, and nothing lost at the end of an episode."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from afk.envs.level_pool import advance, draw_pool, start_batch
from afk.envs.registry import make

ENV = make("qbabyai/danger")
ENVIRONMENTS, LEVELS = 6, 15


@pytest.fixture(scope="module")
def played() -> list[tuple]:
    """A batch before and after each of 120 random steps, with what the step gave."""
    pool = draw_pool(ENV, jax.random.key(0), LEVELS)
    step = jax.jit(lambda batch, actions: advance(ENV, pool, batch, actions))
    batch, rows = start_batch(pool, ENVIRONMENTS), []
    sizes = jnp.array(ENV.action_sizes)
    for key in jax.random.split(jax.random.key(1), 120):
        actions = jax.random.randint(key, (ENVIRONMENTS, 5), 0, sizes)
        after, time_step = step(batch, actions)
        rows.append(jax.device_get((pool, batch, actions, after, time_step)))
        batch = after
    return rows


def test_episodes_that_go_on_are_as_stepped_alone(played: list[tuple]) -> None:
    step = jax.jit(jax.vmap(ENV.step))
    for _, batch, actions, after, time_step in played:
        states, alone = jax.device_get(step(batch.states, actions))
        jax.tree.map(np.testing.assert_array_equal, alone, time_step)
        running = ~time_step.done
        for stepped, kept in zip(jax.tree.leaves(states), jax.tree.leaves(after.states), strict=True):
            np.testing.assert_array_equal(stepped[running], kept[running])


def test_finished_episodes_take_the_next_level_of_their_share(played: list[tuple]) -> None:
    ends = 0
    for pool, batch, _, after, time_step in played:
        for index in np.flatnonzero(time_step.done):
            ends += 1
            cursor = (batch.cursor[index] + ENVIRONMENTS) % LEVELS
            assert after.cursor[index] == cursor
            fresh = jax.tree.map(lambda leaf, cursor=cursor: leaf[cursor], (pool.states, pool.observations))
            kept = jax.tree.map(lambda leaf, index=index: leaf[index], (after.states, after.observations))
            jax.tree.map(np.testing.assert_array_equal, fresh, kept)
    assert ends > 10


def test_the_last_observation_is_kept(played: list[tuple]) -> None:
    differ = 0
    for _, batch, actions, after, time_step in played:
        for index in np.flatnonzero(time_step.done):
            state = jax.tree.map(lambda leaf, index=index: leaf[index], batch.states)
            _, last = ENV.step(jax.device_put(state), jnp.asarray(actions[index]))
            np.testing.assert_array_equal(time_step.observation.image[index], last.observation.image)
            differ += not np.array_equal(time_step.observation.image[index], after.observations.image[index])
        if differ > 3:
            return
    raise AssertionError("no episode ended in a view of its own")


def test_terminated_and_truncated_are_apart(played: list[tuple]) -> None:
    terminated = np.concatenate([row[-1].terminated for row in played])
    truncated = np.concatenate([row[-1].truncated for row in played])
    assert terminated.any() and truncated.any() and not (terminated & truncated).any()


@pytest.mark.parametrize(
    "action", [[0, 7, 0, 0, 0], [2, 0, 0, 0, 0], [0, -1, 0, 0, 0], [0, 0, 0], 3, [0.5, 0, 0, 0, 0], ["a"] * 5]
)
def test_actions_out_of_range_are_refused(action: object) -> None:
    with pytest.raises(ValueError, match="action") as refusal:
        ENV.check_action(action)
    assert "\n" not in str(refusal.value)


def test_an_empty_pool_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one level"):
        draw_pool(ENV, jax.random.key(0), 0)
