"""Curriculum: training episodes that start at random states, with a wrong key, with hints or distractors.

A level that pays only at its end is hardly ever solved by chance from where it starts. Training may start a
fraction of its episodes at a random reachable state of the same level (start-state curriculum), with a wrong
key in hand, with distractors, or with some answers known (privileged hints). Evaluation never
does.
"""

from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from afk.envs.core import Environment
from afk.envs.qbabyai.levels.layout import spread
from afk.envs.qbabyai.levels.rivers import TILE_COLOURS
from afk.envs.qbabyai.world import cells
from afk.envs.qbabyai.world.dynamics import follow
from afk.envs.qbabyai.world.goals import UNLOCK
from afk.envs.qbabyai.world.state import State, room_of
from afk.envs.qbabyai.world.words import SILENCE
from afk.knowledge.facts import UNUSED, ask, available

Tree = TypeVar("Tree")
_FAR = 64  # steps; what is further away is as good as this
_MOST_TILES = 0.6  # of the free cells


def random_start(state: State, key: jax.Array) -> State:
    """The same level with the agent on some safe cell, looking anywhere: often near what is to be done next.

    Where there are locks, half of the time it gets help: the key that fits is in its hands, or, where a lock
    is not the goal itself, the locks may be open instead.
    """
    help_key, place_key, turn_key = jax.random.split(key, 3)
    is_helped, may_open, at_lock = jax.random.bernoulli(help_key, shape=(3,))
    is_helped &= state.level.key_colour >= 0
    opens = is_helped & may_open & (state.level.goal != UNLOCK)
    state = _choose(opens, _open_locks(state), _choose(is_helped, _hold(state, _fitting_key(state)), state))
    aim = _choose(at_lock | is_helped, _locks(state), state.grid == _fitting_key(state))
    aim = _choose(_locks(state).any(), aim, state.grid == state.level.target)
    # Near the target or a key the danger need not be known: where there is some, any safe cell is as likely.
    is_near = (state.level.danger < 0) | (aim & _locks(state)).any()
    place = _draw_place(state, aim, place_key, is_near=is_near)
    return replace(state, position=place, direction=jax.random.randint(turn_key, (), 0, 4))


def hold_wrong_key(state: State, key: jax.Array) -> State:
    """The same level with a wrong key in the agent's hands, if these are empty and there are locks."""
    is_wrong = (cells.kind_of(state.grid) == cells.KEY) & (state.grid != _fitting_key(state))
    is_wrong &= state.grid != state.level.target  # which may be a key, too
    score = jnp.where(is_wrong, jax.random.gumbel(key, is_wrong.shape), -jnp.inf)
    holding = _hold(state, state.grid.reshape(-1)[jnp.argmax(score)])
    can_be = is_wrong.any() & _locks(state).any() & (state.carrying == cells.EMPTY)
    return _choose(can_be, holding, state)


def add_distractors(state: State, key: jax.Array) -> State:
    """The same level with tiles strewn over free cells and open doors closed, if it has no danger.

    Tiles mean nothing there: one can walk over them, only not put anything down. An agent for which tiles
    come with danger only takes them for the sign of a task, and does in a task with danger what it knows from
    such tasks alone; likewise one that never met a closed door. What is underfoot stays as it is.
    """
    part_key, tile_key, colour_key, shut_key, door_key = jax.random.split(key, 5)
    part = jax.random.uniform(part_key, maxval=_MOST_TILES)
    colour = jnp.asarray(TILE_COLOURS, jnp.uint8)[jax.random.randint(colour_key, state.grid.shape, 0, 2)]
    is_tile = jax.random.bernoulli(tile_key, part, state.grid.shape) & (state.grid == cells.EMPTY)
    strewn = jnp.where(is_tile, cells.cell(cells.TILE, colour), state.grid)
    rows, columns = jnp.indices(state.grid.shape)
    is_here = (columns == state.position[0]) & (rows == state.position[1])
    shut = jax.random.bernoulli(door_key, jax.random.uniform(shut_key), state.grid.shape) & ~is_here
    is_shut = shut & (cells.kind_of(state.grid) == cells.OPEN_DOOR)
    strewn = jnp.where(is_shut, cells.cell(cells.CLOSED_DOOR, cells.colour_of(state.grid)), strewn)
    return replace(state, grid=jnp.where(state.level.danger < 0, strewn, state.grid))


def hints(env: Environment[Any], state: State) -> jax.Array:
    """The answers to Q_t, wherever they can be had: (8, 12) uint8."""
    del env

    def answer(query: jax.Array) -> jax.Array:
        reply = ask(available(state.facts, jnp.bool_(True)), query, unknown=jnp.asarray(SILENCE))
        return jnp.where(reply.is_told & (query[0] != UNUSED), reply.tokens, SILENCE)

    return jax.vmap(answer)(state.level.good_queries)


def _draw_place(state: State, aim: jax.Array, key: jax.Array, *, is_near: jax.Array) -> jax.Array:
    """A safe cell, (2,) int32 x and y: if `is_near`, near a (height, width) mask; how near is drawn, too."""
    reach_key, cell_key = jax.random.split(key)
    kind = cells.kind_of(state.grid)
    is_danger = state.grid == cells.cell(cells.TILE, state.level.danger.astype(jnp.uint8))
    free = cells.is_any(kind, cells.EMPTY_KIND, cells.TILE) & ~is_danger
    doors = cells.is_any(kind, cells.OPEN_DOOR, cells.CLOSED_DOOR, cells.LOCKED_DOOR)
    walkable = free | doors | cells.is_any(kind, cells.KEY, cells.SQUARE)

    def walk(_: int, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        reached, distance = carry
        return reached | (spread(reached) & walkable), distance + ~reached

    _, distance = jax.lax.fori_loop(0, _FAR, walk, (aim, jnp.zeros(aim.shape, jnp.int32)))
    reach = jnp.where(is_near, 2.0 ** jax.random.uniform(reach_key, maxval=5.0), jnp.inf)
    score = jax.random.gumbel(cell_key, aim.shape) - distance / reach
    y, x = jnp.divmod(jnp.argmax(jnp.where(free, score, -jnp.inf)), aim.shape[1])
    return jnp.stack([x, y]).astype(jnp.int32)


def _choose(mask: jax.Array, yes: Tree, no: Tree) -> Tree:
    return jax.tree.map(partial(jnp.where, mask), yes, no)


def _fitting_key(state: State) -> jax.Array:
    """The cell of the key that fits: () uint8."""
    return cells.cell(cells.KEY, state.level.key_colour.astype(jnp.uint8))


def _locks(state: State) -> jax.Array:
    """Where the locked doors are: (height, width) bool."""
    return cells.kind_of(state.grid) == cells.LOCKED_DOOR


def _open_locks(state: State) -> State:
    """Every lock open, and paid for."""
    door = cells.cell(cells.OPEN_DOOR, cells.colour_of(state.grid))
    return replace(state, grid=jnp.where(_locks(state), door, state.grid), unlocked=jnp.bool_(True))


def _hold(state: State, key: jax.Array) -> State:
    """A key, given as its cell, in the agent's hands."""
    here = room_of(state.level, state.position)
    facts = follow(state.facts, key, gone=jnp.bool_(True), back=jnp.bool_(False), room=here)
    grid = jnp.where(state.grid == key, jnp.uint8(cells.EMPTY), state.grid)
    return replace(state, grid=grid, carrying=key, facts=facts)
