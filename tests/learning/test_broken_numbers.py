"""What is not a number costs the minibatches that it is in, never the run; and what never makes it."""

from dataclasses import replace
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from afk.agents.variants import VARIANTS
from afk.envs.level_pool import draw_pool
from afk.learning.ppo import Learner, Settings, init, loss, update
from afk.learning.rollout import Play, TrainingLevels, collect, open_levels
from afk.learning.schedules import Schedules
from afk.learning.sequences import cut_sequences

from ..agents.small_agents import ENV, RULES, SIZE, build

PLAY = Play(ENV, VARIANTS["afk"], RULES)
SETTINGS = Settings(environments=8, rollout_steps=20, bptt=20, minibatches=4, epochs=1)
SCHEDULES = Schedules(*map(jnp.float32, (0.1, 1e-3, 0.01, 0.01, 1)))
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


def test_an_agent_that_reads_no_word_to_point_to_learns(training_levels: TrainingLevels) -> None:
    blind = build(size=replace(SIZE, instruction_words=1))  # "avoid", of "avoid danger zone"
    learner = init(PLAY, SETTINGS, blind, training_levels, jax.random.key(1))
    after, _, losses = learn(learner, training_levels, SCHEDULES)
    assert losses.skipped == 0 and all(np.isfinite(each) for each in losses)
    assert np.isfinite(parameters(after)).all() and not np.array_equal(parameters(after), parameters(learner))


def test_actions_that_were_all_but_impossible_have_finite_gradients(training_levels: TrainingLevels) -> None:
    learner = init(PLAY, SETTINGS, build(), training_levels, jax.random.key(1))
    memory = learner.actors.memory
    _, experience, _ = collect(
        PLAY, learner.agent, training_levels, learner.actors, jax.random.key(2), steps=SETTINGS.bptt
    )
    experience = replace(experience, log_probability=experience.log_probability - 100)  # exp(100) is infinite
    signs = jnp.sign(jax.random.normal(jax.random.key(3), experience.value.shape))

    @jax.jit
    def differentiate(advantage: jax.Array) -> list[jax.Array]:
        sequences = cut_sequences(experience, memory[None], advantage, SETTINGS.bptt)
        learn_from = eqx.filter_grad(loss, has_aux=True)
        return jax.tree.leaves(learn_from(learner.agent, sequences, SETTINGS, SCHEDULES)[0])

    assert all(jnp.isfinite(leaf).all() for leaf in differentiate(signs))
