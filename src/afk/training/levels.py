"""The levels of a run: those that are trained on, with the curriculum, and those that evaluate it."""

from functools import lru_cache, partial
from typing import Any

import jax
import numpy as np

from afk.envs.level_pool import Pool, draw_pool, pool_of, vary_fraction
from afk.envs.registry import world_of
from afk.learning.devices import stack
from afk.learning.hints import add_hints
from afk.learning.rollout import TrainingLevels, open_levels
from afk.training.build import play_of
from afk.training.config import Config

# What a run's seed is split into.
LEVELS, NETWORK, TRAINING, EVALUATION = range(4)


def run_key(seed: int, purpose: int) -> jax.Array:
    """The key of a seed for one of the purposes above."""
    return _run_key(np.uint32(seed), np.int32(purpose))


@jax.jit
def _run_key(seed: jax.Array, purpose: jax.Array) -> jax.Array:
    """The same, compiled as one program."""
    return jax.random.fold_in(jax.random.key(seed), purpose)


@partial(jax.jit, static_argnames="count")
def _keys_after(key: jax.Array, updates: jax.Array, *, count: int) -> tuple[jax.Array, ...]:
    """So many keys for what is drawn after so many updates."""
    return tuple(jax.random.split(jax.random.fold_in(key, updates), count))


def draw_training_levels(config: Config, updates: int) -> TrainingLevels:
    """The levels that every seed trains on from so many updates on, with a leading axis of seeds."""
    return stack([seed_levels(config, seed, updates) for seed in config.seeds])


@lru_cache(maxsize=8)  # the first levels of a run are wanted to start, to compile and to play
def seed_levels(config: Config, seed: int, updates: int) -> TrainingLevels:
    """The levels that one seed trains on from so many updates on."""
    levels_key, start_key, hint_key, distractor_key, wrong_key_key = _keys_after(
        run_key(seed, LEVELS), np.int32(updates), count=5
    )
    play = play_of(config)
    curriculum = world_of(play.env).curriculum
    states = play.env.draw_many(levels_key, config.levels)
    for vary, vary_key, fraction in (
        (curriculum.distractors, distractor_key, config.distractor_fraction),
        (curriculum.random_start, start_key, config.random_start_fraction),
        (curriculum.wrong_key, wrong_key_key, config.wrong_key_fraction),
    ):
        if fraction:
            assert vary is not None  # a configuration that asks for it is refused
            states = vary_fraction(vary, states, vary_key, fraction)
    levels = open_levels(play, pool_of(play.env, states))
    return add_hints(play, levels, hint_key, config.hint_fraction) if config.hint_fraction else levels


def draw_evaluation_levels(config: Config, updates: int) -> tuple[Pool[Any], jax.Array]:
    """The fresh levels of every seed after so many updates, and the keys that they are played with."""
    pools, play_keys = [], []
    for seed in config.seeds:
        levels_key, play_key = _keys_after(run_key(seed, EVALUATION), np.int32(updates), count=2)
        pools.append(draw_pool(play_of(config).env, levels_key, config.evaluation_episodes))
        play_keys.append(play_key)
    return stack(pools), stack(play_keys)
