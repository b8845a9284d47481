"""Sources with a price, a budget, silence and lies: what is said, what is counted, what stays as it is."""

import re
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from afk.envs.asking import Asking
from afk.envs.core import Environment, TimeStep
from afk.envs.qbabyai.text import describe_action, read_action
from afk.envs.qbabyai.world import cells
from afk.envs.qbabyai.world.asking import places_of
from afk.envs.qbabyai.world.rumours import falsify, things_of
from afk.envs.qbabyai.world.words import SOURCE_NAMES, VOCABULARY, WHERE
from afk.envs.registry import make
from afk.knowledge.traits import DealingStats, SourceSpec, draw_dealings, read_specs
from afk.language import Query
from afk.training.config import ADDED_LATER, Config, identity_of
from afk.training.presets import preset

LEVELS = 400
source: Any = SourceSpec  # a number stands for a range of one
QUESTION = read_action("what danger zone")


@pytest.fixture(scope="module")
def danger() -> Any:
    """First states of levels of Danger."""
    return make("S").with_sources([source()]).draw_many(jax.random.key(0), LEVELS)


def begin(states: Any, *specs: SourceSpec) -> tuple[Environment[Any], Any]:
    """The levels with other sources, drawn from their own keys."""
    env = make("S").with_sources(specs)
    keys = jax.vmap(jax.random.wrap_key_data)(states.dealings.key)
    draw = partial(draw_dealings, specs, wanted=8)
    dealings = jax.vmap(lambda key, facts: draw(key, facts=places_of(facts), rumours=things_of(facts)))(
        keys, states.facts
    )
    return env, replace(states, dealings=dealings)


def play(env: Environment[Any], states: Any, *actions: np.ndarray) -> list[TimeStep]:
    """Carry out actions in every level."""
    rows = jnp.asarray(np.stack(actions))

    @jax.jit
    def run(states: Any) -> TimeStep:
        return jax.vmap(lambda state: jax.lax.scan(env.step, state, rows)[1])(states)

    steps = run(states)
    return [jax.device_get(jax.tree.map(lambda leaf, i=i: leaf[:, i], steps)) for i in range(len(actions))]


def terms(step: TimeStep) -> np.ndarray:
    return np.asarray(step.observation.terms)


def cost(step: TimeStep) -> np.ndarray:
    return np.asarray(step.cost)


def stats(step: TimeStep) -> DealingStats:
    assert step.dealings is not None
    return step.dealings


def said(step: TimeStep) -> list[str]:
    return [VOCABULARY.decode(row) for row in step.observation.response]


def truth(states: Any) -> list[str]:
    return ["danger zone is " + ("blue" if danger == 2 else "yellow") for danger in states.level.danger]


def test_a_source_without_traits_is_the_oracle(danger: Any) -> None:
    env, states = begin(danger, source())
    plain = make("S")
    assert env.action_sizes == plain.action_sizes
    (step,) = play(env, states, QUESTION)
    assert said(step) == truth(danger)
    assert (step.stats.good == 1).all() and (cost(step) == 0).all()
    (own,) = play(plain, replace(states, dealings=None), QUESTION)
    assert own.dealings is None is own.cost and said(own) == truth(danger)


def test_the_price_is_counted_and_no_part_of_the_reward(danger: Any) -> None:
    env, states = begin(danger, source(price=(0.1, 0.3)), source(price=0.5, shows_price=False))
    other = QUESTION.copy()
    other[0] = 2
    steps = play(env, states, QUESTION, other, read_action("left"))
    first = cost(steps[0])
    assert (first >= 0.1).all() and (first <= 0.3).all() and first.std() > 0.03, "drawn with the level"
    np.testing.assert_allclose(cost(steps[1]), 0.5)
    assert (cost(steps[2]) == 0).all() and (steps[0].reward == 0).all()
    dealings = stats(steps[2])
    np.testing.assert_allclose(dealings.paid, first + 0.5, rtol=1e-6)
    np.testing.assert_allclose(terms(steps[0])[:, 0, 0], first, rtol=1e-6)
    assert (terms(steps[0])[:, 1, 0] == 0).all(), "a price that is not shown"
    np.testing.assert_allclose(terms(steps[1])[:, 1, 1], 0.5)


