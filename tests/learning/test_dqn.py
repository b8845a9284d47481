"""Deep Q-learning: what it aims at, when it learns, and that it does."""

from dataclasses import replace
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from afk.agents.base import Size
from afk.agents.note_rules import note_taking
from afk.agents.notebook import Similarity
from afk.agents.reading import Reading
from afk.agents.text_reader import TextReader, value_of
from afk.agents.variants import VARIANTS
from afk.envs.level_pool import draw_pool
from afk.learning.dqn import Learner, Settings, init, loss, update
from afk.learning.replay import REST, Replay, Step, Transitions
from afk.learning.rollout import Play, TrainingLevels, open_levels
from afk.learning.schedules import Schedules

from ..small_games import small_game

GAME = small_game(max_steps=5)
PLAY = Play(GAME, VARIANTS["afk"], note_taking(GAME, Similarity(1), clauses=1))
SIZE = Size(
    width=8, head=8, view_layers=1, kernel=3, instruction_words=28, notes=4, note_words=12, distinct_notes=0
)
ENVIRONMENTS = 4
SETTINGS = Settings(
    environments=ENVIRONMENTS,
    rollout_steps=2,
    batch=8,
    samples_per_step=2,
    capacity=2000,
    warm_up=4,
    target_every=6,
    discount=0.5,
)
LEVELS = 16
SCHEDULES = Schedules(*map(jnp.float32, (0.1, 1e-2, 0, 0, 1)))

learn = jax.jit(partial(update, PLAY, SETTINGS))  # one program for every test that learns


@pytest.fixture(scope="module")
def training_levels() -> TrainingLevels:
    return open_levels(PLAY, draw_pool(GAME, jax.random.key(0), LEVELS))


def build(seed: int = 1) -> TextReader:
    return TextReader(PLAY.variant, SIZE, GAME.vocabulary, sigma=SETTINGS.noise, key=jax.random.key(seed))


def start(training_levels: TrainingLevels, seed: int = 2) -> Learner:
    return init(PLAY, SETTINGS, build(), training_levels, jax.random.key(seed))


def at(tree: Any, index: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[index], tree)


def same(one: Any, two: Any) -> bool:
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True)
    return all(np.array_equal(left, right) for left, right in pairs)


@pytest.mark.slow
def test_learning_starts_after_the_warm_up_and_the_target_follows_now_and_then(
    training_levels: TrainingLevels,
) -> None:
    learner, renewals = start(training_levels), 0
    for number in range(16):
        before = learner
        learner, ended, losses = learn(learner, training_levels, SCHEDULES)
        assert learner.updates == number + 1 and learner.episodes == before.episodes + ended.count
        assert np.isfinite([*losses]).all()
        is_warm = learner.episodes >= SETTINGS.warm_up
        assert same(learner.agent, before.agent) != is_warm
        assert same(learner.optimiser, before.optimiser) != is_warm
        passed = learner.episodes // SETTINGS.target_every > before.episodes // SETTINGS.target_every
        assert same(learner.target, learner.agent if passed else before.target)
        renewals += int(passed)
    assert renewals >= 2


def test_the_same_key_gives_the_same_learner(training_levels: TrainingLevels) -> None:
    def after(seed: int) -> Learner:
        learner = start(training_levels, seed)
        for _ in range(5):
            learner, _, _ = learn(learner, training_levels, SCHEDULES)
        return replace(learner, key=jax.random.key_data(learner.key))

    assert same(after(2), after(2))
    assert not same(after(2).agent, after(3).agent)


def test_what_is_kept_is_what_happens_when_its_actions_are_played_by_hand(
    training_levels: TrainingLevels,
) -> None:
    learner = start(training_levels)
    for _ in range(20):
        learner, _, _ = learn(learner, training_levels, SCHEDULES)
    replay, levels = jax.device_get(
        (learner.replay, (training_levels.pool.states, training_levels.pool.observations.text))
    )
    step, outcomes = jax.jit(GAME.step), []
    for ring, held in enumerate(replay.held):
        row, end = int(replay.firsts[ring]), int(replay.firsts[ring] + held)
        while row < end:
            length = int(replay.left[row])
            texts = [
                text for text in range(LEVELS) if np.array_equal(levels[1][text], replay.steps.seen[row])
            ]
            assert texts
            states = [at(levels[0], each) for each in texts]
            # The first episodes are as many steps old as their number.
            aged = [replace(state, step=jnp.int32(age)) for state in states for age in range(ENVIRONMENTS)]
            outcomes.append([replayed(replay, row, length, state, step) for state in aged])
            row += length + (not replay.terminated[row])
    assert all(any(each) for each in outcomes) and len(outcomes) > 20


