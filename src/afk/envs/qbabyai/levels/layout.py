"""Where things stand in a level, drawn so that whatever turns out to matter can be done.

A layout is geometry only: which of its things is the target, which key fits and which tile colour is
dangerous are drawn afterwards and independently (`afk.envs.qbabyai.levels.builder`), and a layout is
accepted only if it is sound for each of these. So the geometry tells nothing about them.
"""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from afk.envs.qbabyai.levels.floorplan import FloorPlan, arrangements
from afk.envs.qbabyai.levels.rivers import TILE_COLOURS, draw_room_tiles
from afk.envs.qbabyai.world import cells


@dataclass(frozen=True)
class Needs:
    """What a layout has to hold.

    Attributes:
        things: things that could be the target; each blocks the way.
        keys: keys on the floor; they can be walked over.
        keys_apart: whether the keys lie in rooms of their own; they lie in the agent's room otherwise.
        locks: whether the rooms of the things are locked.
        rivers: whether coloured tiles run through every room.
    """

    things: int = 0
    keys: int = 0
    keys_apart: bool = False
    locks: bool = False
    rivers: bool = False


class Layout(eqx.Module):
    """The geometry of a level; positions are (y, x).

    Attributes:
        tiles: (height, width) uint8, the cell of a coloured tile, or 0.
        doors: (doors, 2) int32.
        locked: (doors,) bool.
        things: (things, 2) int32.
        keys: (keys, 2) int32.
        agent: (2,) int32.
        direction: () int32.
    """

    tiles: jax.Array
    doors: jax.Array
    locked: jax.Array
    things: jax.Array
    keys: jax.Array
    agent: jax.Array
    direction: jax.Array


def draw_layout(plan: FloorPlan, needs: Needs, key: jax.Array) -> tuple[Layout, jax.Array]:
    """Draw a layout, and say whether it is sound: every candidate target reachable, knowledge needed."""
    rooms_key, doors_key, tiles_key, cells_key, agent_key, turn_key = jax.random.split(key, 6)
    ways = arrangements(
        plan, things=needs.things, locked=needs.locks, keys=needs.keys if needs.keys_apart else 0
    )
    slots = max(needs.things, int(needs.locks))
    way = jnp.asarray(ways)[jax.random.randint(rooms_key, (), 0, len(ways))]
    home, thing_rooms = way[0], way[1 : 1 + slots]
    key_rooms = way[1 + slots :] if needs.keys_apart else jnp.broadcast_to(home, (needs.keys,))

    doors, locked = _draw_doors(plan, needs, thing_rooms, doors_key)
    tiles = _draw_tiles(plan, needs, tiles_key)
    door_mask = _mask(plan.shape, doors)
    walls = jnp.asarray(plan.walls) & ~door_mask
    beside_doors = spread(door_mask) & ~door_mask & ~walls
    rooms = jnp.asarray(plan.room_masks)

    free = ~jnp.asarray(plan.walls) & (tiles == 0)
    spots = []
    for index in range(needs.things + needs.keys):
        is_thing = index < needs.things
        room = rooms[thing_rooms[index] if is_thing else key_rooms[index - needs.things]]
        mask = room & free & ~beside_doors if is_thing else room & free
        spots.append(pick(jax.random.fold_in(cells_key, index), mask))
        free &= ~_mask(plan.shape, spots[-1][None])
    spots = jnp.stack(spots) if spots else jnp.zeros((0, 2), jnp.int32)
    things, keys = spots[: needs.things], spots[needs.things :]

    start = rooms[home] & free & ~spread(_mask(plan.shape, things))
    if needs.rivers and not needs.locks:  # some tile must be crossed: start where no thing is on this side
        start &= ~flood(_mask(plan.shape, things), ~walls & (tiles == 0))
    layout = Layout(
        tiles=tiles,
        doors=doors,
        locked=locked,
        things=things,
        keys=keys,
        agent=pick(agent_key, start),
        direction=jax.random.randint(turn_key, (), 0, 4),
    )
    return layout, start.any() & _is_sound(needs, layout, walls)


def pick(key: jax.Array, mask: jax.Array) -> jax.Array:
    """A cell drawn uniformly from a (height, width) mask: (2,) int32, y and x."""
    index = jnp.argmax(jnp.where(mask, jax.random.uniform(key, mask.shape), -1.0))
    return jnp.stack(jnp.divmod(index, mask.shape[1])).astype(jnp.int32)


