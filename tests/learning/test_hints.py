"""Training levels: the notebook that each begins with, and hints in it."""

from functools import partial

import jax
import numpy as np
import pytest

from afk.agents.notebook import Notebook, NoteTaking
from afk.agents.variants import VARIANTS
from afk.envs.level_pool import draw_pool
from afk.envs.qbabyai.curriculum import hints
from afk.envs.qbabyai.world.words import VOCABULARY
from afk.envs.registry import make
from afk.knowledge.facts import UNUSED
from afk.learning.hints import add_hints
from afk.learning.rollout import Play, TrainingLevels, open_levels

from ..agents.notebook_reference import ReferenceNotebook

LEVELS = 256
RULES = NoteTaking(VOCABULARY, dropped=("is", "in"), unknown=("i dont know",))


def training_levels(name: str, fraction: float) -> tuple[Play, TrainingLevels, TrainingLevels]:
    """Levels of a task without hints, and with hints in a fraction of them."""
    play = Play(make(name), VARIANTS["afk"], RULES)
    plain = open_levels(play, draw_pool(play.env, jax.random.key(0), LEVELS))
    return play, plain, add_hints(play, plain, jax.random.key(1), fraction)


def count_notes(notebooks: Notebook) -> np.ndarray:
    return np.asarray((notebooks.group >= 0).sum(1))


@pytest.mark.parametrize("name", ["qbabyai/object-in-box", "qbabyai/go-to-favorite+open-door"])
def test_some_levels_begin_with_some_of_the_answers(name: str) -> None:
    play, plain, hinted = training_levels(name, 0.5)
    assert (count_notes(plain.notebooks) == 1).all()
    notes = count_notes(hinted.notebooks)
    assert 0.4 < (notes == 1).mean() < 0.8
    answers = jax.device_get(jax.vmap(partial(hints, play.env))(plain.pool.states))
    most = (answers[..., 0] != 0).sum(1)
    assert (most == np.asarray((plain.pool.states.level.good_queries[..., 0] != UNUSED).sum(1))).all()
    assert notes.max() > 1 + most.max() // 2


def test_hints_are_answers_to_good_queries_in_the_papers_notebook() -> None:
    play, _, hinted = training_levels("qbabyai/object-in-box", 1.0)
    for level in range(32):
        one = jax.tree.map(lambda leaf, level=level: leaf[level], hinted)
        answers = [VOCABULARY.decode(row) for row in hints(play.env, one.pool.states)]
        instruction = VOCABULARY.decode(one.pool.observations.mission)
        written = {VOCABULARY.decode(row) for row in one.notebooks.notes if row.any()}
        reference = ReferenceNotebook(instruction, RULES.similarity.n, RULES.similarity.alpha, RULES.capacity)
        for answer in answers:
            clauses = {
                " ".join(word for word in each.split() if word not in ("is", "in"))
                for each in answer.split(",")
            }
            if answer and clauses <= written:
                reference.write(answer)
        noted = {" ".join(note) for group in reference.sets.values() for note in group}
        assert noted == written


def test_a_fraction_of_nothing_adds_no_hints() -> None:
    _, plain, hinted = training_levels("qbabyai/object-in-box", 0.0)
    assert jax.tree.all(jax.tree.map(lambda a, b: bool((a == b).all()), plain.notebooks, hinted.notebooks))
