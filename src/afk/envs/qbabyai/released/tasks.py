"""The released edition of the paper's tasks, and how its levels are drawn.

Levels are kept as they come, those without a solution too: `afk.envs.qbabyai.solver.find_plan` tells.
"""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np

from afk.envs.qbabyai.levels.builder import LevelBuilder
from afk.envs.qbabyai.levels.clause import Clause
from afk.envs.qbabyai.levels.layout import Layout, pick
from afk.envs.qbabyai.levels.rivers import TILE_COLOURS
from afk.envs.qbabyai.levels.tasks import Task, paper_tasks
from afk.envs.qbabyai.released.plans import RELEASED, Place, Released
from afk.envs.qbabyai.released.rivers import draw_rivers
from afk.envs.qbabyai.world import cells
from afk.envs.qbabyai.world.state import State

EDITION = "released"
_DOWN = 1  # the direction that the agent looks in where its place is fixed
_ALWAYS_DRY = (2, 1)


@dataclass(frozen=True)
class ReleasedTask(Task):
    """A task whose levels have the released geometry.

    Attributes:
        made_of: that geometry.
    """

    made_of: Released = RELEASED["C"]

    @property
    def symbol(self) -> str:
        """The paper's letters behind the edition, such as released/CS."""
        return f"{EDITION}/{super().symbol}"

    @property
    def title(self) -> str:
        """The task's clauses in words, and its edition."""
        return f"{super().title} ({EDITION})"

    def draw(self, key: jax.Array) -> tuple[State, jax.Array]:
        """Draw a level; every one is played, whether it has a solution or not."""
        layout_key, tiles_key, builder_key, *clause_keys = jax.random.split(key, 6)
        layout = _draw_layout(self.made_of, layout_key)
        builder = LevelBuilder(self.plan, layout, joined_by=self.joined_by)
        builder.door_colour = self.made_of.door_colour
        for clause, clause_key in zip(self._roles, clause_keys, strict=True):
            if clause:
                clause.build(builder, clause_key)
        builder.layout = replace(layout, locked=_locked_doors(self.made_of, builder))
        builder.rules["unlocking_pays"] = self.made_of.unlocking_pays
        builder.rules["boxes_passable"] = self.made_of.boxes_passable
        if self.made_of.rivers:
            builder.grid = _flood(self.made_of, builder, tiles_key)
        return builder.finish(builder_key), jnp.bool_(True)


def released_tasks() -> tuple[ReleasedTask, ...]:
    """The fifteen tasks of the paper in the released edition."""
    return tuple(_release(task, RELEASED[task.symbol]) for task in paper_tasks()[: len(RELEASED)])


def _release(task: Task, made_of: Released) -> ReleasedTask:
    """The released edition of a task of ours."""

    def replaced(clause: Clause) -> Clause:
        return next((each for each in made_of.clauses if isinstance(each, type(clause))), clause)

    name = f"{EDITION}/{task.name.partition('/')[2]}"
    clauses = tuple(map(replaced, task.clauses))
    return ReleasedTask(name, made_of.plan, clauses, task.joined_by, made_of)


def _draw_layout(made_of: Released, key: jax.Array) -> Layout:
    """Where everything is; no door is locked and no tile laid yet."""
    plan = made_of.plan
    rooms_key, spots_key, order_key, doors_key, turn_key = jax.random.split(key, 5)
    places = (made_of.agent, *made_of.things, *made_of.keys)
    home = _draw_home(plan.rooms, made_of.agent, jax.random.fold_in(rooms_key, 0))
    free = jnp.asarray(~plan.walls)
    for place in places:
        if isinstance(place, tuple):
            free = free.at[place[1], place[0]].set(False)
    doors = _draw_doors(made_of, doors_key)
    spots = []
    for number, place in enumerate(places):
        if isinstance(place, tuple):
            spots.append(jnp.asarray(place[::-1], jnp.int32))
            continue
        room = (
            home
            if number == 0
            else _draw_room(plan.rooms, place, home, jax.random.fold_in(rooms_key, number))
        )
        is_thing = 1 <= number <= len(made_of.things)
        inside = jnp.asarray(plan.room_masks)[room] & (~_beside(doors, plan.shape) | (not is_thing))
        spots.append(pick(jax.random.fold_in(spots_key, number), inside & free))
        free = free.at[spots[-1][0], spots[-1][1]].set(False)
    count = 1 + len(made_of.things)
    things = jnp.stack(spots[1:count]) if made_of.things else jnp.zeros((0, 2), jnp.int32)
    keys = jnp.stack(spots[count:]) if made_of.keys else jnp.zeros((0, 2), jnp.int32)
    turned = jax.random.randint(turn_key, (), 0, 4)
    return Layout(
        tiles=jnp.zeros(plan.shape, jnp.uint8),
        doors=doors,
        locked=jnp.zeros(len(plan.doors), bool),
        things=jax.random.permutation(order_key, things),
        keys=keys,
        agent=spots[0],
        direction=jnp.int32(_DOWN) if isinstance(made_of.agent, tuple) else turned,
    )


