"""What is not a number costs the minibatches that it is in, and never the run."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from afk.agents.variants import VARIANTS
from afk.envs.level_pool import draw_pool
from afk.learning.ppo import Learner, Settings, init, update
from afk.learning.rollout import Play, TrainingLevels, open_levels
from afk.learning.schedules import Schedules

from ..agents.small_agents import ENV, RULES, build

PLAY = Play(ENV, VARIANTS["afk"], RULES)
SETTINGS = Settings(environments=8, rollout_steps=20, bptt=20, minibatches=4, epochs=1)
SCHEDULES = Schedules(*map(jnp.float32, (0.1, 1e-3, 0.01, 0.01)))
learn = jax.jit(partial(update, PLAY, SETTINGS))


@pytest.fixture(scope="module")
def training_levels() -> TrainingLevels:
    return open_levels(PLAY, draw_pool(ENV, jax.random.key(0), 16))


def start_with_broken_memories(training_levels: TrainingLevels, count: int) -> Learner:
    """Episodes under way of which the first few remember what is not a number."""
    learner = init(PLAY, SETTINGS, build(), training_levels, jax.random.key(1))
    actors = learner.actors
    memory = actors.memory.at[:count].set(jnp.nan)
    return replace(learner, actors=replace(actors, memory=memory, starts=jnp.zeros_like(actors.starts)))


def parameters(learner: Learner) -> np.ndarray:
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(learner.agent)])


def test_one_broken_memory_costs_some_minibatches_and_is_forgotten(training_levels: TrainingLevels) -> None:
    learner = start_with_broken_memories(training_levels, 1)
    after, _, losses = learn(learner, training_levels, SCHEDULES)
    assert losses.skipped == 0.25, "one sequence of eight is in one minibatch of four"
    assert all(np.isfinite(each) for each in losses)
    assert np.isfinite(parameters(after)).all() and not np.array_equal(parameters(after), parameters(learner))
    assert jnp.isfinite(after.actors.memory).all()


def test_an_update_that_is_broken_as_a_whole_changes_nothing_and_the_next_one_learns(
    training_levels: TrainingLevels,
) -> None:
    learner = start_with_broken_memories(training_levels, SETTINGS.environments)
    after, _, losses = learn(learner, training_levels, SCHEDULES)
    assert losses.skipped == 1 and np.isnan(losses.policy), "there is nothing to tell of it"
    assert np.array_equal(parameters(after), parameters(learner))
    again, _, losses = learn(after, training_levels, SCHEDULES)
    assert losses.skipped == 0 and not np.array_equal(parameters(again), parameters(after))
