"""Collecting experience and learning from it: what is recorded, what it is worth, and that it teaches."""

from dataclasses import replace
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from afk.agents.base import Size
from afk.agents.grid_agent import ASK, GridAgent, joint_log_probability
from afk.agents.notebook import Notebook, NoteTaking, write
from afk.agents.reading import Reading, read_focus
from afk.agents.variants import VARIANTS
from afk.envs.level_pool import draw_pool
from afk.envs.qbabyai.world.words import RESPONSE_LENGTH, VOCABULARY
from afk.envs.registry import make
from afk.learning.advantages import advantages, bonuses
from afk.learning.ppo import Learner, Settings, init, update
from afk.learning.rollout import (
    Actors,
    Experience,
    Play,
    TrainingLevels,
    agent_inputs,
    collect,
    decide,
    open_levels,
    start_actors,
)
from afk.learning.schedules import Schedules

from ..agents.notebook_reference import ReferenceNotebook, clean

ENV = make("qbabyai/danger")
RULES = NoteTaking(VOCABULARY, dropped=("is", "in"), unknown=("i dont know",))
PLAY = Play(ENV, VARIANTS["afk"], RULES)
SIZE = Size(width=8, head=8, view_layers=1, film_blocks=1, notes=4, distinct_notes=0)
SETTINGS = Settings(environments=8, rollout_steps=60, bptt=20, minibatches=1, epochs=2, discount=0.9)
SCHEDULES = Schedules(*map(jnp.float32, (0.1, 1e-2, 0.01, 0.01, 1)))
ENVIRONMENTS, STEPS, LEVELS = SETTINGS.environments, 50, 32

# One program for every test that learns; it is run often enough to be compiled with some care.
learn = jax.jit(partial(update, PLAY, SETTINGS), compiler_options={"xla_backend_optimization_level": 1})
play_on = eqx.filter_jit(partial(collect, PLAY, steps=STEPS))
step = jax.jit(ENV.step)
take_note = jax.jit(partial(write, rules=RULES))


@pytest.fixture(scope="module")
def training_levels() -> TrainingLevels:
    return open_levels(PLAY, draw_pool(ENV, jax.random.key(0), LEVELS))


@pytest.fixture(scope="module")
def agent() -> GridAgent:
    return build()


def build() -> GridAgent:
    return GridAgent(PLAY.variant, SIZE, VOCABULARY, ENV.action_sizes[1], key=jax.random.key(1))


def start(training_levels: TrainingLevels, seed: int = 2) -> Learner:
    return init(PLAY, SETTINGS, build(), training_levels, jax.random.key(seed))


def at(tree: Any, *index: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[index], tree)


def test_the_first_ratio_is_one_whatever_starts_and_ends_on_the_way(training_levels: TrainingLevels) -> None:
    learner = start(training_levels)
    for number in range(3):
        learner, ended, losses = learn(learner, training_levels, SCHEDULES)
        assert ended.count >= ENVIRONMENTS
        assert losses.ratio_error < 1e-5
        assert learner.updates == number + 1


def test_the_same_key_gives_the_same_parameters(training_levels: TrainingLevels) -> None:
    def parameters(seed: int) -> list[np.ndarray]:
        learner = start(training_levels, seed)
        for _ in range(2):
            learner, _, _ = learn(learner, training_levels, SCHEDULES)
        return [np.asarray(leaf) for leaf in jax.tree.leaves(learner.agent)]

    first, again, other = parameters(2), parameters(2), parameters(3)
    assert all(np.array_equal(one, two) for one, two in zip(first, again, strict=True))
    assert not any(np.array_equal(one, two) for one, two in zip(first, other, strict=True))


def advantage_by_definition(
    rewards: list[float], values: list[float], ends: list[tuple[bool, float] | None], last_value: float
) -> list[float]:
    """The sum of (gamma lambda)^k delta_(t+k) to the end of the episode, for one environment.

    `ends` says of every step whether the episode went on (nothing), or was terminated, or was truncated with
    some value.
    """
    discount, gae_lambda = SETTINGS.discount, SETTINGS.gae_lambda
    deltas = []
    for now, end in enumerate(ends):
        if end is None:
            following = values[now + 1] if now + 1 < len(values) else last_value
        else:
            terminated, final_value = end
            following = 0.0 if terminated else final_value
        deltas.append(rewards[now] + discount * following - values[now])
    estimates = []
    for now in range(len(deltas)):
        until = next((later for later in range(now, len(ends)) if ends[later] is not None), len(ends) - 1)
        estimates.append(
            sum((discount * gae_lambda) ** (later - now) * deltas[later] for later in range(now, until + 1))
        )
    return estimates


