"""Courses: the notebook that a level begins with."""

import jax
import numpy as np
import pytest

from afk.agents.notebook import Notebook, NoteTaking
from afk.agents.variants import VARIANTS
from afk.envs.base import draw_pool
from afk.envs.qbabyai.words import VOCABULARY
from afk.envs.registry import make_grid
from afk.knowledge.facts import UNUSED
from afk.learn.rollout import Course, Play, open_course, tell_some

from ..agents.notebook_reference import ReferenceNotebook

LEVELS = 256
RULES = NoteTaking(VOCABULARY, dropped=("is", "in"), unknown=("i dont know",))


def course(name: str, share: float) -> tuple[Play, Course, Course]:
    play = Play(make_grid(name), VARIANTS["afk"], RULES)
    untold = open_course(play, draw_pool(play.env, jax.random.key(0), LEVELS))
    return play, untold, tell_some(play, untold, jax.random.key(1), share)


def count_notes(notebooks: Notebook) -> np.ndarray:
    return np.asarray((notebooks.group >= 0).sum(1))


@pytest.mark.parametrize("name", ["qbabyai/object-in-box", "qbabyai/go-to-favorite+open-door"])
def test_some_levels_begin_with_some_of_the_answers(name: str) -> None:
    play, untold, told = course(name, 0.5)
    assert (count_notes(untold.notebooks) == 1).all()
    notes = count_notes(told.notebooks)
    assert 0.4 < (notes == 1).mean() < 0.8
    answers = jax.device_get(jax.vmap(play.env.tell)(untold.pool.states))
    most = (answers[..., 0] != 0).sum(1)
    assert (most == np.asarray((untold.pool.states.level.good_queries[..., 0] != UNUSED).sum(1))).all()
    assert notes.max() > 1 + most.max() // 2


def test_told_notes_are_answers_to_good_queries_in_the_papers_notebook() -> None:
    play, _, told = course("qbabyai/object-in-box", 1.0)
    for level in range(32):
        one = jax.tree.map(lambda leaf, level=level: leaf[level], told)
        answers = [VOCABULARY.decode(row) for row in play.env.tell(one.pool.states)]
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


def test_a_share_of_nothing_tells_nothing() -> None:
    _, untold, told = course("qbabyai/object-in-box", 0.0)
    assert jax.tree.all(jax.tree.map(lambda a, b: bool((a == b).all()), untold.notebooks, told.notebooks))
