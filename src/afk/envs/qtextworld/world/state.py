"""The state of an episode, as frozen pytrees of fixed shapes: about a hundred bytes a game.

Shapes have ``things`` slots, filled in the order of the alphabet, and ``pieces`` slots, in the order in which
the description names the furniture.
"""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from afk.envs.qtextworld.world.things import IS_CONTAINER, IS_CUTTABLE, KNIFE
from afk.knowledge.kitchen import Index
from afk.knowledge.traits import Dealings

UNUSED = -1  # in a slot: nothing
NEVER, RAW, DONE = range(3)  # what heat does to a thing: nothing; it is cooked; it burns


class Game(eqx.Module):
    """What does not change during an episode.

    Attributes:
        things: (things,) int8, numbers of `THINGS`, or `UNUSED`.
        is_ingredient: (things,) bool, what has to be collected.
        cut: (things,) int8, how each ingredient has to be cut, as an index into `CUTS`.
        cooking: (things,) int8, how each ingredient has to be cooked, as an index into `COOKINGS`.
        pieces: (pieces,) int8, numbers of `PIECES`.
        intro: () int32, which intro the description has.
        blocks: (pieces,) int32, which text the description has for each piece.
        prepares: () bool, whether ingredients are to be prepared: *how* is a good query.
        finds_knife: () bool, whether the knife is to be found: *where* is a good query for it.
    """

    things: jax.Array
    is_ingredient: jax.Array
    cut: jax.Array
    cooking: jax.Array
    pieces: jax.Array
    intro: jax.Array
    blocks: jax.Array
    prepares: jax.Array
    finds_knife: jax.Array


class Contents(eqx.Module):
    """What can be told of things and changes while the player takes, cuts and cooks them; see `State`."""

    place: jax.Array
    cut: jax.Array
    cooking: jax.Array


class Written(eqx.Module):
    """What a source that is no oracle wrote down at the start.

    Attributes:
        contents: how things were.
        index: which questions it answers with which of its facts.
    """

    contents: Contents
    index: Index


class State(eqx.Module):
    """What changes, and the game it changes in.

    Attributes:
        game: the game.
        place: (things,) int8, where each thing is: a slot of `Game.pieces`, or `floor`, or `held`.
        is_open: (pieces,) bool, which containers are open.
        cut: (things,) int8, how each thing is cut.
        cooking: (things,) int8, how each thing is cooked.
        heat: (things,) int8, what cooking does to each thing: `NEVER`, `RAW` or `DONE`.
        asked: (2, things) bool, what *where* and *how* have been asked about, and answered truly.
        step: () int32, steps taken, queries included.
        queries: () int32, queries asked, of any kind.
        dealings: with a source that has traits; None where there is the paper's oracle.
        written: what another source than the oracle knows; None where it is the oracle.
    """

    game: Game
    place: jax.Array
    is_open: jax.Array
    cut: jax.Array
    cooking: jax.Array
    heat: jax.Array
    asked: jax.Array
    step: jax.Array
    queries: jax.Array
    dealings: Dealings | None = None
    written: Written | None = None


class Observation(eqx.Module):
    """What the agent gets: o_env and v_t, with the instruction beside them.

    Attributes:
        text: (text_length,) uint16 tokens: feedback, then the description of the room, then the inventory.
            At the start of an episode the instruction stands in the place of the feedback.
        mission: (64,) uint16, the instruction v_0.
        response: (32,) uint16, the answer, all padding when nothing was asked.
        terms: (1, 3) float32, the price that the source shows, what it was paid so far, and how often it
            answered; None where there is the paper's oracle.
    """

    text: jax.Array
    mission: jax.Array
    response: jax.Array
    terms: jax.Array | None = None

    @property
    def seen(self) -> Any:
        """What is seen, whatever the world: the text, or the text and the terms."""
        return self.text if self.terms is None else (self.text, self.terms)


def contents_of(state: State) -> Contents:
    """How things are now."""
    return Contents(state.place, state.cut, state.cooking)


def with_contents(state: State, contents: Contents) -> State:
    """The same game with things as they were at another time."""
    return replace(state, place=contents.place, cut=contents.cut, cooking=contents.cooking)


def wanted_facts(game: Game) -> jax.Array:
    """Q_t, (2, things) bool: *where* and *how* for ingredients, and *where* for a knife to be found."""
    where = game.is_ingredient | ((game.things == KNIFE) & game.finds_knife)
    return jnp.stack([where, game.is_ingredient & game.prepares])


def floor(game: Game) -> int:
    """The place of what lies on the floor."""
    return game.pieces.shape[-1]


def held(game: Game) -> int:
    """The place of what the player carries."""
    return game.pieces.shape[-1] + 1


def can_be_seen(state: State) -> jax.Array:
    """Which places show what they hold: (pieces + 2,) bool, the floor and the player's hands last."""
    shows = state.is_open | ~jnp.asarray(IS_CONTAINER)[state.game.pieces]
    return jnp.concatenate([shows, np.ones(2, bool)])


def can_be_cut(state: State) -> jax.Array:
    """What a knife can still cut, ingredients that are wanted whole included: (things,) bool."""
    things = state.game.things
    return (things != UNUSED) & jnp.asarray(IS_CUTTABLE)[things] & (state.cut == 0)


def has_knife(state: State) -> jax.Array:
    """Whether the player can cut: () bool."""
    return ((state.game.things == KNIFE) & (state.place == held(state.game))).any()
