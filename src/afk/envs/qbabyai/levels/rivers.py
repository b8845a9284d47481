"""Rivers of coloured tiles, the obstacle of Danger.

A river runs from wall to wall along every second line of a room, so that corners stay dry. One to
three of them run through a room; each tile has one of two colours. A colouring is sound if one can walk
between any two dry cells of the room whichever colour is dangerous, so that it does not give the danger away.
Sound colourings are rare where three rivers cross (one in thirty): they are found once on the host.
"""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np

from afk.envs.qbabyai.world import cells

TILE_COLOURS = (cells.YELLOW, cells.BLUE)  # one of them is dangerous
_MAX_RIVERS = 3
_TRIES = 20_000  # colourings that are tried for each number of rivers
_LIBRARY = 2_048  # sound ones that are kept of each


def draw_room_tiles(size: int, key: jax.Array) -> jax.Array:
    """The tiles of a room with (size, size) cells inside: uint8 cells, 0 where the floor is dry."""
    count_key, pattern_key, turn_key = jax.random.split(key, 3)
    library, found = sound_patterns(size)
    count = jax.random.randint(count_key, (), 0, len(library))
    pattern = jnp.asarray(library)[count, jax.random.randint(pattern_key, (), 0, jnp.asarray(found)[count])]
    swap, transpose, flip_rows, flip_columns = jax.random.bernoulli(turn_key, shape=(4,))
    pattern = jnp.where(swap & (pattern > 0), 3 - pattern, pattern)
    pattern = jnp.where(transpose, pattern.T, pattern)
    pattern = jnp.where(flip_rows, pattern[::-1], pattern)
    pattern = jnp.where(flip_columns, pattern[:, ::-1], pattern)
    first, second = (cells.cell(cells.TILE, colour) for colour in TILE_COLOURS)
    return jnp.where(pattern == 1, first, jnp.where(pattern == 2, second, 0)).astype(jnp.uint8)


@lru_cache
def sound_patterns(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Sound colourings by number of rivers, up to turns and flips and to exchanging the colours.

    Returns:
        (counts, patterns, size, size) uint8 with 0 for dry floor and 1 or 2 for a colour, and how many
        patterns there are of each count: (counts,) int.
    """
    rng = np.random.default_rng(size)
    lines = (size - 1) // 2
    library = []
    for count in range(1, min(_MAX_RIVERS, 2 * lines) + 1):
        order = rng.permuted(np.broadcast_to(np.arange(2 * lines), (_TRIES, 2 * lines)), axis=1)
        along = np.zeros((_TRIES, 2, size), bool)
        along[:, :, 1 : 2 * lines : 2] = (order < count).reshape(_TRIES, 2, lines)
        wet = along[:, 0, :, None] | along[:, 1, None, :]
        patterns = np.where(wet, rng.integers(1, 3, wet.shape), 0).astype(np.uint8)
        sound = _is_connected(patterns != 1, ~wet) & _is_connected(patterns != 2, ~wet)
        if sound.any():
            library.append(rng.permutation(np.unique(patterns[sound], axis=0))[:_LIBRARY])
    found = np.array([len(patterns) for patterns in library])
    padded = [np.pad(patterns, ((0, max(found) - len(patterns)), (0, 0), (0, 0))) for patterns in library]
    return np.stack(padded), found


def _is_connected(walkable: np.ndarray, dry: np.ndarray) -> np.ndarray:
    """Whether all dry cells of each (n, size, size) room can be walked to from its dry corner: (n,) bool."""
    reached = np.zeros_like(walkable)
    reached[:, 0, 0] = True
    while True:
        padded = np.pad(reached, ((0, 0), (1, 1), (1, 1)))
        grown = padded[:, 1:-1, :-2] | padded[:, 1:-1, 2:] | padded[:, :-2, 1:-1] | padded[:, 2:, 1:-1]
        grown = reached | (grown & walkable)
        if (grown == reached).all():
            return np.all(reached | ~dry, axis=(1, 2))
        reached = grown