def replayed(replay: Replay, row: int, length: int, state: Any, step: Any) -> bool:
    """Whether the episode that begins in a row is what its actions lead to from a state."""
    given: Any = None
    for now in range(row, row + length):
        state, given = step(state, jnp.asarray(replay.steps.action[now], jnp.int32))
        is_last = now == row + length - 1
        if bool(given.done) != is_last or given.reward != replay.steps.reward[now]:
            return False
        follows = np.array_equal(given.observation.text, replay.steps.seen[now + 1])
        if not (follows or given.terminated):
            return False
    is_won = row < replay.firsts[REST]
    return bool(given.terminated) == replay.terminated[row] and bool(given.success) == is_won


def batch_of(training_levels: TrainingLevels, discount: list[float]) -> Transitions:
    count = len(discount)
    seen = training_levels.pool.observations.text
    instruction = jnp.asarray(np.stack([GAME.vocabulary.encode("collect red apple", 28)] * count), jnp.uint16)
    notes = jnp.zeros((count, SIZE.notes, SIZE.note_words), jnp.uint16)
    action = jnp.tile(jnp.array([3, 1, 2], jnp.uint8), (count, 1))
    step = Step(seen[:count], Reading(instruction, notes), action, jnp.zeros(count), jnp.zeros(count, bool))
    return Transitions(
        step=step,
        gain=jnp.arange(count) / 10,
        seen=seen[count : 2 * count],
        reading=Reading(instruction, notes),
        discount=jnp.asarray(discount),
        exists=jnp.ones(count, bool),
    )


def test_the_loss_is_that_of_the_return_and_the_best_value_after_it(training_levels: TrainingLevels) -> None:
    settings = replace(SETTINGS, noise=0.0)
    agent, target = (
        TextReader(PLAY.variant, SIZE, GAME.vocabulary, sigma=0.0, key=jax.random.key(seed))
        for seed in (1, 2)
    )
    discounts = [0.9, 0.0, 0.81, 0.729]
    batch = batch_of(training_levels, discounts)
    of_batch = eqx.filter_jit(partial(loss, settings=settings, key=jax.random.key(0), mostly_short=False))
    error, losses = of_batch(agent, target, batch, count=batch.exists.sum())
    think = eqx.filter_jit(partial(TextReader.think, mostly_short=False))
    now = think(agent, batch.step.seen, batch.step.reading)
    value = value_of(agent.heads(now.h_x, None), batch.step.action)
    following = think(target, batch.seen, batch.reading).value  # the best one, without noise
    expected = []
    for index, discount in enumerate(discounts):
        wanted = index / 10 + discount * float(following[index])
        difference = abs(wanted - float(value[index]))
        expected.append(difference**2 / 2 if difference <= 1 else difference - 0.5)
    assert float(error) == pytest.approx(np.mean(expected), rel=1e-4)
    assert float(losses.value) == pytest.approx(float(value.mean()), rel=1e-4)
    half = eqx.tree_at(lambda each: each.exists, batch, jnp.array([True, True, False, False]))
    error, _ = of_batch(agent, target, half, count=half.exists.sum())
    assert float(error) == pytest.approx(np.mean(expected[:2]), rel=1e-4)


def test_more_environments_learn_as_much_from_each_step() -> None:
    paper = Settings()
    assert (paper.steps_per_update, paper.batch, paper.gradients) == (40, 64, 1)
    for environments, batch, gradients in ((640, 64, 32), (640, 2048, 1), (640, 512, 4), (20, 32, 2)):
        settings = Settings(environments=environments, batch=batch)
        assert settings.gradients == gradients
        assert settings.gradients * settings.batch / settings.steps_per_update == paper.samples_per_step


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"environments": 21}, "67.2 samples an update: that is no multiple of the batch \\(64\\)"),
        ({"batch": 128}, "no multiple of the batch"),
        ({"samples_per_step": 0.0}, "no multiple of the batch"),
        ({"multi_step": 0}, "multi_step is at least 1"),
        ({"noise": -1.0}, "noise is a number from 0 on"),
        ({"warm_up": -1}, "warm_up is at least 0"),
    ],
    ids=str,
)
def test_impossible_settings_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Settings(**options)


def test_the_first_episodes_end_one_after_the_other(training_levels: TrainingLevels) -> None:
    learner, ended = start(training_levels), []
    while sum(ended) < ENVIRONMENTS:
        learner, episodes, _ = learn(learner, training_levels, SCHEDULES)
        ended.append(int(episodes.count))
    assert max(ended) <= SETTINGS.rollout_steps, ended


@pytest.mark.slow
def test_an_agent_that_is_paid_for_news_asks_for_it_and_another_stops_asking(
    training_levels: TrainingLevels,
) -> None:
    recalls = []
    for bonus in (0.0, 1.0):
        learner, late = start(training_levels), []
        for update_number in range(60):
            learner, ended, _ = learn(learner, training_levels, SCHEDULES._replace(bonus=jnp.float32(bonus)))
            late += [ended] * (update_number >= 30)
        recalls.append(sum(float(each.recall) for each in late) / sum(float(each.count) for each in late))
    assert recalls[0] < 0.1 < 0.4 < recalls[1], recalls