@pytest.mark.parametrize("bootstraps", [True, False])
def test_advantages_are_as_defined(bootstraps: bool) -> None:
    generator, shape = np.random.default_rng(4), (40, 5)
    value, rewards, final_value = generator.normal(size=(3, *shape)).astype(np.float32)
    ending = generator.integers(0, 12, shape)
    terminated, truncated = ending == 0, ending == 1
    terminated[-1], truncated[-1] = [True, False, False, False, False], [False, True, False, False, False]
    last_value = generator.normal(size=shape[1]).astype(np.float32)
    blank = jnp.zeros(shape)
    experience = Experience(
        seen=blank,
        reading=Reading(blank, blank),
        starts=blank,
        action=blank,
        log_probability=blank,
        value=jnp.asarray(value),
        reward=blank,
        grew=blank,
        terminated=jnp.asarray(terminated),
        truncated=jnp.asarray(truncated),
        final_value=jnp.asarray(np.where(truncated, final_value, 0)),
    )
    settings = replace(SETTINGS, bootstrap_time_limit=bootstraps)
    estimates = advantages(experience, jnp.asarray(rewards), jnp.asarray(last_value), settings)
    for index in range(shape[1]):
        ends = [
            (bool(over) or not bootstraps, float(final)) if over or cut else None
            for over, cut, final in zip(
                terminated[:, index], truncated[:, index], final_value[:, index], strict=True
            )
        ]
        expected = advantage_by_definition(
            rewards[:, index].tolist(), value[:, index].tolist(), ends, float(last_value[index])
        )
        np.testing.assert_allclose(estimates[:, index], expected, rtol=1e-4, atol=1e-4)


def nearly_out_of_time(agent: GridAgent, training_levels: TrainingLevels) -> Actors:
    """Episodes that have two steps left or a few more, with a note and a state of the LSTM each."""
    actors = start_actors(agent, training_levels, ENVIRONMENTS)
    answer = jnp.asarray(VOCABULARY.encode("danger zone is blue", RESPONSE_LENGTH))
    notebooks, grew = jax.vmap(lambda notebook: write(notebook, answer, rules=RULES))(actors.notebooks)
    assert grew.all()
    now = ENV.max_steps - 2 - jnp.arange(ENVIRONMENTS)
    batch = eqx.tree_at(lambda each: each.states.step, actors.batch, now)
    memory = jax.random.normal(jax.random.key(5), actors.memory.shape)
    return Actors(batch, notebooks, memory, jnp.zeros_like(actors.starts))


def test_the_value_where_time_ran_out_is_that_of_the_last_observation(
    agent: GridAgent, training_levels: TrainingLevels
) -> None:
    actors = nearly_out_of_time(agent, training_levels)
    experience = jax.device_get(play_on(agent, training_levels, actors, jax.random.key(6))[1])
    assert experience.terminated.any() and not experience.final_value[~experience.truncated].any()

    @jax.jit
    def look(memory: jax.Array, image: jax.Array, notebook: Notebook) -> tuple[jax.Array, jax.Array]:
        reading = read_focus(notebook, notes=SIZE.notes, words=SIZE.note_words)
        image, reading = jax.tree.map(lambda leaf: leaf[None, None], (image, reading))
        memory, decision = agent(memory[None], image, reading, jnp.zeros((1, 1), bool))
        return memory[0], decision.value[0, 0]

    ran_out = 0
    for index in range(ENVIRONMENTS):
        state, notebook, memory = at((actors.batch.states, actors.notebooks, actors.memory), index)
        image, done, now = actors.batch.observations.image[index], False, 0
        while not done:
            memory, value = look(memory, image, notebook)
            assert float(value) == pytest.approx(float(experience.value[now, index]), abs=1e-5)
            state, time_step = step(state, experience.action[now, index])
            notebook, _ = take_note(notebook, time_step.observation.response)
            image, done, now = time_step.observation.image, bool(time_step.done), now + 1
        if experience.truncated[now - 1, index]:
            ran_out += 1
            _, value = look(memory, image, notebook)
            assert float(value) == pytest.approx(float(experience.final_value[now - 1, index]), abs=1e-5)
    assert ran_out >= 4


