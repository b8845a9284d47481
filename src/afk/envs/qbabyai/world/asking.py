"""Asking: the oracle of the paper, or sources with traits, and what an episode's books say then."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from afk.envs.qbabyai.world import cells
from afk.envs.qbabyai.world.rumours import falsify
from afk.envs.qbabyai.world.state import State
from afk.envs.qbabyai.world.words import (
    FROM,
    REFUSAL,
    RESPONSE_LENGTH,
    ROOM_WORD,
    SIGNED_LENGTH,
    SILENCE,
    SOURCE_TOKENS,
    UNKNOWN,
    VOCABULARY,
)
from afk.knowledge.facts import FactTable, ask, available, host_facts, matches
from afk.knowledge.live import Live
from afk.knowledge.reply import NOTHING, Reply
from afk.knowledge.source import Facts, KnowledgeSource
from afk.knowledge.tabulate import level_seeds, tabulate
from afk.knowledge.traits import Dealings, SourceSpec, answer_key, pick, settle, temper, traits_of
from afk.language import PAD


def is_at_lock(state: State) -> jax.Array:
    """Whether facts can be had that are known next to a lock only: () bool."""
    beside = state.position + jnp.asarray(cells.DIRECTIONS)
    return (cells.kind_of(state.grid[beside[:, 1], beside[:, 0]]) == cells.LOCKED_DOOR).any()


def known(state: State) -> Facts:
    """What can be had now, for sources on the host."""
    here = jax.device_get(available(state.facts, is_at_lock(state)))
    unknown, refusal = map(VOCABULARY.decode, (UNKNOWN, REFUSAL))
    return host_facts(here, VOCABULARY, unknown=unknown, refusal=refusal)


def retell(source: KnowledgeSource, states: State, seed: int) -> State:
    """First states, with a leading axis, with what a source tells in the place of what the oracle knows."""
    seeds = level_seeds(seed, len(states.step))
    facts, wanted = jax.device_get((states.facts, states.level.good_queries))
    told = tabulate(source, facts, wanted, seeds, VOCABULARY)
    dealings = states.dealings
    if dealings is not None and dealings.first_facts is not None:
        dealings = replace(dealings, first_facts=places_of(told))
    return replace(states, facts=told, dealings=dealings)


def ask_oracle(
    state: State, query: jax.Array, is_query: jax.Array, live: Live | None = None
) -> tuple[State, jax.Array]:
    """Put a query to the oracle, or to who is asked on the host, if there is one; returns the response."""
    here = available(state.facts, is_at_lock(state))
    if live is None:
        reply = ask(here, query, unknown=jnp.asarray(UNKNOWN))
        revealed = _revealed(state, query, reply)
    else:
        reply, revealed = _ask_live(live, state, here, query, is_query)
    asked = state.asked | (revealed & is_query)
    state = replace(state, asked=asked, queries=state.queries + is_query)
    return state, jnp.where(is_query, reply.tokens, SILENCE)


def _ask_live(
    live: Live, state: State, here: FactTable, query: jax.Array, is_query: jax.Array
) -> tuple[Reply, jax.Array]:
    """The reply of who is asked on the host, and which wanted facts it reveals: (8,) bool."""
    return live.ask(
        here,
        query,
        is_query,
        number=state.queries,
        wanted=state.level.good_queries,
        episode=state.level,
        moment=(state.grid, state.position, state.step),
    )


def _revealed(state: State, query: jax.Array, reply: Reply) -> jax.Array:
    """Which of the wanted facts a reply reveals: (8,) bool.

    A fact of the oracle answers its own question and no other, so that words tell what it reveals.
    """
    wanted = (
        matches(state.level.good_queries, query)
        if state.facts.reveals is None
        else state.facts.reveals[reply.fact]
    )
    return wanted & (reply.fact != NOTHING)


def ask_source(
    state: State,
    query: jax.Array,
    is_query: jax.Array,
    source: jax.Array,
    specs: Sequence[SourceSpec],
    live: Live | None = None,
) -> tuple[State, jax.Array, jax.Array]:
    """Put a query to the source of a () number, if there is one; returns response and cost, too."""
    dealings = state.dealings
    assert dealings is not None
    is_stale = pick(np.array([spec.is_stale for spec in specs]), source)
    here = available(_believed(state.facts, dealings, is_stale), is_at_lock(state))
    traits = traits_of(specs, dealings, source)
    key = answer_key(specs, dealings, source, query, state.queries)
    if live is None:
        truth = ask(here, query, unknown=jnp.asarray(UNKNOWN))
        revealed = _revealed(state, query, truth)
    else:
        truth, revealed = _ask_live(live, state, here, query, is_query)
    if dealings.first_facts is not None:
        truth = _if_true(truth, state.facts)
    # Lies are made in sentences that are as long as signed ones: to make them longer afterwards is dear.
    truth = replace(truth, tokens=_lengthen(truth.tokens, len(specs)))
    refusal = _lengthen(REFUSAL, len(specs))
    reply = temper(truth, traits, key, refusal=refusal, falsify=partial(falsify, state))
    asked = state.asked | (revealed & (reply.fact != NOTHING) & is_query)
    dealings, cost = settle(
        dealings,
        reply,
        asked=is_query,
        source=source,
        about=matches(state.level.good_queries, query),
        heard=asked,
        step=state.step + 1,
    )
    state = replace(state, asked=asked, queries=state.queries + is_query, dealings=dealings)
    return state, _sign(reply.tokens, source, len(specs)) * is_query, cost


class Places(eqx.Module):
    """What changes of a level's facts while things are taken and put down.

    Attributes:
        scope: (facts,) int8, see `FactTable`.
        rooms: (facts,) uint8, the words where answers may name a room.
    """

    scope: jax.Array
    rooms: jax.Array


def places_of(facts: FactTable) -> Places:
    """Where things are now, for sources that will know no better later."""
    return Places(facts.scope, facts.answers[..., ROOM_WORD])


def _believed(facts: FactTable, dealings: Dealings, is_stale: jax.Array) -> FactTable:
    """The facts as a source knows them."""
    first = dealings.first_facts
    if first is None:
        return facts
    names_room = is_stale & (np.arange(facts.answers.shape[-1]) == ROOM_WORD)
    return replace(
        facts,
        scope=jnp.where(is_stale, first.scope, facts.scope),
        answers=jnp.where(names_room, first.rooms[:, None], facts.answers),
    )


def _if_true(reply: Reply, facts: FactTable) -> Reply:
    """A reply; it reveals nothing if its fact is another one by now, or no longer one."""
    now = available(facts, jnp.bool_(True))
    holds = (now.answers[reply.fact] == reply.tokens).all() & (now.keys[reply.fact, 0] >= 0)
    return replace(reply, fact=jnp.where(holds, reply.fact, NOTHING))


def _lengthen(tokens: jax.Array | np.ndarray, sources: int) -> jax.Array:
    """An answer with room for whose it is, if there are several sources."""
    return jnp.pad(jnp.asarray(tokens), (0, length_of(sources) - len(tokens)), constant_values=PAD)


def length_of(sources: int) -> int:
    """How many tokens an answer has, with so many sources."""
    return RESPONSE_LENGTH if sources <= 1 else SIGNED_LENGTH


def _sign(tokens: jax.Array, source: jax.Array, sources: int) -> jax.Array:
    """An answer; of several sources it says whose it is."""
    if sources == 1:
        return tokens
    size = (tokens != PAD).sum()
    place = jnp.arange(len(tokens))
    signed = jnp.where(place == size, FROM, tokens)
    return jnp.where(place == size + 1, jnp.asarray(SOURCE_TOKENS)[source], signed).astype(jnp.uint8)
