"""Kinds of success: those there are, and one's own."""

from collections.abc import Iterator
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from afk.envs.qbabyai.solver import plan
from afk.envs.qbabyai.world import cells, dynamics
from afk.envs.qbabyai.world.goals import (
    FACE,
    GOALS,
    OPEN_BOX,
    STAND_ON,
    UNLOCK,
    Goal,
    Situation,
    register_goal,
)
from afk.envs.registry import make

CARRY = Goal("carry", lambda now: now.carrying == now.target, "facing", cells.PICK_UP)
NOTHING = Situation(
    underfoot=jnp.uint8(cells.EMPTY),
    ahead=jnp.uint8(cells.EMPTY),
    carrying=jnp.uint8(cells.EMPTY),
    opened_box=jnp.uint8(cells.EMPTY),
    unlocked=jnp.bool_(False),
    target=jnp.uint8(cells.BOX * 8 + cells.GREEN),
)


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Goals that are known for one test."""
    before = list(GOALS)
    yield
    GOALS[:] = before


def test_numbers_of_goals_are_their_places_in_the_list() -> None:
    numbers = {"open box": OPEN_BOX, "stand on": STAND_ON, "face": FACE, "unlock": UNLOCK}
    assert {goal.name: number for number, goal in enumerate(GOALS)} == numbers
    assert [register_goal(goal) for goal in list(GOALS)] == [0, 1, 2, 3] and len(GOALS) == 4


def test_a_goal_has_one_number_however_often_it_is_registered() -> None:
    assert register_goal(CARRY) == register_goal(CARRY) == register_goal(replace(CARRY)) == 4
    assert GOALS[4] is CARRY and len(GOALS) == 5
    assert register_goal(replace(CARRY, name="hold")) == 5


@pytest.mark.parametrize(
    "other", [replace(CARRY, place="on"), replace(CARRY, action=None), replace(CARRY, name="face")]
)
def test_a_second_goal_of_the_same_name_is_refused(other: Goal) -> None:
    register_goal(CARRY)
    with pytest.raises(ValueError, match=f"a goal named '{other.name}' is registered already"):
        register_goal(other)
    assert len(GOALS) == 5


@pytest.mark.parametrize(
    ("number", "field"), [(OPEN_BOX, "opened_box"), (STAND_ON, "underfoot"), (FACE, "ahead")]
)
def test_a_goal_is_reached_where_its_target_is(number: int, field: str) -> None:
    reached = GOALS[number].reached
    assert not reached(NOTHING) and reached(NOTHING._replace(**{field: NOTHING.target}))
    others = {"opened_box", "underfoot", "ahead", "carrying"} - {field}
    assert not reached(NOTHING._replace(**dict.fromkeys(others, NOTHING.target)))


def test_an_open_lock_is_a_goal_without_a_target() -> None:
    reached = GOALS[UNLOCK].reached
    assert not reached(NOTHING) and reached(NOTHING._replace(unlocked=jnp.bool_(True)))


def test_a_goal_of_ones_own_is_reached_and_planned_for() -> None:
    number = register_goal(CARRY)
    states = jax.device_get(make("qbabyai/object-in-box").draw_many(jax.random.key(6), 8))
    step = jax.jit(lambda state, action: dynamics.step(state, action))  # compiled with the goals of now
    for index in range(8):
        state = jax.tree.map(lambda leaf, index=index: leaf[index], states)
        state = replace(state, level=replace(state.level, goal=np.int8(number)))
        actions = plan(state)
        assert actions[-1].tolist() == [0, cells.PICK_UP, 0, 0, 0]
        successes = []
        for action in actions:
            state, outcome = step(state, action)
            successes.append(bool(outcome.success))
        assert successes == [False] * (len(actions) - 1) + [True]
        assert state.carrying == state.level.target
