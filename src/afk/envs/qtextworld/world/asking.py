"""Asking: the oracle of the paper, a source with traits, or one that wrote everything down at the start."""

from collections.abc import Sequence
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from afk.envs.qtextworld.world import oracle, words
from afk.envs.qtextworld.world.rumours import falsify
from afk.envs.qtextworld.world.state import State, Written, contents_of, wanted_facts, with_contents
from afk.envs.qtextworld.world.text import Book
from afk.knowledge.facts import UNUSED
from afk.knowledge.kitchen import Index, Kitchen
from afk.knowledge.reply import NOTHING, Reply
from afk.knowledge.source import KnowledgeSource
from afk.knowledge.tabulate import ask_everything, level_seeds
from afk.knowledge.traits import SourceSpec, answer_key, settle, temper, traits_of

_ROWS = 8  # indices have a multiple of so many rows, so that games share programs
_FIRST = 0  # the number of the one source


def retell(source: KnowledgeSource, states: State, seed: int) -> State:
    """First states, with a leading axis, with what a source knows in the place of what the oracle knows.

    The source is asked everything now. What it tells of a thing stays as it is when the thing is moved or
    prepared, and is no longer true then: it has written down how things were.
    """
    kitchens = jax.device_get(_known_at_first(states))
    rows = []
    for level, level_seed in enumerate(level_seeds(seed, len(states.step))):
        known = oracle.say_facts(jax.tree.map(lambda leaf, level=level: leaf[level], kitchens))
        said = ask_everything(source, known, level_seed)
        rows.append([(*key, answer.facts[0]) for key, answer in said if answer.facts])
    most = -(-max(1, *map(len, rows)) // _ROWS) * _ROWS
    blank = (UNUSED,) * 3 + (NOTHING,)
    table = np.array([[*each, *[blank] * (most - len(each))] for each in rows], np.int16)
    index = Index(jnp.asarray(table[..., :3].astype(np.int8)), jnp.asarray(table[..., 3]))
    return replace(states, written=Written(contents_of(states), index))


@jax.jit
@jax.vmap
def _known_at_first(states: State) -> Kitchen:
    """What the oracle knows of games, with a leading axis."""
    return oracle.known(states)


def ask(
    book: Book, state: State, command: jax.Array, specs: Sequence[SourceSpec]
) -> tuple[State, jax.Array, jax.Array | None]:
    """Put a command to the source if it is a question.

    Args:
        book: what can be said.
        state: where things stand.
        command: (3,) int, see `afk.envs.qtextworld.world.dynamics.step`.
        specs: what the traits of the source are drawn from; none for a source without traits.

    Returns:
        The state with what was asked, (4, 2) spans of what is said, and, where there are traits, the cost.
    """
    asks = jnp.stack([command[0] == words.WHERE, command[0] == words.HOW])
    named = asks[:, None] & oracle.find(state.game, command[1:]).things
    is_query, cost = asks.any(), None
    believed = _believed(state, specs)
    reply = oracle.ask(book, believed, command)
    dealings = state.dealings
    if dealings is not None:
        source = jnp.int32(_FIRST)
        reply = temper(
            reply,
            traits_of(specs, dealings, source),
            answer_key(specs, dealings, source, command, state.queries),
            falsify=lambda truth, choice, fact=reply.fact: _compare(
                truth, falsify(book, believed, fact, choice)
            ),
            refusal=jnp.zeros_like(reply.tokens).at[0].set(book.refusal),
        )
    if believed is not state:
        reply = _if_true(reply, believed, state)
    # The oracle tells of what was asked for, if of anything: names alone say what is good.
    is_oracle = dealings is None and state.written is None
    asked = state.asked | (named if is_oracle else _revealed(state, reply) & is_query)
    if dealings is not None:
        dealings, cost = settle(
            dealings,
            reply,
            asked=is_query,
            source=jnp.int32(_FIRST),
            about=named & wanted_facts(state.game),
            heard=asked,
            step=state.step + 1,
        )
    state = replace(state, asked=asked, queries=state.queries + is_query, dealings=dealings)
    return state, reply.tokens, cost


def _compare(truth: jax.Array, said: jax.Array) -> tuple[jax.Array, jax.Array]:
    """What is said, and whether it is another answer than the true one; (4, 2) spans each."""
    return said, (said != truth).any()


def _believed(state: State, specs: Sequence[SourceSpec]) -> State:
    """The state as the source knows it; the very same if it knows what is true now."""
    if state.written is not None:
        return with_contents(state, state.written.contents)
    if state.dealings is not None and specs[_FIRST].is_stale:
        return with_contents(state, state.dealings.first_facts)
    return state


def _if_true(reply: Reply, believed: State, state: State) -> Reply:
    """A reply; it reveals nothing if its fact is another one by now."""
    then, now = oracle.known(believed), oracle.known(state)
    holds = jnp.concatenate([then.places == now.places, then.recipes == now.recipes])
    return replace(reply, fact=jnp.where(holds[reply.fact], reply.fact, NOTHING))


def _revealed(state: State, reply: Reply) -> jax.Array:
    """Which *where* and which *how* a reply reveals: (2, things) bool."""
    slots = len(state.place) + len(state.game.pieces)
    facts = np.arange(2 * slots).reshape(2, slots)[:, : len(state.place)]
    return facts == reply.fact
