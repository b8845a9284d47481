"""The contract of a queryable environment (paper, section 2.1).

An environment is a few pure functions over single states; `jax.vmap` makes functions over batches of them.
``reset(key)`` draws a level and gives its first observation; ``step(state, action)`` advances one episode,
and does nothing special when it ends. Batches with auto-reset are in `afk.envs.level_pool`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from afk.envs.drawing import draw_sound
from afk.knowledge.source import KnowledgeSource
from afk.knowledge.traits import DealingStats, SourceSpec
from afk.language import Vocabulary

StateT = TypeVar("StateT", bound=eqx.Module)


class EpisodeStats(eqx.Module):
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
    """Precision, recall and F1 of the queries of episodes, against Q_t; numbers or arrays of any shape.

    An answer may reveal several wanted facts, but a query is good once.
    """
    good_once = good - (good - queries) * (good > queries)
    precision, recall = good_once / (queries + (queries == 0)), good / (wanted + (wanted == 0))
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
        stats: the episode's counts.
        dealings: what its questions cost and came to, where sources have traits; None otherwise.
        cost: () float32, what this step's question cost; likewise. It is no part of the reward.
    """

    observation: Any
    reward: jax.Array
    terminated: jax.Array
    truncated: jax.Array
    success: jax.Array
    stats: EpisodeStats
    dealings: DealingStats | None = None
    cost: jax.Array | None = None

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
        task_count: levels in bulk are of so many tasks in turn.
        sentence_length: tokens of an instruction or an answer, at most.
        world: the name of the world that it belongs to; see `afk.envs.world`.
        sources: what the traits of its sources are drawn from; none if there is the paper's oracle alone.
    """

    name: str
    vocabulary: Vocabulary
    action_sizes: tuple[int, ...]
    max_steps: int
    task_count: int = 1
    sentence_length: int
    world: str
    sources: tuple[SourceSpec, ...] = ()

    @abstractmethod
    def draw(self, key: jax.Array) -> tuple[StateT, jax.Array]:
        """Draw the first state of an episode, and say whether it may be played."""

    @abstractmethod
    def observe(self, state: StateT) -> Any:
        """The first observation of an episode."""

    @abstractmethod
    def step(self, state: StateT, action: jax.Array) -> tuple[StateT, TimeStep]:
        """Act or ask; `action` is an integer vector with a value for each of `action_sizes`."""

    def with_sources(self, sources: Sequence[SourceSpec]) -> "Environment[StateT]":
        """The same world with other sources; a ValueError if it has room for its own oracle only."""
        if tuple(sources) != self.sources:
            raise ValueError(
                f"{self.name} has the paper's oracle, and no sources with a price, lies and the like"
            )
        return self

    def told_by(self, source: KnowledgeSource) -> "Environment[StateT]":
        """The same world, of whose levels another source tells; a ValueError if its oracle has to stay."""
        raise ValueError(f"{self.name} has the paper's oracle only: it cannot be told by {source.name}")

    def draw_many(self, key: jax.Array, size: int) -> StateT:
        """Draw levels in bulk, sound ones only: first states with a leading axis of that size."""
        return draw_sound(self, key, size)

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
