"""The egocentric 7x7 view of Minigrid, with occlusion, as bit operations on its rows."""

import jax
import jax.numpy as jnp
import numpy as np

from afk.envs.qbabyai.world import cells
from afk.envs.qbabyai.world.state import State

VIEW = 7
AGENT_COLUMN, AGENT_ROW = VIEW // 2, VIEW - 1  # the agent looks up from the middle of the lowest row
_ROW_MASK = (1 << VIEW) - 1
_AHEAD = np.arange(AGENT_ROW, -1, -1)  # how far ahead of the agent each row lies
_ASIDE = np.arange(VIEW) - AGENT_COLUMN  # how far to its right each column lies


def look(state: State) -> jax.Array:
    """What the agent sees: (7, 7, 4) uint8, indexed [column, row] as in Minigrid."""
    seen = jnp.where(_visible(window := _window(state)), window, cells.UNSEEN)
    seen = seen.at[AGENT_COLUMN, AGENT_ROW].set(state.carrying)
    direction = jnp.broadcast_to(state.direction.astype(jnp.uint8), (VIEW, VIEW, 1))
    return jnp.concatenate([cells.to_minigrid(seen), direction], axis=-1)


def seen_cells(image: np.ndarray, state: State) -> np.ndarray:
    """The cells of a level on the host that a (7, 7, 4) view of it shows: (height, width) bool."""
    columns, rows = np.nonzero(image[..., 0] != cells.UNSEEN)
    forward = cells.DIRECTIONS[int(state.direction)]
    right = np.array([-forward[1], forward[0]])
    spots = (
        np.asarray(state.position) + _ASIDE[columns, None] * right + _AHEAD[rows, None] * forward
    )  # (seen, 2), x and y
    shape = np.array(state.grid.shape)
    x, y = spots[((spots >= 0) & (spots < shape[::-1])).all(-1)].T
    seen = np.zeros(shape, bool)
    seen[y, x] = True
    return seen


def _window(state: State) -> jax.Array:
    """The cells around the agent, turned so that it looks up: (7, 7) uint8 [column, row].

    The world's border is wall all around, so a position beyond it is clipped onto a wall: just what
    Minigrid shows there.
    """
    height, width = state.grid.shape
    forward = jnp.asarray(cells.DIRECTIONS)[state.direction]
    right = jnp.stack([-forward[1], forward[0]])
    x = state.position[0] + right[0] * _ASIDE[:, None] + forward[0] * _AHEAD[None, :]
    y = state.position[1] + right[1] * _ASIDE[:, None] + forward[1] * _AHEAD[None, :]
    return state.grid.ravel()[jnp.clip(y, 0, height - 1) * width + jnp.clip(x, 0, width - 1)]


def _visible(window: jax.Array) -> jax.Array:
    """Which cells light reaches, as Minigrid's ``process_vis`` has it: (7, 7) bool.

    Row by row from the agent outwards, light spreads to the right and then to the left through what is
    transparent, and from every lit transparent cell to the next row, straight and to the side it came
    towards. A row is a number with one bit a column.
    """
    opaque = cells.is_any(cells.kind_of(window), cells.WALL_KIND, cells.CLOSED_DOOR, cells.LOCKED_DOOR)
    weights = jnp.asarray(1 << np.arange(VIEW))[:, None]
    clear_rows = (~opaque * weights).sum(0)
    lit = jnp.int32(1 << AGENT_COLUMN)
    rows = []
    for row in reversed(range(VIEW)):
        clear = clear_rows[row]
        lit = _spread(lit, clear, left=False)
        rightward = lit & clear
        lit = _spread(lit, clear, left=True)
        leftward = lit & clear
        rows.append(lit)
        lit = ((rightward << 1) | leftward | (leftward >> 1)) & _ROW_MASK
    lit_rows = jnp.stack(rows[::-1])
    return ((lit_rows[None, :] >> np.arange(VIEW)[:, None]) & 1).astype(bool)


def _spread(lit: jax.Array, clear: jax.Array, *, left: bool) -> jax.Array:
    """Flood the bits of a row to one side, through clear cells and onto the first opaque one."""
    for distance in (1, 2, 4):
        passing = lit & clear
        lit |= (passing >> distance) if left else (passing << distance)
        clear &= (clear >> distance) if not left else (clear << distance)
    return lit & _ROW_MASK
