"""Games begun in the middle or with hints: nothing impossible, nothing won already, and still winnable."""

import jax
import numpy as np
import pytest

from afk.envs.level_pool import vary_fraction
from afk.envs.qtextworld import solver
from afk.envs.qtextworld.curriculum import hints, random_start
from afk.envs.qtextworld.environment import QTextWorld
from afk.envs.qtextworld.levels.bank import Bank
from afk.envs.qtextworld.levels.tasks import Task
from afk.envs.qtextworld.world.state import State, held
from afk.envs.qtextworld.world.things import IS_CONTAINER

from .families import ALL, COOK, TASKS

GAMES = 256


def begin(task: Task, bank: Bank, fraction: float = 1.0) -> tuple[QTextWorld, State, State]:
    env = QTextWorld(task, bank)
    states = env.draw_many(jax.random.key(5), GAMES)
    return env, states, vary_fraction(random_start, states, jax.random.key(6), fraction)


def is_ready(state: State) -> np.ndarray:
    game = state.game
    done = (state.place == held(game)) & (state.cut == game.cut) & (state.cooking == game.cooking)
    return np.asarray(done | ~game.is_ingredient)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_only_ingredients_and_containers_are_touched_and_something_is_left_to_do(
    task: Task, bank: Bank
) -> None:
    _, before, after = begin(task, bank)
    for name in ("place", "cut", "cooking"):
        changed = np.asarray(getattr(before, name) != getattr(after, name))
        assert not changed[~np.asarray(before.game.is_ingredient)].any()
    opened = np.asarray(before.is_open != after.is_open)
    assert IS_CONTAINER[np.asarray(before.game.pieces)][opened].all() and opened.any()
    assert not is_ready(after).all(1).any()
    if task.ingredients > 1 or task.prepares:
        assert is_ready(after).mean() > is_ready(before).mean() or (after.place != before.place).any()


@pytest.mark.parametrize("task", [*TASKS[:4], COOK, ALL], ids=lambda task: task.name)
def test_the_expert_wins_them_all(task: Task, bank: Bank) -> None:
    env, _, states = begin(task, bank)
    actions = solver.plan(env, states)

    def play(state: State, actions: jax.Array) -> jax.Array:
        _, steps = jax.lax.scan(lambda state, action: env.step(state, action), state, actions)
        return (steps.success & (jax.numpy.cumsum(steps.done) <= 1)).any()

    assert jax.jit(jax.vmap(play))(states, actions).all()


def test_a_fraction_of_nothing_changes_nothing(bank: Bank) -> None:
    _, before, after = begin(TASKS[3], bank, 0.0)
    assert jax.tree.all(jax.tree.map(lambda one, two: bool((one == two).all()), before, after))


@pytest.mark.parametrize("task", TASKS[:4], ids=lambda task: task.name)
def test_hints_are_what_charlie_says_to_the_good_queries(task: Task, bank: Bank) -> None:
    env = QTextWorld(task, bank)
    states = env.draw_many(jax.random.key(8), 8)
    actions = solver.plan(env, states)
    asking = {task.functions.index("where"), task.functions.index("how")}
    for index in range(8):
        state = jax.tree.map(lambda leaf, index=index: leaf[index], states)
        known = {env.vocabulary.decode(row) for row in hints(env, state)}
        asked = set()
        for action in actions[index]:
            if int(action[0]) in asking:
                asked.add(env.vocabulary.decode(env.step(state, action)[1].observation.response))
        assert len(known) == task.good_queries and known <= asked
