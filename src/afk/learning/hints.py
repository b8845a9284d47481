"""Privileged hints: levels that begin with some of the answers known in training, or all of them in play."""

from functools import partial

import jax
import jax.numpy as jnp

from afk.agents.notebook import Notebook, write
from afk.envs.level_pool import Pool
from afk.envs.registry import world_of
from afk.language import PAD
from afk.learning.rollout import Play, TrainingLevels, open_levels


def begin_levels(play: Play, pool: Pool) -> TrainingLevels:
    """Levels that begin with nothing known but the instruction, or with all that is worth asking."""
    levels = open_levels(play, pool)
    return _note(play, levels, _answers(play, levels)) if play.begins_told else levels


@partial(jax.jit, static_argnums=(0, 3))
def add_hints(play: Play, training_levels: TrainingLevels, key: jax.Array, fraction: float) -> TrainingLevels:
    """Let a fraction of the levels begin with some of the answers to their good queries in the notebook.

    What to do with an answer is learned from where it is known; that asking leads there is learned then.
    """
    chosen_key, part_key, answer_key = jax.random.split(key, 3)
    answers = _answers(play, training_levels)
    count, most = answers.shape[:2]
    part = jax.random.uniform(part_key, (count, 1)) * jax.random.bernoulli(chosen_key, fraction, (count, 1))
    is_known = jax.random.uniform(answer_key, (count, most)) < part
    return _note(play, training_levels, jnp.where(is_known[..., None], answers, PAD))


def _answers(play: Play, levels: TrainingLevels) -> jax.Array:
    """The answers to the good queries of each level: (levels, answers, tokens)."""
    return jax.vmap(partial(world_of(play.env).curriculum.hints, play.env))(levels.pool.states)


def _note(play: Play, levels: TrainingLevels, answers: jax.Array) -> TrainingLevels:
    """The levels with answers in their notebooks."""

    def note(notebook: Notebook, answer: jax.Array) -> tuple[Notebook, None]:
        return write(notebook, answer, rules=play.rules)[0], None

    notebooks = jax.vmap(lambda notebook, answers: jax.lax.scan(note, notebook, answers)[0])(
        levels.notebooks, answers
    )
    return TrainingLevels(levels.pool, notebooks)
