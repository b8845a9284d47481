"""Every question gets the same answer on the device and on the host, in both worlds."""

from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from afk.envs.core import Environment
from afk.envs.qbabyai.world import asking
from afk.envs.qbabyai.world.words import UNKNOWN
from afk.envs.qtextworld.world import asking as kitchen
from afk.envs.qtextworld.world import oracle, text, words
from afk.envs.qtextworld.world.state import State as Game
from afk.envs.qtextworld.world.state import held, wanted_facts
from afk.envs.registry import make, world_of
from afk.knowledge.facts import ask, available
from afk.knowledge.oracle import Oracle
from afk.knowledge.reply import Reply
from afk.knowledge.source import KINDS
from afk.knowledge.tabulate import answering
from afk.studies.plan import GRID_TASKS
from afk.studies.record import short_name

from ..small_games import small_game

OTHERS = tuple(short_name(task) for task in GRID_TASKS if short_name(task) != "C")


def host_replies(env: Environment[Any], state: Any, queries: np.ndarray) -> list[tuple[str, str, int]]:
    """Text, kind and fact of the answer to every (n, 3) query, by the oracle on the host."""
    known = world_of(env).facts
    assert known is not None
    facts = known(state)
    session = Oracle().open(facts, seed=0)
    asked = [
        " ".join((facts.functions[query[0]], facts.adjectives[query[1]], facts.nouns[query[2]]))
        for query in queries
    ]
    return [(found.text, found.kind, (*found.facts, -1)[0]) for found in session.ask(asked)]


def draw(env: Environment[Any], seed: int) -> Any:
    """One sound level."""
    return jax.tree.map(lambda leaf: leaf[0], env.draw_many(jax.random.key(seed), 1))


def every_query(*sizes: int) -> np.ndarray:
    return np.array(list(product(*map(range, sizes))), np.int32)


def in_words(decode: Any, reply: Reply) -> list[tuple[str, str, int]]:
    tokens, kinds, facts = jax.device_get((reply.tokens, reply.kind, reply.fact))
    return [
        (decode(row), KINDS[kind], int(fact)) for row, kind, fact in zip(tokens, kinds, facts, strict=True)
    ]


@jax.jit
def ask_table(state: Any, queries: jax.Array) -> Reply:
    here = available(state.facts, asking.is_at_lock(state))
    return jax.vmap(lambda query: ask(here, query, unknown=jnp.asarray(UNKNOWN)))(queries)


@pytest.mark.parametrize(
    "task", ["SH", *(pytest.param(task, marks=pytest.mark.slow) for task in ("C", "CSDH"))]
)
def test_the_oracle_says_the_same_on_device_and_host(task: str) -> None:
    env = make(task)
    queries, decode = every_query(*env.action_sizes[2:]), env.vocabulary.decode
    assert len(queries) == 1056
    for level in range(3):
        state = draw(env, level)
        if level == 2 and task != "C":  # somewhere else, next to a lock
            locks = np.argwhere(np.asarray(state.grid) >> 3 == 12)
            spot = jnp.asarray(locks[0][::-1] - np.array([0, 1]), jnp.int32)
            state = replace(state, position=spot)
            assert asking.is_at_lock(state)
        said = in_words(decode, ask_table(state, jnp.asarray(queries)))
        assert said == host_replies(env, state, queries)
        assert {kind for _, kind, _ in said} == {"told", "unknown"}


@partial(jax.jit, static_argnums=0)
def ask_charlie(env: Any, state: Game, queries: jax.Array) -> Reply:
    def answer(query: jax.Array) -> Reply:
        reply = oracle.ask(env.book, state, query + jnp.array([words.WHERE, 0, 0]))
        return Reply(text.say(env.book, reply.tokens, words.RESPONSE_LENGTH), reply.kind, reply.fact)

    return jax.vmap(answer)(queries)


