"""A source with a price, a budget, silence and lies, and others than the oracle: what they say and count."""

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from afk.envs.asking import Asking
from afk.envs.core import TimeStep
from afk.envs.qtextworld.environment import CookingGames, QTextWorld
from afk.envs.qtextworld.multitask import MultiTaskKitchen
from afk.envs.qtextworld.world import oracle, words
from afk.envs.qtextworld.world.asking import ask
from afk.envs.qtextworld.world.rumours import falsify
from afk.envs.qtextworld.world.state import State, contents_of, held
from afk.envs.qtextworld.world.text import say
from afk.knowledge.catalogue import find_source
from afk.knowledge.source import KnowledgeSource
from afk.knowledge.traits import DealingStats, SourceSpec, draw_dealings

from ...small_games import ShortTask, small_bank

GAMES = 200
TASK = ShortTask("short/cut", ingredients=2, cut=True, knife_held=False, max_steps=30)
PLAIN = QTextWorld(TASK, small_bank())
REFUSAL = "you cannot know."
source: Any = SourceSpec  # a number stands for a range of one


@pytest.fixture(scope="module")
def games() -> State:
    """First states of games."""
    return PLAIN.with_sources([source()]).draw_many(jax.random.key(0), GAMES)


def begin(states: State, spec: SourceSpec) -> tuple[CookingGames, State]:
    """The games with another source, drawn from their own keys."""
    assert states.dealings is not None
    keys = jax.vmap(jax.random.wrap_key_data)(states.dealings.key)
    draw = partial(draw_dealings, [spec], wanted=states.asked.shape[1:])
    dealings = jax.vmap(lambda key, facts: draw(key, facts=facts))(keys, contents_of(states))
    return PLAIN.with_sources([spec]), replace(states, dealings=dealings)


def play(env: CookingGames, states: State, *actions: np.ndarray) -> list[TimeStep]:
    """Carry out actions, (games, 3) each."""
    rows = jnp.asarray(np.stack(actions, 1))

    @jax.jit
    @jax.vmap
    def run(state: State, rows: jax.Array) -> TimeStep:
        return jax.lax.scan(env.step, state, rows)[1]

    steps = run(states, rows)
    return [jax.device_get(jax.tree.map(lambda leaf, i=i: leaf[:, i], steps)) for i in range(len(actions))]


def first_ingredient(states: State) -> np.ndarray:
    """The slot of an ingredient of each game."""
    return np.asarray(states.game.is_ingredient).argmax(1)


def command(verb: str, states: State) -> np.ndarray:
    """An action on the first ingredient of each game."""
    slots = first_ingredient(states)
    thing = np.asarray(states.game.things)[np.arange(len(slots)), slots]
    function = np.full((len(slots), 1), TASK.functions.index(verb))
    return np.concatenate([function, words.NAME_WORDS[thing]], 1).astype(np.int32)


def said(step: TimeStep) -> np.ndarray:
    return np.array([PLAIN.vocabulary.decode(row) for row in step.observation.response])


def cost(step: TimeStep) -> np.ndarray:
    return np.asarray(step.cost)


def stats(step: TimeStep) -> DealingStats:
    assert step.dealings is not None
    return step.dealings


def taken(states: State) -> State:
    """The games with the first ingredient in the player's hands."""
    slots = first_ingredient(states)
    place = states.place.at[np.arange(len(slots)), slots].set(held(only(states, 0).game))
    return replace(states, place=place)


def only(states: State, number: int) -> State:
    """One of several states."""
    return jax.tree.map(lambda leaf: leaf[number], states)


def test_a_source_without_traits_is_the_oracle(games: State) -> None:
    env, states = begin(games, source())
    where, how, looks = command("where", games), command("how", games), command("take", games)
    ours = play(env, states, where, how, where, looks)
    theirs = play(PLAIN, replace(games, dealings=None), where, how, where, looks)
    assert env.action_sizes == PLAIN.action_sizes
    for mine, other in zip(ours, theirs, strict=True):
        assert other.dealings is None is other.cost and other.observation.terms is None
        np.testing.assert_array_equal(mine.cost, 0)
        assert mine.observation.terms.shape == (GAMES, 1, 3)
        bare = replace(mine, observation=replace(mine.observation, terms=None), dealings=None, cost=None)
        jax.tree.map(np.testing.assert_array_equal, bare, other)


