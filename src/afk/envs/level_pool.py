"""Levels drawn in bulk, and batches of episodes that never stop.

A `Batch` never stops: where an episode ends, the next level is taken from a `Pool` that was drawn in bulk,
since drawing a level costs much more than a step. The time step that ended the episode keeps its last
observation, and the batch holds the first observation of the next.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, Generic

import equinox as eqx
import jax
import jax.numpy as jnp

from afk.envs.core import Environment, StateT, TimeStep


class Pool(eqx.Module, Generic[StateT]):
    """Levels drawn in bulk: states and first observations, with a leading axis."""

    states: StateT
    observations: Any

    @property
    def size(self) -> int:
        """How many levels there are."""
        return jax.tree.leaves(self.states)[0].shape[0]


class Batch(eqx.Module, Generic[StateT]):
    """Episodes under way, with a leading axis.

    Attributes:
        states: where they stand.
        observations: what to act on next.
        cursor: (batch,) int32, the level in the pool that each of them plays.
    """

    states: StateT
    observations: Any
    cursor: jax.Array


def draw_pool(env: Environment[StateT], key: jax.Array, size: int) -> Pool[StateT]:
    """Draw sound levels in bulk, with their first observations."""
    if size < 1:
        raise ValueError(f"a pool holds at least one level, not {size}")
    return pool_of(env, env.draw_many(key, size))


def pool_of(env: Environment[StateT], states: StateT) -> Pool[StateT]:
    """First states with a leading axis as a pool."""
    return Pool(states, _observe_many(env)(states))


@partial(jax.jit, static_argnums=(0, 3))
def vary_fraction(
    vary: Callable[[StateT, jax.Array], StateT], states: StateT, key: jax.Array, fraction: float
) -> StateT:
    """Vary a fraction of states with a leading axis, each by a key of its own."""
    choose_key, vary_key = jax.random.split(key)
    count = jax.tree.leaves(states)[0].shape[0]
    chosen = jax.random.bernoulli(choose_key, fraction, (count,))

    def vary_if(is_chosen: jax.Array, state: StateT, key: jax.Array) -> StateT:
        return jax.tree.map(partial(jnp.where, is_chosen), vary(state, key), state)

    return jax.vmap(vary_if)(chosen, states, jax.random.split(vary_key, count))


@lru_cache(maxsize=64)
def _observe_many(env: Environment) -> Callable:
    """A function that observes levels; equal environments share it."""
    return jax.jit(jax.vmap(env.observe))


def start_batch(pool: Pool[StateT], size: int, *, stagger: int = 1) -> Batch[StateT]:
    """Start episodes in the first levels of a pool.

    Args:
        pool: the levels.
        size: how many episodes.
        stagger: episode i counts as i modulo so many steps old, so that they do not all run out of steps at
            once.
    """
    number = jnp.arange(size, dtype=jnp.int32)
    cursor = number % pool.size
    states, observations = jax.tree.map(lambda leaf: leaf[cursor], (pool.states, pool.observations))
    if stagger > 1:
        states = eqx.tree_at(lambda each: each.step, states, number % stagger)
    return Batch(states, observations, cursor)


def advance(
    env: Environment[StateT], pool: Pool[StateT], batch: Batch[StateT], actions: jax.Array
) -> tuple[Batch[StateT], TimeStep]:
    """Step every episode, and replace those that ended by the next level of the pool.

    Args:
        env: the environment.
        pool: the levels; where an episode ends, the next level is as many further as the batch is large, or a
            little more, so that it is of the same task: several tasks get equal shares of the steps.
        batch: episodes under way.
        actions: (batch, components) int.

    Returns:
        The batch after the step, and what the step gave: where an episode ended, its last observation.
    """
    states, time_step = jax.vmap(env.step)(batch.states, actions)
    stride = -(-len(batch.cursor) // env.task_count) * env.task_count
    levels = max(pool.size // env.task_count * env.task_count, 1)
    cursor = jnp.where(time_step.done, (batch.cursor + stride) % levels, batch.cursor)

    def renew(fresh: jax.Array, leaf: jax.Array) -> jax.Array:
        done = time_step.done.reshape(-1, *[1] * (leaf.ndim - 1))
        return jnp.where(done, fresh[cursor], leaf)

    states, observations = jax.tree.map(
        renew, (pool.states, pool.observations), (states, time_step.observation)
    )
    return Batch(states, observations, cursor), time_step