def _draw_home(rooms: int, place: Place, key: jax.Array) -> jax.Array:
    """The agent's room where it is one: () int32; that of a cell is of no account."""
    return jnp.int32(place) if isinstance(place, int) else jax.random.randint(key, (), 0, rooms)


def _draw_room(rooms: int, place: Place, home: jax.Array, key: jax.Array) -> jax.Array:
    """The room of a place that is no cell: () int32."""
    if isinstance(place, int):
        return jnp.int32(place)
    if place == "home":
        return home
    if place == "away":
        return (home + jax.random.randint(key, (), 1, rooms)) % rooms
    return jax.random.randint(key, (), 0, rooms)


def _draw_doors(made_of: Released, key: jax.Array) -> jax.Array:
    """Where the doors are: (doors, 2) int32, y and x."""
    plan = made_of.plan
    if isinstance(made_of.doors, tuple):
        return jnp.asarray(made_of.doors, jnp.int32).reshape(-1, 2)[:, ::-1]
    corners, runs = plan.door_corners
    if made_of.doors == "middle":
        offsets = jnp.full((len(corners), 1), plan.room_size // 2)
    else:
        offsets = 1 + jax.random.randint(key, (len(corners), 1), 0, plan.interior)
    return jnp.asarray(corners + runs * offsets, jnp.int32)


def _beside(doors: jax.Array, shape: tuple[int, int]) -> jax.Array:
    """The cells beside (doors, 2) doors, which a thing there would block: (height, width) bool."""
    rows, columns = np.indices(shape)
    away = abs(rows - doors[:, 0, None, None]) + abs(columns - doors[:, 1, None, None])
    return (away == 1).any(0)


def _locked_doors(made_of: Released, builder: LevelBuilder) -> jax.Array:
    """Which doors are locked, now that the target is known: (doors,) bool."""
    plan, layout = made_of.plan, builder.layout
    joined = np.array(plan.doors).reshape(-1, 2)
    if made_of.locks != "beside":
        return jnp.asarray(np.isin(np.arange(len(joined)), made_of.locks))
    codes = builder.grid[layout.things[:, 0], layout.things[:, 1]]
    target = layout.things[jnp.argmax(codes == builder.rules["target"])]
    row, column = target // plan.room_size
    return (jnp.asarray(joined) == row * plan.columns + column).any(-1)


def _flood(made_of: Released, builder: LevelBuilder, key: jax.Array) -> jax.Array:
    """The grid with rivers wherever nothing stands: (height, width)."""
    plan, layout, grid = made_of.plan, builder.layout, builder.grid
    danger = jnp.asarray(builder.rules["danger"])
    first, second = TILE_COLOURS
    safe_tile = cells.cell(cells.TILE, jnp.where(danger == first, second, first))
    dangerous_tile = cells.cell(cells.TILE, danger)
    tiles = jnp.zeros(plan.shape, grid.dtype)
    for number, (rivers, room_key) in enumerate(
        zip(made_of.rivers, jax.random.split(key, plan.rooms), strict=True)
    ):
        safe, dangerous = draw_rivers(rivers, room_key)
        y, x = (each * (plan.room_size - 1) + 1 for each in divmod(number, plan.columns))
        block = jnp.where(safe, safe_tile, jnp.where(dangerous, dangerous_tile, 0))
        tiles = tiles.at[y : y + plan.interior, x : x + plan.interior].set(block.astype(grid.dtype))
    dry = jnp.asarray([layout.agent, jnp.asarray(_ALWAYS_DRY[::-1])])
    tiles = tiles.at[dry[:, 0], dry[:, 1]].set(0)
    return jnp.where((grid == cells.EMPTY) & (tiles > 0), tiles, grid)
