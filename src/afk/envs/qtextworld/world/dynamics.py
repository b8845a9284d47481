"""One step of a cooking game: TextWorld's rules for the paper's verbs, the oracle, what wins and loses."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp

from afk.envs.qtextworld.world import asking, oracle, words
from afk.envs.qtextworld.world.oracle import Named
from afk.envs.qtextworld.world.state import (
    DONE,
    NEVER,
    RAW,
    State,
    can_be_cut,
    can_be_seen,
    floor,
    has_knife,
    held,
)
from afk.envs.qtextworld.world.text import Book
from afk.envs.qtextworld.world.things import IS_CONTAINER
from afk.knowledge.traits import SourceSpec


class Outcome(NamedTuple):
    """What a step led to.

    Attributes:
        feedback: (4, 2) int32 spans, what the world or the oracle says.
        is_query: () bool.
        success: () bool, all ingredients are held and prepared as the recipe says.
        failure: () bool, an ingredient is spoilt.
        cost: () float32, of a question to a source with traits; None where there is the oracle.
    """

    feedback: jax.Array
    is_query: jax.Array
    success: jax.Array
    failure: jax.Array
    cost: jax.Array | None = None


def step(
    book: Book, state: State, command: jax.Array, sources: Sequence[SourceSpec] = ()
) -> tuple[State, Outcome]:
    """Act or ask.

    Args:
        book: what can be said.
        state: where things stand.
        command: (3,) int, ``<func, adj, noun>`` as indices into `words.FUNCTIONS`, `words.ADJECTIVES` and
            `words.NOUNS`. A query leaves the world as it is and takes a step; so does what cannot be done.
        sources: the one that can be asked; the paper's oracle if none is given.
    """
    function = command[0]
    named = oracle.find(state.game, command[1:])
    is_query = (function == words.WHERE) | (function == words.HOW)
    asked, answer, cost = asking.ask(book, state, command, sources)
    acted, worked, failure = _act(asked, function, named)
    spoken = jnp.asarray(book.feedback)[jnp.where(worked, function, words.INVALID)]
    feedback = jnp.zeros((4, 2), jnp.int32).at[0].set(spoken)
    feedback = jnp.where(is_query, answer, feedback)

    game = acted.game
    is_ready = (acted.place == held(game)) & (acted.cut == game.cut) & (acted.cooking == game.cooking)
    success = (is_ready | ~game.is_ingredient).all() & ~failure
    acted = replace(acted, step=acted.step + 1)
    return acted, Outcome(feedback, is_query, success, failure, cost)


def _act(state: State, function: jax.Array, named: Named) -> tuple[State, jax.Array, jax.Array]:
    """Carry out a command; says too whether it worked and whether it spoilt an ingredient."""
    game = state.game
    is_held = state.place == held(game)
    in_reach = can_be_seen(state)[jnp.minimum(state.place, floor(game))] & ~is_held
    takes = (function == words.TAKE) & named.things & in_reach
    opens = (function == words.OPEN) & named.pieces & jnp.asarray(IS_CONTAINER)[game.pieces] & ~state.is_open
    cut = (function - words.SLICE + 1).astype(jnp.int8)
    cuts = (cut >= 1) & (cut <= len(words.CUT_VERBS)) & named.things & is_held
    cuts &= can_be_cut(state) & has_knife(state)
    cooking = (function - words.FRY + 1).astype(jnp.int8)
    heats = (cooking >= 1) & (cooking <= len(words.COOK_VERBS)) & named.things & is_held
    cooks, burns = heats & (state.heat == RAW), heats & (state.heat == DONE)

    spoilt = (cuts & (cut != game.cut)) | (cooks & (cooking != game.cooking)) | burns
    worked = (takes | cuts | cooks | burns).any() | opens.any()
    acted = replace(
        state,
        place=jnp.where(takes, jnp.int8(held(game)), state.place),
        is_open=state.is_open | opens,
        cut=jnp.where(cuts, cut, state.cut),
        cooking=jnp.where(cooks, cooking, state.cooking),
        heat=jnp.where(cooks, jnp.int8(DONE), jnp.where(burns, jnp.int8(NEVER), state.heat)),
    )
    return acted, worked, (spoilt & game.is_ingredient).any()