def test_a_spent_budget_is_a_refusal_and_free(danger: Any) -> None:
    env, states = begin(danger, source(price=0.2, budget=2))
    steps = play(env, states, *[QUESTION] * 3)
    assert said(steps[1]) == truth(danger) and set(said(steps[2])) == {"i dont"}
    dealings = stats(steps[2])
    assert (dealings.refusals == 1).all() and (cost(steps[2]) == 0).all()
    assert (steps[2].stats.queries == 3).all(), "the step is spent"


@pytest.mark.parametrize("is_persistent", [True, False])
def test_lies_are_as_frequent_as_they_are_said_to_be(danger: Any, is_persistent: bool) -> None:
    env, states = begin(danger, source(lies=0.3, is_persistent=is_persistent))
    steps = play(env, states, QUESTION, QUESTION, read_action("left"))
    true = np.array(truth(danger))
    lied, again = (np.array(said(step)) != true for step in steps[:2])
    assert abs(lied.mean() - 0.3) < 0.08
    assert set(said(steps[0])) == {"danger zone is blue", "danger zone is yellow"}, "lies are plausible"
    same = (lied == again).mean()
    assert same == 1 if is_persistent else abs(same - (0.3**2 + 0.7**2)) < 0.08
    dealings = stats(steps[2])
    assert np.array_equal(dealings.lies, lied.astype(int) + again)
    assert np.array_equal(steps[2].stats.good, ~(lied & again)), "only the truth reveals a wanted fact"
    assert np.array_equal(dealings.acted_on, lied & again), "who heard the truth, too, is not misled"
    assert (dealings.first_question == 1).all()


def test_silence_costs_a_step(danger: Any) -> None:
    env, states = begin(danger, source(price=0.2, silence=0.5, is_persistent=False))
    (step,) = play(env, states, QUESTION)
    silent = np.array(said(step)) == "i dont"
    assert abs(silent.mean() - 0.5) < 0.1
    np.testing.assert_allclose(cost(step), np.where(silent, 0, 0.2), rtol=1e-6)
    assert np.array_equal(step.stats.good, ~silent)


def test_several_sources_sign_what_they_say(danger: Any) -> None:
    env, states = begin(danger, source(lies=1.0), source(), source(silence=1.0))
    assert env.action_sizes[0] == 4
    actions = [read_action(f"ask {name} what danger zone", sources=3) for name in SOURCE_NAMES[:3]]
    assert [describe_action(action, sources=3) for action in actions][1] == 'ask tom "what danger zone"'
    steps = play(env, states, *actions)
    false = [f"danger zone is {'yellow' if 'blue' in each else 'blue'}" for each in truth(danger)]
    assert said(steps[0]) == [f"{each} from allen" for each in false]
    assert said(steps[1]) == [f"{each} from tom" for each in truth(danger)]
    assert set(said(steps[2])) == {"i dont from pink"}


def test_a_stale_source_tells_what_was_true_at_the_start() -> None:
    env = make("H").with_sources([source(), source(is_stale=True)])
    state = jax.tree.map(lambda leaf: leaf[0], env.draw_many(jax.random.key(3), 1))
    step = jax.jit(env.step)
    code = next(int(each) for each in np.asarray(state.grid).ravel() if each >> 3 == cells.KEY)
    y, x = np.argwhere(np.asarray(state.grid) == code)[0]
    state = replace(state, position=jnp.array([x, y - 1], jnp.int32), direction=jnp.int32(1))
    state, _ = step(state, read_action("pick up"))
    colour = cells.COLOURS[code & 7]
    answers = {}
    for name in SOURCE_NAMES[:2]:
        _, time_step = step(state, read_action(f"ask {name} where {colour} key", sources=2))
        answers[name] = VOCABULARY.decode(time_step.observation.response), int(time_step.dealings.lies)
    assert answers["allen"] == ("i dont know from allen", 0)
    assert answers["tom"] == (f"{colour} key in room0 from tom", 1), "it is in the agent's hands by now"


