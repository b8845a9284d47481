"""Games begun in the middle: some containers open, some ingredients collected or even prepared.

Training may start some episodes so, since a game that pays only at its end is hardly ever won by chance;
evaluation never does.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp

from afk.envs.qtextworld.state import DONE, RAW, State, held
from afk.envs.qtextworld.things import IS_CONTAINER


def scatter(state: State, key: jax.Array) -> State:
    """The same game, begun at a point that a player could have reached without asking, and not yet won."""
    open_key, take_key, cut_key, cook_key, spare_key = jax.random.split(key, 5)
    game = state.game
    slots = game.things.shape
    # One ingredient stays as it is, so that there is something left to do.
    spared = jnp.argmax(jax.random.uniform(spare_key, slots) * game.is_ingredient)
    taken = jax.random.bernoulli(take_key, shape=slots) & game.is_ingredient
    ready = taken & (jnp.arange(slots[0]) != spared)
    cut = ready & jax.random.bernoulli(cut_key, shape=slots) & state.is_whole & (game.cut != state.cut)
    cooked = ready & jax.random.bernoulli(cook_key, shape=slots) & (game.cooking != state.cooking)
    has_to_be_prepared = (game.cut != state.cut) | (game.cooking != state.cooking)
    opened = jax.random.bernoulli(open_key, shape=state.is_open.shape)
    held_now = (ready | (taken & has_to_be_prepared)) & (state.place != held(game))
    return replace(
        state,
        is_open=state.is_open | (jnp.asarray(IS_CONTAINER)[game.pieces] & opened),
        place=jnp.where(held_now, jnp.int8(held(game)), state.place),
        cut=jnp.where(cut, game.cut, state.cut),
        is_whole=state.is_whole & ~cut,
        cooking=jnp.where(cooked, game.cooking, state.cooking),
        heat=jnp.where(cooked & (state.heat == RAW), jnp.int8(DONE), state.heat),
    )
