"""Several tasks at once: every game is what it is alone, and games come in equal shares."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from afk.envs.core import TimeStep
from afk.envs.level_pool import draw_pool
from afk.envs.qtextworld import solver
from afk.envs.qtextworld.curriculum import hints
from afk.envs.qtextworld.environment import CookingGames, QTextWorld
from afk.envs.qtextworld.levels.bank import Bank
from afk.envs.qtextworld.levels.tasks import paper_tasks
from afk.envs.qtextworld.multitask import MultiTaskKitchen
from afk.envs.qtextworld.world.state import State

KEY, SHARE = jax.random.key(4), 24


pytestmark = pytest.mark.slow


def every(tree: State, number: int) -> State:
    """The games of one of the four tasks."""
    return jax.tree.map(lambda leaf: leaf[number::4], tree)


def play(env: CookingGames, states: State, actions: jax.Array) -> TimeStep:
    """Everything that (games, steps, 3) actions lead to, over the end of episodes."""
    return jax.jit(jax.vmap(lambda state, actions: jax.lax.scan(env.step, state, actions)[1]))(
        states, actions
    )


@pytest.mark.parametrize("number", range(4), ids=[task.name for task in paper_tasks()])
def test_a_game_is_what_it_is_alone(number: int, bank: Bank) -> None:
    mixture = MultiTaskKitchen(*paper_tasks(), bank=bank)
    env = QTextWorld(paper_tasks()[number], bank)
    pool = draw_pool(mixture, KEY, 4 * SHARE)
    large, small = every(pool.states, number), env.draw_many(jax.random.split(KEY, 4)[number], SHARE)
    known, expected = jax.vmap(partial(hints, mixture))(large), jax.vmap(partial(hints, env))(small)
    known, expected = (
        [sorted(map(tuple, rows[rows.any(-1)].tolist())) for rows in np.asarray(each)]
        for each in (known, expected)
    )
    assert known == expected and all(map(len, known))
    planned = solver.plan(env, small)
    drawn = jax.random.randint(KEY, planned.shape, 0, jnp.array(env.action_sizes))
    for actions in (
        planned,
        jnp.where(jax.random.bernoulli(KEY, 0.7, planned.shape[:2])[..., None], planned, drawn),
    ):
        jax.tree.map(np.testing.assert_array_equal, play(mixture, large, actions), play(env, small, actions))
    ended = play(mixture, large, planned)
    won = ended.success & (jnp.cumsum(ended.done, 1) <= 1)
    assert won.any(1).all()
    assert (ended.stats.good == ended.stats.wanted)[won].all()


def test_a_roomy_world_has_the_games_of_its_task_and_room_for_any(bank: Bank) -> None:
    small, *_, large = paper_tasks()
    roomy, plain = MultiTaskKitchen(small, bank=bank, beside=paper_tasks()), QTextWorld(small, bank)
    pools = [draw_pool(env, KEY, 6) for env in (roomy, plain)]
    jax.tree.map(np.testing.assert_array_equal, *(pool.observations for pool in pools))
    assert [pool.states.place.shape for pool in pools] == [(6, large.things), (6, small.things)]
    assert roomy != MultiTaskKitchen(small, bank=bank)


def test_a_single_game_is_of_any_task(bank: Bank) -> None:
    mixture = MultiTaskKitchen(*paper_tasks(), bank=bank)
    states, _ = jax.jit(jax.vmap(mixture.reset))(jax.random.split(KEY, 64))
    kinds = np.asarray(states.game.is_ingredient.sum(-1) + 2 * states.game.prepares)
    assert np.bincount(kinds, minlength=5)[1:].min() > 4


def test_only_games_of_one_shape_are_mixed(bank: Bank) -> None:
    first, second = paper_tasks()[:2]
    with pytest.raises(ValueError, match="only tasks with the same max_steps can be mixed"):
        MultiTaskKitchen(first, replace(second, max_steps=30), bank=bank)
    with pytest.raises(ValueError, match="only tasks with the same furniture can be mixed"):
        MultiTaskKitchen(first, replace(second, furniture=1), bank=bank)