def test_charlie_says_the_same_on_device_and_host() -> None:
    env = small_game(ingredients=3)
    queries = every_query(len(words.QUERIES), len(words.ADJECTIVES), len(words.NOUNS))

    def as_tokens(answer: str) -> str:
        return env.vocabulary.decode(env.vocabulary.encode(answer, words.RESPONSE_LENGTH))

    for level in range(2):
        state = draw(env, level)
        if level:  # the first thing is in the player's hands
            place = state.place.at[0].set(jnp.int8(held(state.game)))
            state = replace(state, place=place)
        said = in_words(env.vocabulary.decode, ask_charlie(env, state, jnp.asarray(queries)))
        told = [(as_tokens(answer), kind, row) for answer, kind, row in host_replies(env, state, queries)]
        assert said == told
        assert {kind for _, kind, _ in said} == {"told", "unknown"}


def test_what_is_not_understood_is_not_guessed() -> None:
    env = small_game()
    state = draw(env, 0)
    known = world_of(env).facts
    assert known is not None
    session = Oracle().open(known(state), seed=0)
    (answer,) = session.ask(["sing me a song of the red apple"])
    assert (answer.kind, answer.facts) == ("unknown", ()) and "understand" in answer.text
    assert session.ask([]) == []


@jax.jit
def ask_each(state: Any, queries: jax.Array) -> jax.Array:
    """Which wanted facts count as asked for after each of (n, 3) queries: (n, 8) bool."""
    return jax.vmap(lambda query: asking.ask_oracle(state, query, jnp.bool_(True))[0].asked)(queries)


@pytest.mark.parametrize("letters", ["C", *(pytest.param(each, marks=pytest.mark.slow) for each in OTHERS)])
def test_a_question_is_good_by_what_its_answer_reveals(letters: str) -> None:
    env = make(letters)
    for level in range(2):
        state = draw(env, level)
        facts, wanted = asking.known(state), np.asarray(state.level.good_queries)
        keys = np.asarray(state.facts.keys)
        rows = [set(np.flatnonzero(answering(keys, key))) for key in wanted]
        queries = every_query(*env.action_sizes[2:])
        said = [(*found[2:],) for found in host_replies(env, state, queries)]
        revealed = [[row in about for about in rows] for (row,) in said]
        assert facts.rows and np.asarray(ask_each(state, jnp.asarray(queries))).tolist() == revealed
        assert np.any(revealed) or letters == "H", "what opens a door is told next to it"


@partial(jax.jit, static_argnums=0)
def ask_each_of_a_game(env: Any, state: Game, queries: jax.Array) -> jax.Array:
    """Which wanted facts count as asked for after each of (n, 3) queries: (n, 2, things) bool."""

    def asked(query: jax.Array) -> jax.Array:
        return kitchen.ask(env.book, state, query + jnp.array([words.WHERE, 0, 0]), ())[0].asked

    return jax.vmap(asked)(queries) & wanted_facts(state.game)


@pytest.mark.parametrize("prepares", [False, True])
def test_a_question_in_a_kitchen_is_good_by_what_its_answer_reveals(prepares: bool) -> None:
    env = small_game(ingredients=2)
    queries = every_query(len(words.QUERIES), len(words.ADJECTIVES), len(words.NOUNS))
    for level in range(2):
        state = draw(env, level)
        state = replace(state, game=replace(state.game, prepares=jnp.bool_(prepares)))
        if level:  # the first thing is in the player's hands
            state = replace(state, place=state.place.at[0].set(jnp.int8(held(state.game))))
        wanted = np.asarray(wanted_facts(state.game))
        slots = wanted.shape[1] + len(state.game.pieces)
        rows = np.arange(2 * slots).reshape(2, slots)[:, : wanted.shape[1]]
        revealed = [(rows == row) & wanted for *_, row in host_replies(env, state, queries)]
        np.testing.assert_array_equal(ask_each_of_a_game(env, state, jnp.asarray(queries)), revealed)
        assert (np.any(revealed, 0) == wanted).all() and wanted.sum() == (4 if prepares else 2)
