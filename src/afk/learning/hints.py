"""Privileged hints: training levels that begin with some of the answers known."""

from functools import partial

import jax
import jax.numpy as jnp

from afk.agents.notebook import Notebook, write
from afk.envs.registry import world_of
from afk.language import PAD
from afk.learning.rollout import Play, TrainingLevels


@partial(jax.jit, static_argnums=(0, 3))
def add_hints(play: Play, training_levels: TrainingLevels, key: jax.Array, fraction: float) -> TrainingLevels:
    """Let a fraction of the levels begin with some of the answers to their good queries in the notebook.

    What to do with an answer is learned from where it is known; that asking leads there is learned then.
    """
    chosen_key, part_key, answer_key = jax.random.split(key, 3)
    hints = world_of(play.env).curriculum.hints
    answers = jax.vmap(partial(hints, play.env))(training_levels.pool.states)
    count, most = answers.shape[:2]
    part = jax.random.uniform(part_key, (count, 1)) * jax.random.bernoulli(chosen_key, fraction, (count, 1))
    is_known = jax.random.uniform(answer_key, (count, most)) < part
    answers = jnp.where(is_known[..., None], answers, PAD)

    def note(notebook: Notebook, answer: jax.Array) -> tuple[Notebook, None]:
        return write(notebook, answer, rules=play.rules)[0], None

    notebooks = jax.vmap(lambda notebook, answers: jax.lax.scan(note, notebook, answers)[0])(
        training_levels.notebooks, answers
    )
    return TrainingLevels(training_levels.pool, notebooks)
