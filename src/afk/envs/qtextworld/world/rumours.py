"""Plausible false answers: another place for *where*, another preparation for *how*."""

import jax
import jax.numpy as jnp
import numpy as np

from afk.envs.qtextworld.world import oracle
from afk.envs.qtextworld.world.state import State, can_be_cut, floor
from afk.envs.qtextworld.world.text import Book
from afk.envs.qtextworld.world.things import COOKINGS, CUTS, IS_COOKABLE
from afk.knowledge import kitchen

_CHOICE_BITS = 16
_WAYS = len(CUTS) - 1  # to cut something, and as many to cook it


def falsify(book: Book, state: State, fact: jax.Array, choice: jax.Array) -> jax.Array:
    """What is said in the place of a fact: (4, 2) spans; the fact itself where nothing else is plausible.

    A thing is said to be elsewhere: in or on another piece of furniture of the game, or on the floor. What
    can still be cut is said to need another cut, and what cannot be, but can still be cooked, to be cooked in
    another way. Of furniture nobody lies.

    Args:
        book: what can be said.
        state: how things are, as the source knows them.
        fact: () int32, its number; see `afk.knowledge.kitchen.ask`.
        choice: () uint32 of 16 bits, which of several false ones.
    """
    game, facts, chosen = state.game, oracle.known(state), choice.astype(jnp.int32)
    slots, things = len(facts.entities), len(state.place)
    is_where = fact < slots
    slot = jnp.where(is_where, fact, fact - slots)
    is_thing, thing = slot < things, jnp.minimum(slot, things - 1)

    places, place = floor(game) + 1, state.place[thing].astype(jnp.int32)
    is_held = place >= places
    further = jnp.where(is_held, 0, place + 1) + _pick(chosen, places - ~is_held)
    elsewhere = oracle.endings(game)[jnp.where(further >= places, further - places, further)]

    cut, cooking = jnp.divmod(facts.recipes[slot], len(COOKINGS))
    cuts = can_be_cut(state)[thing] & is_thing
    cooks = jnp.asarray(IS_COOKABLE)[game.things[thing]] & (state.cooking[thing] == 0) & is_thing & ~cuts
    cut = jnp.where(cuts, _other_way(cut, chosen), cut)
    cooking = jnp.where(cooks, _other_way(cooking, chosen), cooking)

    phrases = oracle.phrases(book)
    function = jnp.where(is_where, kitchen.WHERE, kitchen.HOW)
    return kitchen.compose(
        jnp.stack([function, *jnp.asarray(phrases.names)[facts.entities[slot]]]),
        jnp.where(is_thing, elsewhere, facts.places[slot]),
        cut * len(COOKINGS) + cooking,
        phrases=phrases,
    )


def _other_way(way: jax.Array, choice: jax.Array) -> jax.Array:
    """Another way to cut or to cook, from 1 on, than a () int32 one; 0 is none."""
    further = way + 1 + _pick(choice, _WAYS - (way > 0))
    return jnp.where(further > _WAYS, further - _WAYS, further)


def _pick(choice: jax.Array, size: jax.Array | np.ndarray) -> jax.Array:
    """A number from 0 to below a size, by 16 bits."""
    return choice * size >> _CHOICE_BITS
