"""Games begun in the middle: some containers open, some ingredients collected or even prepared.

Training may start some episodes so, since a game that pays only at its end is hardly ever won by chance;
evaluation never does.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp

from afk.envs.qtextworld.state import DONE, State, held
from afk.envs.qtextworld.things import IS_CONTAINER


def scatter(state: State, key: jax.Array) -> State:
    """The same game, begun at a point that a player could have reached without asking, and not yet won."""
    part_key, spare_key, *keys = jax.random.split(key, 6)
    game, part = state.game, jax.random.uniform(part_key)

    def some(key: jax.Array, of: jax.Array) -> jax.Array:
        """A part of a mask, small or large."""
        return of & jax.random.bernoulli(key, part, of.shape)

    taken = some(keys[0], game.is_ingredient & (state.place != held(game)))
    # One ingredient stays as it is, so that there is something left to do.
    spared = jnp.argmax(jax.random.uniform(spare_key, taken.shape) * game.is_ingredient)
    is_spared = jnp.arange(len(taken)) == spared
    has_to_cut, has_to_cook = game.cut != state.cut, game.cooking != state.cooking
    taken &= ~is_spared | has_to_cut | has_to_cook
    cut = some(keys[1], taken & ~is_spared & has_to_cut)
    cooked = some(keys[2], taken & ~is_spared & has_to_cook)
    return replace(
        state,
        is_open=state.is_open | some(keys[3], jnp.asarray(IS_CONTAINER)[game.pieces]),
        place=jnp.where(taken, jnp.int8(held(game)), state.place),
        cut=jnp.where(cut, game.cut, state.cut),
        is_whole=state.is_whole & ~cut,
        cooking=jnp.where(cooked, game.cooking, state.cooking),
        heat=jnp.where(cooked, jnp.int8(DONE), state.heat),
    )
