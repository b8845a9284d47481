"""Replay on the device: steps of won episodes and of the others in two rings, drawn from half and half.

This is what the paper's "priority fraction of 0.5" means (appendix C.2). Which ring an episode belongs to is
known when it ends, so that steps wait in a staging area until then. An episode lies in its ring from its
first step to its last, and in newer rows the later a step is: while a step can be drawn, so can what follows.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from afk.agents.reading import Reading

WON, REST = range(2)  # the rings
_TRIES = 3  # one row in 21 of a ring is no step at most: three of them in a row are rare


class Step(eqx.Module):
    """Steps with leading axes.

    Attributes:
        seen: what was seen, a pytree.
        reading: what was read.
        action: (components,) uint8.
        reward: () float32, r_env.
        grew: () bool, whether A_0 grew by the answer.
    """

    seen: jax.Array
    reading: Reading
    action: jax.Array
    reward: jax.Array
    grew: jax.Array


class Replay(eqx.Module):
    """Two rings of steps, one behind the other in rows, and the episodes under way.

    What the last step of an episode led to matters if the episode was cut off; it is a row of its own then.

    Attributes:
        steps: (capacity, ...), both rings, that of won episodes first.
        left: (capacity,) uint16, steps from this one to the end of its episode; 0 if it is no step.
        terminated: (capacity,) bool, whether its episode ended in success or in a mistake.
        head: (2,) int32, the row of each ring that is written next, counted from the first of the ring.
        held: (2,) int32, rows of each ring that hold something.
        staged: (n, longest + 1, ...), the steps of n episodes under way.
        length: (n,) int32, how many steps each of them has.
    """

    steps: Step
    left: jax.Array
    terminated: jax.Array
    head: jax.Array
    held: jax.Array
    staged: Step
    length: jax.Array

    @property
    def sizes(self) -> np.ndarray:
        """Rows of each ring: (2,)."""
        return np.array([len(self.left) // 2, len(self.left) - len(self.left) // 2], np.int32)

    @property
    def firsts(self) -> np.ndarray:
        """The first row of each ring: (2,)."""
        return np.array([0, len(self.left) // 2], np.int32)


class Ending(eqx.Module):
    """How n episodes stand after a step, (n,) bool each."""

    terminated: jax.Array
    truncated: jax.Array
    success: jax.Array


class Transitions(eqx.Module):
    """Steps to learn from, with a leading axis, and what came of them after one step or some.

    Attributes:
        step: the steps.
        gain: () float32, the discounted rewards until then.
        seen: what was seen then.
        reading: what was read then.
        discount: () float32, what the value of then is multiplied by; 0 if the episode was over.
        exists: () bool; if not, the rest means nothing.
    """

    step: Step
    gain: jax.Array
    seen: jax.Array
    reading: Reading
    discount: jax.Array
    exists: jax.Array


def empty_replay(step: Step, *, capacity: int, longest: int) -> Replay:
    """A replay that holds nothing yet.

    Args:
        step: a step of each of n episodes, for its shapes.
        capacity: rows of both rings together.
        longest: steps of an episode, at most.
    """
    count = len(step.reward)
    check_capacity(capacity, count, longest)

    def blank(*leading: int) -> Step:
        return jax.tree.map(lambda leaf: jnp.zeros((*leading, *leaf.shape[1:]), leaf.dtype), step)

    return Replay(
        steps=blank(capacity),
        left=jnp.zeros(capacity, jnp.uint16),
        terminated=jnp.zeros(capacity, bool),
        head=jnp.zeros(2, jnp.int32),
        held=jnp.zeros(2, jnp.int32),
        staged=blank(count, longest + 1),
        length=jnp.zeros(count, jnp.int32),
    )


def check_capacity(capacity: int, count: int, longest: int) -> None:
    """Refuse a replay in which so many episodes of so many steps that end at once could meet themselves."""
    if capacity // 2 < count * (longest + 1):
        raise ValueError(
            f"a replay of {capacity} steps is too small for {count} episodes of {longest} steps at once"
        )


def add(replay: Replay, step: Step, following: Step, ending: Ending) -> Replay:
    """Stage a step of each of n episodes, and move those that ended to their ring.

    Args:
        replay: what was before.
        step: the steps, (n, ...).
        following: (n, ...), what was seen and read after them; the rest means nothing.
        ending: which episodes have ended, and how.
    """
    every = jnp.arange(len(replay.length))
    staged = jax.tree.map(
        lambda old, now, then: old.at[every, replay.length].set(now).at[every, replay.length + 1].set(then),
        *(replay.staged, step, following),
    )
    length, done = replay.length + 1, ending.terminated | ending.truncated
    rows = jnp.where(done, length + ending.truncated, 0)
    rows_of_ring = jnp.where(jnp.stack([ending.success, ~ending.success]), rows, 0)  # (2, n)
    before = (jnp.cumsum(rows_of_ring, 1) - rows_of_ring).sum(0, where=rows_of_ring > 0)
    ring = jnp.where(ending.success, WON, REST)
    place = jnp.arange(staged.reward.shape[1])
    row = (replay.head[ring] + before)[:, None] + place
    row = jnp.asarray(replay.firsts)[ring][:, None] + row % jnp.asarray(replay.sizes)[ring][:, None]
    # Rows beyond the last, each another one, are dropped.
    beyond = len(replay.left) + jnp.arange(row.size).reshape(row.shape)
    row = jnp.where(place < rows[:, None], row, beyond)

    def move(old: jax.Array, new: jax.Array) -> jax.Array:
        return old.at[row].set(new.astype(old.dtype), mode="drop", unique_indices=True)

    written = rows_of_ring.sum(1)
    return Replay(
        steps=jax.tree.map(move, replay.steps, staged),
        left=move(replay.left, jnp.maximum(length[:, None] - place, 0)),
        terminated=move(replay.terminated, jnp.broadcast_to(ending.terminated[:, None], row.shape)),
        head=(replay.head + written) % replay.sizes,
        held=jnp.minimum(replay.held + written, replay.sizes),
        staged=staged,
        length=jnp.where(done, 0, length),
    )


def draw(
    replay: Replay, key: jax.Array, *, count: int, multi_step: int, discount: float, bonus: jax.Array
) -> Transitions:
    """Draw transitions, half of them from won episodes if there are won and other ones.

    Args:
        replay: what is drawn from.
        key: what it is drawn with.
        count: how many.
        multi_step: over how many steps they reach at most; how many is drawn uniformly for each, from 1 on,
            and none reaches beyond the end of its episode.
        discount: gamma.
        bonus: () float32, beta.
    """
    row_key, reach_key = jax.random.split(key)
    ring = jnp.where(jnp.arange(count) < count // 2, WON, REST)
    ring = jnp.where(replay.held[ring] > 0, ring, 1 - ring)
    first, size = jnp.asarray(replay.firsts)[ring], jnp.asarray(replay.sizes)[ring]
    tries = first + jax.random.randint(row_key, (_TRIES, count), 0, jnp.maximum(replay.held[ring], 1))
    chosen = jnp.argmax(replay.left[tries] > 0, 0)
    row = jnp.take_along_axis(tries, chosen[None], 0)[0]

    def after(steps: jax.Array | int) -> jax.Array:
        """The row so many steps later."""
        return first + (row - first + steps) % size

    left = replay.left[row].astype(jnp.int32)
    reach = jnp.minimum(jax.random.randint(reach_key, (count,), 1, multi_step + 1), left)
    gain = jnp.zeros(count)
    for steps in range(multi_step):
        reward = replay.steps.reward[after(steps)] + bonus * replay.steps.grew[after(steps)]
        gain += jnp.where(steps < reach, discount**steps * reward, 0)
    is_over = replay.terminated[row] & (reach == left)
    seen, reading = jax.tree.map(lambda leaf: leaf[after(reach)], (replay.steps.seen, replay.steps.reading))
    return Transitions(
        step=jax.tree.map(lambda leaf: leaf[row], replay.steps),
        gain=gain,
        seen=seen,
        reading=reading,
        discount=jnp.where(is_over, 0, discount ** reach.astype(jnp.float32)),
        exists=left > 0,
    )
