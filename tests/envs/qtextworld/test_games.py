"""Games that are drawn: what is in them, and that all of them can be won."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from afk.envs.core import TimeStep
from afk.envs.level_pool import Pool, advance, draw_pool, start_batch
from afk.envs.qtextworld.commands import write_command
from afk.envs.qtextworld.environment import QTextWorld
from afk.envs.qtextworld.levels.bank import Bank
from afk.envs.qtextworld.levels.tasks import Task, paper_tasks
from afk.envs.qtextworld.solver import act, plan
from afk.envs.qtextworld.world.state import State, can_be_cut
from afk.envs.qtextworld.world.things import COOKBOOK, FIVE_PIECES, KINDS, KNIFE, PIECES, THINGS

from .families import ALL, MANY, TASKS

GAMES = 300
BY_NAME = pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)


@lru_cache(maxsize=16)
def pool_of(task: Task, bank: Bank) -> tuple[QTextWorld, Pool[State]]:
    env = QTextWorld(task, bank)
    return env, jax.device_get(draw_pool(env, jax.random.key(7), GAMES))


def games(task: Task, bank: Bank) -> tuple[QTextWorld, State]:
    env, pool = pool_of(task, bank)
    return env, pool.states


@lru_cache(maxsize=16)
def played(task: Task, bank: Bank) -> tuple[np.ndarray, TimeStep]:
    """The expert's actions, (games, steps, 3), and what every step gave."""
    env, states = games(task, bank)

    def move(state: State, _: None) -> tuple[State, tuple[jax.Array, TimeStep]]:
        action = act(task, state)
        state, time_step = env.step(state, action)
        return state, (action, time_step)

    rollout = jax.jit(jax.vmap(lambda state: jax.lax.scan(move, state, length=task.longest_plan)[1]))
    return jax.device_get(rollout(states))


@BY_NAME
def test_the_expert_wins_every_game(task: Task, bank: Bank) -> None:
    _, steps = played(task, bank)
    assert steps.success.any(1).all()
    length = steps.success.argmax(1) + 1
    assert length.max() <= task.longest_plan
    last = np.arange(GAMES), length - 1
    assert (steps.reward[last] == 1).all()
    assert (steps.terminated.argmax(1) == length - 1).all()
    assert not steps.truncated[last].any()
    stats = steps.stats
    assert (stats.good[last] == task.good_queries).all()
    assert (stats.queries[last] == stats.wanted[last]).all()
    assert (stats.steps[last] == length).all()


def test_plans_are_what_the_expert_does(bank: Bank) -> None:
    task = paper_tasks()[1]
    env, states = games(task, bank)
    actions, steps = played(task, bank)
    planned = np.asarray(plan(env, states))
    assert planned.shape == (GAMES, task.max_steps, 3)
    is_under_way = np.cumsum(steps.terminated, 1) - steps.terminated == 0
    assert (planned[:, : task.longest_plan] == actions)[is_under_way].all()


def test_the_longest_plans_are_those_of_the_paper() -> None:
    assert [task.longest_plan for task in paper_tasks()] == [3, 6, 5, 10]
    assert [task.good_queries for task in paper_tasks()] == [1, 2, 2, 4]


@BY_NAME
def test_the_expert_uses_words_that_it_was_told(task: Task, bank: Bank) -> None:
    env, pool = pool_of(task, bank)
    missions = pool.observations.mission
    actions, steps = played(task, bank)
    for game in range(40):
        known = set(env.vocabulary.decode(missions[game]).replace(",", "").split())
        for number in range(steps.success[game].argmax() + 1):
            command = write_command(task, actions[game, number]).removeprefix("ask charlie ")
            verb, *name = command.split()
            assert known.issuperset(name), (command, known)
            if verb in ("slice", "dice", "chop"):
                assert {"slice": "sliced", "dice": "diced", "chop": "chopped"}[verb] in known
            answer = env.vocabulary.decode(steps.observation.response[game, number])
            known |= set(answer.replace(".", "").split())


@BY_NAME
def test_what_is_in_a_game(task: Task, bank: Bank) -> None:
    _, states = games(task, bank)
    game = states.game
    used = game.things >= 0
    assert ((states.place >= 0) == used).all()
    assert (game.is_ingredient.sum(1) == task.ingredients).all()
    assert (game.things == COOKBOOK).any(1).all()
    has_knife = (game.things == KNIFE).any(1)
    assert has_knife.all() if task.cut else 0.4 < has_knife.mean() < 0.6
    knife_held = ((game.things == KNIFE) & (states.place == task.pieces + 1)).any(1)
    assert knife_held.all() if task.cut and task.knife_held else not knife_held.any()
    for number in range(GAMES):
        things = game.things[number][used[number]]
        assert (np.diff(things) > 0).all()
        assert set(game.pieces[number]) >= set(range(len(FIVE_PIECES)))
        assert len(set(game.pieces[number])) == task.pieces
        kinds = [KINDS.index(PIECES[piece].kind) for piece in game.pieces[number]]
        assert kinds == sorted(kinds)