def test_the_price_is_counted_until_the_budget_is_spent(games: State) -> None:
    env, states = begin(games, source(price=(0.1, 0.3), budget=2))
    where = command("where", games)
    steps = play(env, states, where, command("how", games), where, command("take", games))
    price, *later = map(cost, steps)
    assert (price >= 0.1).all() and (price <= 0.3).all() and price.std() > 0.03
    np.testing.assert_array_equal(later[0], price)
    assert not np.any(later[1:]) and (steps[-1].reward == 0).all(), "a refusal is free, and so is acting"
    assert set(said(steps[2])) == {REFUSAL}
    assert all(text.startswith(REFUSAL) for text in map(PLAIN.vocabulary.decode, steps[2].observation.text))
    dealings = stats(steps[-1])
    np.testing.assert_allclose(dealings.paid, 2 * price, rtol=1e-6)
    assert (dealings.refusals == 1).all() and (dealings.lies == 0).all()
    assert (steps[-1].stats.queries == 3).all() and (steps[-1].stats.good == 2).all()
    terms = np.stack([price, 2 * price, np.full(GAMES, 2)], -1)
    np.testing.assert_allclose(steps[-1].observation.terms[:, 0], terms, rtol=1e-6)


@pytest.mark.parametrize("is_persistent", [True, False])
def test_a_lie_is_as_frequent_as_it_is_said_to_be_and_never_good(games: State, is_persistent: bool) -> None:
    where = command("where", games)
    true = said(play(PLAIN, replace(games, dealings=None), where)[0])
    env, states = begin(games, source(lies=0.3, is_persistent=is_persistent))
    steps = play(env, states, where, where, command("take", games))
    lied, again = (said(step) != true for step in steps[:2])
    same = (lied == again).mean()
    assert abs(lied.mean() - 0.3) < 0.1
    assert same == 1 if is_persistent else abs(same - (0.3**2 + 0.7**2)) < 0.1
    np.testing.assert_array_equal(steps[0].stats.good, ~lied)
    np.testing.assert_array_equal(steps[2].stats.good, ~(lied & again))
    dealings = stats(steps[2])
    np.testing.assert_array_equal(dealings.lies, lied.astype(int) + again)
    np.testing.assert_array_equal(dealings.acted_on, lied & again, "who heard the truth, too, is not misled")
    assert (dealings.first_question == 1).all()


def test_silence_costs_a_step(games: State) -> None:
    env, states = begin(games, source(price=0.2, silence=0.5))
    (step,) = play(env, states, command("where", games))
    silent = said(step) == REFUSAL
    assert abs(silent.mean() - 0.5) < 0.12
    np.testing.assert_allclose(cost(step), np.where(silent, 0, 0.2), rtol=1e-6)
    np.testing.assert_array_equal(step.stats.good, ~silent)


def test_a_lie_is_an_answer_of_the_same_kind(games: State) -> None:
    """Every fact of some games, and all that is said in its place."""

    @jax.jit
    @partial(jax.vmap, in_axes=(0, None, None))
    @partial(jax.vmap, in_axes=(None, 0, None))
    @partial(jax.vmap, in_axes=(None, None, 0))
    def lie(state: State, fact: jax.Array, choice: jax.Array) -> jax.Array:
        return say(PLAIN.book, falsify(PLAIN.book, state, fact, choice), words.RESPONSE_LENGTH)

    some = jax.tree.map(lambda leaf: leaf[:6], games)
    things = games.place.shape[1]
    slots = things + games.game.pieces.shape[1]
    choices = (np.arange(32) << 11).astype(np.uint32)
    texts = lie(some, np.arange(2 * slots), choices)
    decode = PLAIN.vocabulary.decode
    elsewhere = 0
    for number in range(6):
        state = only(some, number)
        places = [int(piece) for piece in state.game.pieces]
        for fact in oracle.host_facts(state).rows:
            true = decode(PLAIN.vocabulary.encode(fact.answer, words.RESPONSE_LENGTH))
            lies = {decode(row) for row in texts[number, fact.row]}
            if fact.row % slots >= things:
                assert lies == {true}, "nobody lies of furniture"
            elif fact.words[0] == "where":
                name = " ".join(word for word in fact.words[1:] if word != "none")
                every = {f"the {name} {words.place_tail(place)}" for place in (*places, None)}
                assert lies == every - {true}
                elsewhere += 1
            elif state.game.is_ingredient[fact.row - slots]:
                others = {way for way in ("sliced", "diced", "chopped") if way not in true}
                way = next(way for way in ("sliced", "diced", "chopped") if way in true)
                assert lies == {true.replace(way, other) for other in others}
    assert elsewhere > 20


