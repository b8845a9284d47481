"""The contract of a queryable environment, and batches of it that never stop.

An environment is a few pure functions over single states; `jax.vmap` makes functions over batches of them.
``reset(key)`` draws a level and gives its first observation; ``step(state, action)`` advances one episode,
and does nothing special when it ends.

A `Batch` never stops: where an episode ends, the next level is taken from a `Pool` that was drawn in bulk,
since drawing a level costs much more than a step. The time step that ended the episode keeps its last
observation, and the batch holds the first observation of the next.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, Generic, Literal, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from afk.language import Vocabulary

StateT = TypeVar("StateT", bound=eqx.Module)
_DRAWS = 1024  # levels drawn at once for a pool
NO_SOUND_LEVEL = "{}: hardly any draw gives a sound level; make rooms larger or things fewer"
_HOPELESS = 64  # this many times that many draws without a sound level: there is none
# How programs for a CPU are compiled. With all that LLVM can do it takes twice as long, and levels are not
# drawn faster; with nothing of it they are drawn at a tenth of the speed, but a few are there sooner.
_FOR_MANY = {
    "xla_backend_optimization_level": 1,
    "xla_llvm_disable_expensive_passes": True,
    "xla_cpu_use_fusion_emitters": False,
}
_FOR_FEW = _FOR_MANY | {"xla_backend_optimization_level": 0}


class Tally(eqx.Module):
    """What an episode amounts to so far; final when the episode is over.

    Attributes:
        steps: () int32, queries included.
        queries: () int32, n_tot, duplicates counted.
        good: () int32, n_g, good queries that were asked and answered, duplicates not counted.
        wanted: () int32, |Q_t|.
    """

    steps: jax.Array
    queries: jax.Array
    good: jax.Array
    wanted: jax.Array


def query_quality(good: Any, queries: Any, wanted: Any) -> tuple[Any, Any, Any]:
    """Precision, recall and F1 of the queries of episodes, against Q_t; numbers or arrays of any shape."""
    precision, recall = good / (queries + (queries == 0)), good / (wanted + (wanted == 0))
    total = precision + recall
    return precision, recall, 2 * precision * recall / (total + (total == 0))


class TimeStep(eqx.Module):
    """What a step gives.

    Attributes:
        observation: a pytree of arrays: what is seen, what was answered, what is to be done.
        reward: () float32, r_env; no bonus of any agent's.
        terminated: () bool, the episode ended in success or in a mistake.
        truncated: () bool, the episode ran out of steps.
        success: () bool, the task is done.
        tally: the episode's counts.
    """

    observation: Any
    reward: jax.Array
    terminated: jax.Array
    truncated: jax.Array
    success: jax.Array
    tally: Tally

    @property
    def done(self) -> jax.Array:
        """Whether the episode is over."""
        return self.terminated | self.truncated


class Environment(ABC, Generic[StateT]):
    """A queryable environment (paper, section 2.1): what is seen and what was answered, for acts and queries.

    Attributes:
        name: what it is registered as.
        vocabulary: the words of its queries and answers.
        action_sizes: how many values each component of an action takes.
        max_steps: steps until an episode is cut off, at most.
        turns: levels in bulk are of so many tasks in turn.
        glue: words that carry no meaning of their own; notes leave them out.
        breaks: tokens that end a clause.
        clauses: how many clauses an answer has at most.
        no_answer: words that only an answer without knowledge holds.
        sentence_length: tokens of an instruction or an answer, at most.
    """

    name: str
    vocabulary: Vocabulary
    action_sizes: tuple[int, ...]
    max_steps: int
    turns: int = 1
    glue: tuple[str, ...]
    breaks: tuple[str, ...]
    clauses: int
    no_answer: tuple[str, ...]
    sentence_length: int

    @abstractmethod
    def draw(self, key: jax.Array) -> tuple[StateT, jax.Array]:
        """Draw the first state of an episode, and say whether it may be played."""

    @abstractmethod
    def observe(self, state: StateT) -> Any:
        """The first observation of an episode."""

    @abstractmethod
    def step(self, state: StateT, action: jax.Array) -> tuple[StateT, TimeStep]:
        """Act or ask; `action` is an integer vector with a value for each of `action_sizes`."""

    @abstractmethod
    def scatter(self, state: StateT, key: jax.Array) -> StateT:
        """The same level begun elsewhere, often nearer to its end: what training may start from."""

    def mislead(self, state: StateT, key: jax.Array) -> StateT:
        """The same level begun with a mistake that can be mended; as it is, where there is no such thing."""
        return state

    def clutter(self, state: StateT, key: jax.Array) -> StateT:
        """The same level with more to be seen that means nothing; as it is, where there is no such thing."""
        return state

    @abstractmethod
    def tell(self, state: StateT) -> jax.Array:
        """The answers to the good queries of a level, wherever they are told: (answers, tokens), padded."""

    def draw_many(self, key: jax.Array, size: int) -> StateT:
        """Draw levels in bulk, sound ones only: first states with a leading axis of that size."""
        # On other devices than a CPU the way there and back takes longer than drawing.
        is_cpu = jax.default_backend() == "cpu"
        draw = _draw_rounds(self, few=size <= _DRAWS)
        at_once = 1 if is_cpu else -(-size // _DRAWS)
        tries = (2 * size // _DRAWS // at_once + 1) * _HOPELESS
        drawn, found = [], 0
        for round_keys in jax.random.split(key, (tries, at_once)):
            states, sound = jax.device_get(draw(round_keys))
            drawn.append(jax.tree.map(lambda leaf, sound=sound: leaf[sound], states))
            found += int(sound.sum())
            if found >= size:
                break
        else:
            raise ValueError(NO_SOUND_LEVEL.format(self.name))
        return jax.tree.map(lambda *leaves: jnp.asarray(np.concatenate(leaves)[:size]), *drawn)

    def reset(self, key: jax.Array) -> tuple[StateT, Any]:
        """Draw levels until one is sound; returns its first state and its first observation."""

        def redraw(carry: tuple[jax.Array, StateT, jax.Array]) -> tuple[jax.Array, StateT, jax.Array]:
            key, draw_key = jax.random.split(carry[0])
            return key, *self.draw(draw_key)

        shapes, _ = jax.eval_shape(self.draw, key)
        blank = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
        _, state, _ = jax.lax.while_loop(lambda carry: ~carry[2], redraw, (key, blank, jnp.bool_(False)))
        return state, self.observe(state)

    def check_action(self, action: Any) -> np.ndarray:
        """An action, or a batch of them, as int32 (..., components); a ValueError if it is out of range."""
        array = np.asarray(action)
        sizes = np.array(self.action_sizes)
        if not np.issubdtype(array.dtype, np.integer) or array.shape[-1:] != sizes.shape:
            raise ValueError(f"an action is {len(sizes)} integers below {self.action_sizes}, not {action!r}")
        if ((array < 0) | (array >= sizes)).any():
            raise ValueError(
                f"action {array.tolist()} is out of range: each number is from 0 to below {self.action_sizes}"
            )
        return array.astype(np.int32)


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


@partial(jax.jit, static_argnums=(0, 1, 4))
def vary_share(
    env: Environment[StateT],
    how: Literal["scatter", "mislead", "clutter"],
    states: StateT,
    key: jax.Array,
    share: float,
) -> StateT:
    """Vary a share of states with a leading axis, by a method of their environment."""
    choose_key, vary_key = jax.random.split(key)
    count = jax.tree.leaves(states)[0].shape[0]
    chosen = jax.random.bernoulli(choose_key, share, (count,))

    def vary_if(is_chosen: jax.Array, state: StateT, key: jax.Array) -> StateT:
        return jax.tree.map(partial(jnp.where, is_chosen), getattr(env, how)(state, key), state)

    return jax.vmap(vary_if)(chosen, states, jax.random.split(vary_key, count))


@lru_cache(maxsize=64)
def _draw_rounds(env: Environment, *, few: bool) -> Callable:
    """A function that draws levels, sound or not, for each of several keys; equal environments share it."""

    def draw(keys: jax.Array) -> tuple[Any, jax.Array]:
        every = jax.vmap(lambda key: jax.random.split(key, _DRAWS))(keys)
        return jax.vmap(env.draw)(every.reshape(-1))

    if jax.default_backend() != "cpu":
        return jax.jit(draw)
    return jax.jit(draw, compiler_options=_FOR_FEW if few else _FOR_MANY)


@lru_cache(maxsize=64)
def _observe_many(env: Environment) -> Callable:
    """A function that observes levels; equal environments share it."""
    return jax.jit(jax.vmap(env.observe))


def start_batch(pool: Pool[StateT], size: int) -> Batch[StateT]:
    """Start episodes in the first levels of a pool."""
    cursor = jnp.arange(size, dtype=jnp.int32) % pool.size
    states, observations = jax.tree.map(lambda leaf: leaf[cursor], (pool.states, pool.observations))
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
    stride = -(-len(batch.cursor) // env.turns) * env.turns
    levels = max(pool.size // env.turns * env.turns, 1)
    cursor = jnp.where(time_step.done, (batch.cursor + stride) % levels, batch.cursor)

    def renew(fresh: jax.Array, leaf: jax.Array) -> jax.Array:
        done = time_step.done.reshape(-1, *[1] * (leaf.ndim - 1))
        return jnp.where(done, fresh[cursor], leaf)

    states, observations = jax.tree.map(
        renew, (pool.states, pool.observations), (states, time_step.observation)
    )
    return Batch(states, observations, cursor), time_step