def spread(mask: jax.Array) -> jax.Array:
    """A (height, width) mask and its four neighbours; the border of a world is wall, so nothing wraps."""
    sideways = jnp.roll(mask, 1, -1) | jnp.roll(mask, -1, -1)
    return mask | sideways | jnp.roll(mask, 1, -2) | jnp.roll(mask, -1, -2)


def flood(start: jax.Array, walkable: jax.Array) -> jax.Array:
    """The cells that can be walked to from a (height, width) mask of starts."""

    def grow(carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        reached, _ = carry
        grown = reached | (spread(reached) & walkable)
        return grown, (grown != reached).any()

    return jax.lax.while_loop(lambda carry: carry[1], grow, (start, jnp.bool_(True)))[0]


def _mask(shape: tuple[int, ...], positions: jax.Array) -> jax.Array:
    """The (n, 2) positions as a (height, width) mask."""
    y, x = positions[:, 0, None, None], positions[:, 1, None, None]
    return ((jnp.arange(shape[0])[:, None] == y) & (jnp.arange(shape[1])[None, :] == x)).any(0)


def _draw_doors(
    plan: FloorPlan, needs: Needs, locked_rooms: jax.Array, key: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """A place in each shared wall, and whether the door there is locked."""
    corners, runs = plan.door_corners
    if needs.rivers:  # rivers run along every second line; doors open onto the lines between
        offsets = 1 + 2 * jax.random.randint(key, (len(corners), 1), 0, (plan.interior + 1) // 2)
    else:
        offsets = 1 + jax.random.randint(key, (len(corners), 1), 0, plan.interior)
    joined = np.array(plan.doors).reshape(-1, 2)
    locked = (joined[:, :, None] == locked_rooms).any((1, 2)) & needs.locks
    return jnp.asarray(corners + runs * offsets, jnp.int32), locked


def _draw_tiles(plan: FloorPlan, needs: Needs, key: jax.Array) -> jax.Array:
    """Rivers through every room: (height, width) uint8 cells of the tiles, 0 where there is none."""
    if not needs.rivers:
        return jnp.zeros(plan.shape, jnp.uint8)
    size = plan.interior
    rooms = jax.vmap(lambda room_key: draw_room_tiles(size, room_key))(jax.random.split(key, plan.rooms))
    blocks = jnp.pad(rooms.reshape(plan.rows, plan.columns, size, size), ((0, 0), (0, 0), (1, 0), (1, 0)))
    joined = blocks.transpose(0, 2, 1, 3).reshape(plan.rows * (size + 1), plan.columns * (size + 1))
    return jnp.pad(joined, ((0, 1), (0, 1)))


def _is_sound(needs: Needs, layout: Layout, walls: jax.Array) -> jax.Array:
    """Solvable whatever the target, the key and the danger turn out to be; not solvable on dry feet."""
    things = _mask(walls.shape, layout.things)
    if not needs.rivers:
        return _can_solve(layout, ~walls & ~things, every=True)
    safe = [layout.tiles != cells.cell(cells.TILE, colour) for colour in TILE_COLOURS]
    either = jnp.stack([_can_solve(layout, ~walls & ~things & dry, every=True) for dry in safe])
    return either.all() & ~_can_solve(layout, ~walls & (layout.tiles == 0), every=False)


def _can_solve(layout: Layout, walkable: jax.Array, *, every: bool) -> jax.Array:
    """Whether every (or any) key can be taken and, with it, every (or any) thing be reached."""
    # An unlocked door is masked out as if it lay in the corner, which is wall.
    locks = _mask(walkable.shape, layout.doors * layout.locked[:, None])
    start = _mask(walkable.shape, layout.agent[None])
    before, after = flood(start, walkable & ~locks), flood(start, walkable)  # one key opens every lock
    quantify = jnp.all if every else jnp.any
    can_take = _near(before, layout.keys)
    can_reach = _near(after, layout.things)
    has_lock = (spread(before) & locks).any() | ~layout.locked.any()
    return (
        (quantify(can_take) | (can_take.size == 0)) & (quantify(can_reach) | (can_reach.size == 0)) & has_lock
    )


def _near(reached: jax.Array, positions: jax.Array) -> jax.Array:
    """Which of the (n, 2) positions are reached, or one step away: (n,) bool."""
    return spread(reached)[positions[:, 0], positions[:, 1]]
