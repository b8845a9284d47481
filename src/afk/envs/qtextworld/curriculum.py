"""Curriculum: training games that start in the middle, or with hints.

A game that pays only at its end is hardly ever won by chance. Training may start a fraction of its games with
some containers open and some ingredients collected or even prepared (start-state curriculum), or with some
answers known (privileged hints). Evaluation never does.
"""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from afk.envs.core import Environment
from afk.envs.qtextworld.environment import CookingGames
from afk.envs.qtextworld.world import oracle, text, words
from afk.envs.qtextworld.world.state import DONE, State, held
from afk.envs.qtextworld.world.things import IS_CONTAINER


def random_start(state: State, key: jax.Array) -> State:
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
        cooking=jnp.where(cooked, game.cooking, state.cooking),
        heat=jnp.where(cooked, jnp.int8(DONE), state.heat),
    )


def hints(env: Environment[Any], state: State) -> jax.Array:
    """Where each ingredient is, and how it is prepared: (2 * ingredients, 32) uint16, padded."""
    assert isinstance(env, CookingGames)
    game = state.game
    ingredients = jnp.argsort(~game.is_ingredient)[: env.most_ingredients]

    def answer(slot: jax.Array, function: jax.Array) -> jax.Array:
        command = jnp.concatenate([function[None], jnp.asarray(words.NAME_WORDS)[game.things[slot]]])
        is_good = game.is_ingredient[slot] & ((function == words.WHERE) | game.prepares)
        spans = oracle.ask(env.book, state, command).tokens * is_good
        return text.say(env.book, spans, words.RESPONSE_LENGTH)

    functions = jnp.array([words.WHERE, words.HOW][: 1 + env.may_prepare])
    answers = jax.vmap(jax.vmap(answer, (0, None)), (None, 0))(ingredients, functions)
    return answers.reshape(-1, words.RESPONSE_LENGTH)
