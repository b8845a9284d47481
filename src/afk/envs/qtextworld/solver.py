"""The expert: asks where, opens, takes, asks how, cuts and cooks, one ingredient after the other.

It counts on the oracle's answers, whoever is asked.

It is a function of the state, but does not act on what it could not know: no container is opened and nothing
is taken or prepared before the oracle was asked about it, and the names it uses were said.
"""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp

from afk.envs.qtextworld.environment import CookingGames
from afk.envs.qtextworld.levels.tasks import Task
from afk.envs.qtextworld.world import words
from afk.envs.qtextworld.world.state import State, can_be_seen, has_knife, held
from afk.envs.qtextworld.world.things import KNIFE, THINGS


def act(task: Task, state: State) -> jax.Array:
    """The next action, (3,) int32 ``<func, adj, noun>``, of a game that is not over."""
    game = state.game
    asked_where, asked_how = state.asked
    is_held = state.place == held(game)
    is_ready = is_held & (state.cut == game.cut) & (state.cooking == game.cooking)
    food = jnp.argmax(game.is_ingredient & ~is_ready)
    is_told = asked_how[food] | ~game.prepares
    has_to_cut = is_held[food] & is_told & (state.cut[food] != game.cut[food])

    # What is to be fetched: the ingredient, or the knife to cut it.
    goal = jnp.where(is_held[food], jnp.argmax(game.things == KNIFE), food)
    place = state.place[goal]
    is_hidden = ~can_be_seen(state)[place]
    fetch = jnp.where(~asked_where[goal], words.WHERE, jnp.where(is_hidden, words.OPEN, words.TAKE))
    holder = game.pieces[jnp.minimum(place, len(game.pieces) - 1)] + len(THINGS)
    fetched = jnp.where(fetch == words.OPEN, holder, game.things[goal])

    cut, cook = words.SLICE - 1 + game.cut[food], words.FRY - 1 + game.cooking[food]
    prepare = jnp.where(~is_told, words.HOW, jnp.where(has_to_cut, cut, cook))
    fetches = ~is_held[food] | (has_to_cut & ~has_knife(state))
    function = jnp.where(fetches, fetch, prepare) - (len(words.FUNCTIONS) - len(task.functions))
    entity = jnp.where(fetches, fetched, game.things[food])
    return jnp.concatenate([function[None], jnp.asarray(words.NAME_WORDS)[entity]]).astype(jnp.int32)


def plan(env: CookingGames, states: State) -> jax.Array:
    """The actions for whole episodes from first states with a leading axis: (episodes, max_steps, 3) int32.

    Actions after the end of an episode mean nothing.
    """
    return _plan(env.with_sources(()), replace(states, dealings=None, written=None))


@partial(jax.jit, static_argnums=0)
def _plan(env: CookingGames, states: State) -> jax.Array:
    """The same, with the oracle."""

    def move(state: State, _: None) -> tuple[State, jax.Array]:
        action = act(env.tasks[0], state)
        return env.step(state, action)[0], action

    return jax.vmap(lambda state: jax.lax.scan(move, state, length=env.max_steps)[1])(states)