def test_a_stale_database_tells_what_was_written_down_at_the_start() -> None:
    stale = Asking("sql", (source(is_stale=True),))
    env = stale.put_into(make("D"))
    state = jax.tree.map(lambda leaf: leaf[0], env.draw_many(jax.random.key(0), 1))
    plain = jax.tree.map(lambda leaf: leaf[0], make("D").draw_many(jax.random.key(0), 1))
    for key in np.asarray(plain.level.good_queries):
        question = np.array([1, 0, *key], np.int32) * (key >= 0).all()
        (_, ours), (_, theirs) = env.step(state, question), make("D").step(plain, question)
        assert VOCABULARY.decode(ours.observation.response) == VOCABULARY.decode(theirs.observation.response)


def test_a_false_answer_is_of_the_same_kind_and_about_the_level() -> None:
    env = make("CSDH").with_sources([source(lies=1.0)])
    states = env.draw_many(jax.random.key(0), 4)
    choices = jnp.arange(64, dtype=jnp.uint32) << 10

    @jax.jit
    @jax.vmap
    def lie(state: Any) -> Any:
        return jax.vmap(lambda answer: jax.vmap(partial(falsify, state, answer))(choices))(
            state.facts.answers
        )

    kinds, others = re.compile(r"room\d|jack|mary|east|west|(\w+) (ball|box|key|zone)|blue|yellow"), set()
    for level, (false, is_false) in enumerate(zip(*jax.device_get(lie(states)), strict=True)):
        keys, answers = (np.asarray(leaf[level]) for leaf in (states.facts.keys, states.facts.answers))
        there = {VOCABULARY.phrase(Query(*key)).removeprefix("where ") for key in keys if key[0] == WHERE}
        for row in np.flatnonzero(keys[:, 0] >= 0):
            truth = VOCABULARY.decode(answers[row])
            for said in {VOCABULARY.decode(each) for each in false[row][is_false[row]]}:
                assert said != truth and kinds.sub("", said) == kinds.sub("", truth)
                others.add((truth, said))
                if found := re.search(r"toy is (\w+ \w+)", said):
                    assert found[1] in there, "a toy that the level holds"
            assert (false[row][~is_false[row]] == answers[row]).all(), "where there is none it is the truth"
    assert len(others) > 50


def test_nothing_is_another_run_for_having_no_sources() -> None:
    config = preset("laptop", ["S"])
    content = config.to_json()
    assert content["sources"] == ADDED_LATER["sources"] == []
    del content["sources"]
    assert identity_of(content) == config.identity == Config.from_json(content).identity
    priced = preset("laptop", ["S"], sources=[{"price": [0, 0.5]}])
    assert priced.identity != config.identity
    assert Config.from_json(priced.to_json()) == priced
    assert preset("laptop", ["S"], sources=[{"price": 0.5}]).sources == (source(price=(0.5, 0.5)),)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ({"price": 0.1}, "a list"),
        ([{"cost": 1}], "a source says price"),
        ([{"lies": 1.5}], "lies of a source is from 0 to 1"),
        ([{"price": [0.5, 0.1]}], "two in order"),
        ([{"budget": -1}], "budget is at least 0"),
        ([{"is_stale": 1}], "is_stale is true or false"),
    ],
)
def test_what_is_wrong_with_sources_is_said(content: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_specs(content)


def test_who_has_no_room_for_sources_says_so() -> None:
    with pytest.raises(ValueError, match="at most 8 sources"):
        make("S").with_sources([source()] * 9)
    priced, kitchen = [{"price": 0.1}], ["qtextworld/take-1"]
    assert preset("laptop", kitchen, sources=priced).sources == (source(price=0.1),)
    with pytest.raises(ValueError, match="Q-TextWorld has room for 1 source"):
        preset("laptop", kitchen, sources=priced * 2)
    with pytest.raises(ValueError, match="DQN knows the paper's oracle only"):
        preset("paper", kitchen, sources=priced)