def test_a_stale_source_tells_what_was_true_at_the_start(games: State) -> None:
    env, states = begin(games, source(is_stale=True))
    where = command("where", games)
    (now,), (then,) = play(env, states, where), play(env, taken(states), where)
    np.testing.assert_array_equal(said(now), said(then))
    assert (now.stats.good == 1).all() and (then.stats.good == 0).all()
    assert (stats(now).lies == 0).all() and (stats(then).lies == 1).all(), "it is in the player's hands"


@pytest.mark.parametrize("name", ["sql", "documents"])
def test_what_a_source_tells_on_the_device_is_what_it_tells_on_the_host(games: State, name: str) -> None:
    told = Asking(name).put_into(PLAIN)
    states = told.draw_many(jax.random.key(3), 2)
    queries = np.argwhere(np.ones((2, len(words.ADJECTIVES), len(words.NOUNS))))
    queries[:, 0] += words.WHERE

    @jax.jit
    @partial(jax.vmap, in_axes=(None, 0))
    def ask_all(state: State, query: jax.Array) -> tuple[jax.Array, jax.Array]:
        after, spans, _ = ask(PLAIN.book, state, query, ())
        return after.asked, say(PLAIN.book, spans, words.RESPONSE_LENGTH)

    teller: KnowledgeSource = find_source(name)
    for number, seed in enumerate(range(*_seeds(jax.random.key(3), 2))):
        state = only(states, number)
        known = oracle.host_facts(state)
        with teller.open(known, seed) as session:
            answers = session.ask([" ".join(_words(query)) for query in queries])
        asked, tokens = jax.device_get(ask_all(state, queries))
        for query, answer, reveals, row in zip(queries, answers, asked, tokens, strict=True):
            text = answer.text if answer.kind == "told" else known.unknown(_words(query))
            np.testing.assert_array_equal(row, PLAIN.vocabulary.encode(text, words.RESPONSE_LENGTH))
            facts = np.zeros((2, asked.shape[2] + len(state.game.pieces)), bool)
            facts.reshape(-1)[list(answer.facts)] = True
            np.testing.assert_array_equal(reveals, facts[:, : asked.shape[2]])
        if name == "sql":
            own = jax.device_get(ask_all(replace(state, written=None), queries))
            np.testing.assert_array_equal(tokens, own[1], "an exact source is the oracle")
            np.testing.assert_array_equal(asked, own[0])


def _seeds(key: jax.Array, levels: int) -> tuple[int, int]:
    first = int(jax.random.bits(key)) * 2**20
    return first, first + levels


def _words(query: np.ndarray) -> tuple[str, str, str]:
    function, adjective, noun = query
    return words.FUNCTIONS[function], words.ADJECTIVES[adjective], words.NOUNS[noun]


def test_a_source_that_wrote_everything_down_does_not_see_things_move(games: State) -> None:
    told = PLAIN.with_sources([source(price=0.5)]).told_by(find_source("sql"))
    states = told.draw_many(jax.random.key(0), 8)
    where, how = command("where", states), command("how", states)
    (first, _), (then, last) = play(told, states, where, how), play(told, taken(states), where, how)
    np.testing.assert_array_equal(said(first), said(then))
    assert (first.stats.good == 1).all() and (then.stats.good == 0).all()
    assert (last.stats.good == 1).all() and (cost(last) == 0.5).all(), "how is as it was"
    assert (stats(last).lies == 1).all()


def test_a_mixture_asks_as_its_tasks_do(games: State) -> None:
    larger = ShortTask("short/more", ingredients=3, cut=True, knife_held=False, max_steps=30)
    env, states = begin(games, source(price=0.1, lies=0.5, silence=0.2, is_stale=True))
    mixture = MultiTaskKitchen(TASK, larger, bank=PLAIN.bank).with_sources(env.sources)
    assert isinstance(mixture, MultiTaskKitchen) and mixture.parts[0] == env != PLAIN
    actions = [command(verb, games) for verb in ("where", "how", "take", "where")]
    for ours, theirs in zip(
        play(mixture, mixture.enlarge(states), *actions), play(env, states, *actions), strict=True
    ):
        jax.tree.map(
            np.testing.assert_array_equal, replace(ours, observation=0), replace(theirs, observation=0)
        )
        np.testing.assert_array_equal(ours.observation.response, theirs.observation.response)


def test_there_is_room_for_one_source() -> None:
    with pytest.raises(ValueError, match="room for one source, not 2"):
        PLAIN.with_sources([source(), source()])
    assert PLAIN.with_sources([]) is PLAIN != PLAIN.with_sources([source()])
    assert PLAIN.with_sources([source()]).with_sources([]) == PLAIN