@BY_NAME
def test_recipes_suit_their_foods(task: Task, bank: Bank) -> None:
    _, states = games(task, bank)
    game, cuttable = states.game, np.asarray(can_be_cut(states))
    for number, slot in zip(*np.nonzero(game.is_ingredient), strict=True):
        food = THINGS[game.things[number, slot]]
        cut, cooking = int(game.cut[number, slot]), int(game.cooking[number, slot])
        assert food.is_food
        assert food.cuttable or not (cut or task.cut)
        assert food.cookable or not (cooking or task.cook)
        assert cooking or not (food.must_be_cooked or task.cook)
        assert cut or not task.cut
        assert states.cut[number, slot] == (0 if task.cut else cut)
        assert states.cooking[number, slot] == (0 if task.cook else cooking)
        assert cuttable[number, slot] == (food.cuttable and (task.cut or not cut))
    others = ~game.is_ingredient
    assert not (states.cut[others].any() or states.cooking[others].any())


@pytest.mark.parametrize("task", paper_tasks(), ids=lambda task: task.name)
def test_distractors_share_a_word_and_a_place_with_an_ingredient(task: Task, bank: Bank) -> None:
    _, states = games(task, bank)
    game, found = states.game, 0
    for number in range(GAMES):
        foods = [
            (THINGS[thing].words, place, is_ingredient)
            for thing, place, is_ingredient in zip(
                game.things[number], states.place[number], game.is_ingredient[number], strict=True
            )
            if thing >= 0 and THINGS[thing].is_food
        ]
        for words, place, is_ingredient in foods:
            near = [
                (adjective, noun)
                for (adjective, noun), there, is_food in foods
                if is_food and there == place and "none" not in (adjective, words[0])
            ]
            is_alike = any((adjective == words[0]) | (noun == words[1]) for adjective, noun in near)
            assert is_ingredient or is_alike
            found += not is_ingredient
    assert found > GAMES / 2


def test_extra_distractors_are_there(bank: Bank) -> None:
    for task in (ALL, MANY):
        _, states = games(task, bank)
        foods = (states.game.things >= 0).sum(1) - 1 - (states.game.things == KNIFE).any(1)
        assert foods.min() >= task.ingredients + task.distractors


def test_holders_are_uniform(bank: Bank) -> None:
    for task in paper_tasks():
        _, states = games(task, bank)
        counts = np.bincount(states.place[states.game.is_ingredient], minlength=6)
        assert len(counts) == 6
        assert stats.chisquare(counts).pvalue > 1e-4


def test_games_are_determined_by_their_key(bank: Bank) -> None:
    env = QTextWorld(paper_tasks()[3], bank)
    same = QTextWorld(paper_tasks()[3], bank)
    assert env == same
    assert hash(env) == hash(same)
    assert env != QTextWorld(paper_tasks()[2], bank)
    pools = [draw_pool(each, jax.random.key(key), 5) for each, key in ((env, 1), (same, 1), (env, 2))]
    first, again, other = ([np.asarray(leaf) for leaf in jax.tree.leaves(pool)] for pool in pools)
    assert all(np.array_equal(*pair) for pair in zip(first, again, strict=True))
    assert not all(np.array_equal(*pair) for pair in zip(first, other, strict=True))


def test_batches_never_stop(bank: Bank) -> None:
    env = QTextWorld(paper_tasks()[0], bank)
    pool = draw_pool(env, jax.random.key(0), 12)
    batch = start_batch(pool, 4)
    step = jax.jit(lambda batch, actions: advance(env, pool, batch, actions))
    ends = 0
    for number in range(45):
        actions = jax.random.randint(jax.random.key(number), (4, 3), 0, jnp.array(env.action_sizes))
        batch, time_step = step(batch, actions)
        ends += int(time_step.done.sum())
        assert (np.asarray(batch.states.step)[np.asarray(time_step.done)] == 0).all()
    assert ends >= 8


def test_observations_are_long_enough(bank: Bank) -> None:
    for task in TASKS:
        env, pool = pool_of(task, bank)
        text = pool.observations.text
        assert text.dtype == np.uint16
        assert text.shape == (GAMES, task.text_length)
        assert not text[:, -1].any()
        assert env.vocabulary.decode(text[0]).endswith(".")
