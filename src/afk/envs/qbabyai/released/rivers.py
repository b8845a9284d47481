"""The rivers of the released levels: lines of coloured tiles with a way through them for the safe colour.

Unlike ours they are made for the danger of a level, so that the way through is open for one colour only.
"""

import jax
import jax.numpy as jnp

from afk.envs.qbabyai.released.plans import Rivers

SIZE = 5  # cells along a room without its walls
_LINES = 4  # two columns, then two rows
_AT = (1, 3)  # where columns and rows of tiles may run
_PASSES: dict[Rivers, tuple[tuple[bool, bool], ...]] = {  # which axes, y and x, each way runs backwards on
    "diagonal": ((False, False),),
    "anti-diagonal": ((True, False),),
    "there and back": ((False, False), (True, True)),
}


def draw_rivers(rivers: Rivers, key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The tiles of a room: two (5, 5) bool masks, of the safe ones and of the dangerous ones."""
    count_key, lines_key, colours_key, ways_key, exchange_key = jax.random.split(key, 5)
    count = jax.random.randint(count_key, (), 1, _LINES)
    drawn = jax.random.permutation(lines_key, _LINES) < count
    along = jnp.zeros((2, SIZE), bool).at[:, jnp.asarray(_AT)].set(drawn.reshape(2, len(_AT)))
    wet = along[0][None, :] | along[1][:, None]
    dangerous = wet & jax.random.bernoulli(colours_key, shape=wet.shape)
    opened = jnp.zeros_like(wet)
    for number, backwards in enumerate(_PASSES[rivers]):
        opened |= _open_way(along, backwards, jax.random.fold_in(ways_key, number))
    safe = wet & ~dangerous & ~opened
    score = jnp.where(safe, jax.random.uniform(exchange_key, wet.shape), 2.0)
    rank = jnp.argsort(jnp.argsort(score.ravel())).reshape(wet.shape)
    dangerous = (dangerous & ~opened) | (safe & (rank < (opened & dangerous).sum()))
    return wet & ~dangerous, dangerous


def _open_way(along: jax.Array, backwards: tuple[bool, bool], key: jax.Array) -> jax.Array:
    """A cell of every line, as a walk from a corner to the opposite one crosses them: (5, 5) bool.

    Args:
        along: (2, 5) bool, which columns and which rows are lines.
        backwards: whether the walk runs up instead of down, and left instead of right.
        key: of the walk.
    """
    up, left = backwards
    columns, rows = along[0][::-1] if left else along[0], along[1][::-1] if up else along[1]
    order_key, cells_key = jax.random.split(key)
    cells = jnp.arange(SIZE)
    x, y = jnp.int32(-1), jnp.int32(-1)  # the lines that were crossed last
    opened = jnp.zeros((SIZE, SIZE), bool)
    for step, line in enumerate(jax.random.permutation(order_key, _LINES)):
        is_column = line < len(_AT)
        next_x, next_y = _next_line(columns, x), _next_line(rows, y)
        is_crossed = jnp.where(is_column, next_x, next_y) < SIZE
        between = jnp.where(is_column, (cells > y) & (cells < next_y), (cells > x) & (cells < next_x))
        chance = jax.random.uniform(jax.random.fold_in(cells_key, step), (SIZE,))
        chosen = jnp.argmax(jnp.where(between, chance, -1.0))
        row, column = jnp.where(is_column, chosen, next_y), jnp.where(is_column, next_x, chosen)
        opened |= is_crossed & (cells[:, None] == row) & (cells[None, :] == column)
        x, y = jnp.where(is_column & is_crossed, next_x, x), jnp.where(~is_column & is_crossed, next_y, y)
    opened = opened[::-1] if up else opened
    return opened[:, ::-1] if left else opened


def _next_line(lines: jax.Array, after: jax.Array) -> jax.Array:
    """The first of (5,) bool lines after a number; 5 if there is none."""
    cells = jnp.arange(SIZE)
    return jnp.where(lines & (cells > after), cells, SIZE).min()