def test_experience_is_what_happens_when_its_actions_are_played_by_hand(
    agent: GridAgent, training_levels: TrainingLevels
) -> None:
    actors = start_actors(agent, training_levels, ENVIRONMENTS)
    _, experience, ended = play_on(agent, training_levels, actors, jax.random.key(7))
    experience, levels = jax.device_get(
        (experience, (training_levels.pool.states, training_levels.pool.observations))
    )
    similarity, grown, episodes = RULES.similarity, 0, 0
    for index in range(ENVIRONMENTS):
        cursor, now = index, 0
        while now < STEPS:
            state, seen = at(levels, cursor)
            instruction = VOCABULARY.decode(seen.mission)
            notebook = ReferenceNotebook(instruction, similarity.n, similarity.alpha, RULES.capacity)
            starts, done = True, False
            while now < STEPS and not done:
                then = at(experience, now, index)
                assert then.starts == starts
                np.testing.assert_array_equal(then.seen, seen.seen)
                notes = {tuple(VOCABULARY.decode(row).split()) for row in then.reading.notes if row.any()}
                assert tuple(VOCABULARY.decode(then.reading.instruction).split()) == clean(instruction)
                assert notes == notebook.sets[0] - {clean(instruction)}
                state, time_step = step(state, then.action)
                seen = time_step.observation
                assert then.grew == notebook.write(VOCABULARY.decode(seen.response))
                for name in ("reward", "terminated", "truncated"):
                    assert getattr(then, name) == getattr(time_step, name)
                starts, done, now = False, bool(time_step.done), now + 1
                grown += then.grew
            cursor, episodes = (cursor + ENVIRONMENTS) % LEVELS, episodes + 1
    assert grown >= 4 and episodes >= ENVIRONMENTS + 4
    assert ended.count == (experience.terminated | experience.truncated).sum()


@pytest.mark.parametrize(
    "options",
    [
        {"rollout_steps": 30},
        {"rollout_steps": 0},
        {"bptt": 0},
        {"bptt": 80},
        {"environments": 0},
        {"minibatches": 0},
        {"minibatches": 3},
        {"minibatches": -2},
        {"epochs": 0},
    ],
    ids=str,
)
def test_impossible_settings_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError) as refusal:
        Settings(**options)
    assert "\n" not in str(refusal.value)


def test_a_potential_based_bonus_is_taken_back_in_the_end(
    agent: GridAgent, training_levels: TrainingLevels
) -> None:
    actors, discounts, whole = (
        start_actors(agent, training_levels, ENVIRONMENTS),
        SETTINGS.discount ** np.arange(STEPS),
        0,
    )
    for seed in range(6):
        after, experience, _ = play_on(agent, training_levels, actors, jax.random.key(seed))
        last = agent_inputs(PLAY, agent, after).reading
        paid = np.asarray(bonuses(experience, last, SETTINGS))
        assert (paid == np.asarray(experience.grew)).all()
        shaped = np.asarray(bonuses(experience, last, replace(SETTINGS, potential_based_bonus=True)))
        assert (shaped[(paid == 1) & ~np.asarray(experience.terminated)] > 0.5).all()
        for index, terminated in enumerate(np.asarray(experience.terminated).T):
            ends = np.flatnonzero(terminated | np.asarray(experience.truncated)[:, index])
            for first, end in zip([0, *(ends[:-1] + 1)], ends, strict=True):
                total = (shaped[first : end + 1, index] * discounts[: end + 1 - first]).sum()
                notes = paid[first : end + 1, index].sum()  # an answer of this task is one note
                owed = 0 if terminated[end] else notes * SETTINGS.discount ** (end + 1 - first)
                assert total == pytest.approx(owed, abs=1e-5)
                whole += int(terminated[end] and notes > 0)
    assert whole >= 2


@pytest.mark.slow
def test_an_agent_that_is_paid_for_news_learns_to_ask_for_it(training_levels: TrainingLevels) -> None:
    question = jnp.array([ASK, 0, *VOCABULARY.query("what danger zone")])
    begins = start(training_levels)

    def chance(learner: Learner) -> float:
        """How likely the question is right at the start of an episode."""
        _, decision = decide(learner.agent, agent_inputs(PLAY, learner.agent, begins.actors))
        return float(jnp.exp(joint_log_probability(decision, question)).mean())

    learner, episodes = begins, []
    for _ in range(20):
        learner, ended, _ = learn(learner, training_levels, SCHEDULES._replace(bonus=jnp.float32(1)))
        episodes.append(jax.device_get(ended))
    first, last = (jax.tree.map(lambda *sums: sum(sums), *some) for some in (episodes[:5], episodes[-5:]))
    assert last.recall / last.count > first.recall / first.count + 0.1
    assert chance(learner) > 1.5 * chance(begins)
