"""Our levels in Minigrid: to draw them, and to check our rules against Minigrid's own.

Nothing that trains imports this module: Minigrid is not installed everywhere.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from minigrid.core.grid import Grid
from minigrid.core.mission import MissionSpace
from minigrid.core.world_object import Ball, Box, Door, Floor, Goal, Key, Wall, WorldObj
from minigrid.minigrid_env import MiniGridEnv

from afk.envs.qbabyai.environment import QBabyAI
from afk.envs.qbabyai.world import cells
from afk.envs.qbabyai.world.dynamics import step
from afk.envs.qbabyai.world.state import State
from afk.envs.qbabyai.world.view import look, seen_cells


class OpenKey(Key):
    """A key that can be walked over."""

    def can_overlap(self) -> bool:
        """Whether the agent may stand on it."""
        return True


class OpenBox(Box):
    """A box that can be walked over."""

    def can_overlap(self) -> bool:
        """Whether the agent may stand on it."""
        return True


class LevelDoor(Door):
    """A door whose lock opens with the key that the level names, whatever its own colour."""

    def __init__(self, color: str, *, is_open: bool, is_locked: bool, key_colour: str | None) -> None:
        super().__init__(color, is_open, is_locked)
        self.key_colour = key_colour

    def toggle(self, env: MiniGridEnv, pos: tuple[int, int]) -> bool:
        """Open it or close it, if it is not locked or the key fits."""
        if isinstance(env.carrying, Key) and env.carrying.color == self.key_colour:
            self.is_locked = False
        return not self.is_locked and super().toggle(env, pos)


_PLAIN = {cells.WALL_KIND: Wall, cells.TILE: Floor, cells.KEY: OpenKey, cells.BALL: Ball, cells.SQUARE: Goal}

_BUSY = (0.12, 0.12, 0.38, 0.15, 0.05, 0.15, 0.03)  # how often each action comes in a busy episode


def to_grid(state: State) -> Grid:
    """The world of a state as Minigrid's grid, with the two rules that differ from Minigrid's."""
    codes = np.asarray(state.grid)
    height, width = codes.shape
    grid = Grid(width, height)
    grid.grid = [_thing(state, code) for code in codes.ravel().tolist()]
    return grid


def render(state: State, *, tile_size: int = 32, highlight: bool = True) -> np.ndarray:
    """Draw a state as Minigrid does.

    Args:
        state: a single state.
        tile_size: pixels along a cell.
        highlight: whether to brighten the cells that the agent sees.

    Returns:
        (height * tile_size, width * tile_size, 3) uint8.
    """
    if tile_size < 1:
        raise ValueError(f"tile_size is a number of pixels from 1 on, not {tile_size}")
    x, y = np.asarray(state.position).tolist()
    # Minigrid's grids are indexed by x and then y.
    seen = seen_cells(np.asarray(jax.jit(look)(state)), state).T if highlight else None
    return to_grid(state).render(tile_size, (x, y), int(state.direction), seen)


class Snapshot(NamedTuple):
    """All that can be compared between our world and Minigrid's.

    Attributes:
        image: (7, 7, 4) uint8, what the agent sees, and its direction.
        grid: (height, width, 3) uint8, type, colour and state of every cell.
        position: (2,) int32, x and y of the agent.
        direction: () int32.
        carrying: (3,) uint8, type, colour and state of what it carries; an empty cell if it carries nothing.
    """

    image: Any
    grid: Any
    position: Any
    direction: Any
    carrying: Any

    def differences(self, other: "Snapshot") -> tuple[str, ...]:
        """The names of what differs between two snapshots."""
        pairs = zip(self._fields, self, other, strict=True)
        return tuple(name for name, mine, theirs in pairs if not np.array_equal(mine, theirs))


def snapshot(state: State) -> Snapshot:
    """What our world shows."""
    return Snapshot(
        image=look(state),
        grid=cells.to_minigrid(state.grid),
        position=state.position,
        direction=state.direction,
        carrying=cells.to_minigrid(state.carrying),
    )


class MinigridReference(MiniGridEnv):
    """One of our states as an environment that runs Minigrid's own code."""

    def __init__(self, state: State) -> None:
        height, width = np.shape(state.grid)
        self._start = state
        super().__init__(
            MissionSpace(lambda: "play"), width=width, height=height, max_steps=int(state.level.max_steps)
        )
        self.reset()
        self.carrying = _thing(state, int(state.carrying))

    def _gen_grid(self, width: int, height: int) -> None:
        self.grid = to_grid(self._start)
        x, y = np.asarray(self._start.position).tolist()
        self.agent_pos, self.agent_dir = (x, y), int(self._start.direction)

    def play(self, action: np.ndarray) -> Snapshot:
        """Carry out one of our (5,) actions, and show what came of it; a query is Minigrid's ``done``."""
        observation, *_ = self.step(cells.DONE if action[0] == 1 else int(action[1]))
        return self._snapshot(observation["image"])

    def snapshot(self) -> Snapshot:
        """What Minigrid's world shows."""
        return self._snapshot(self.gen_obs()["image"])

    def _snapshot(self, image: np.ndarray) -> Snapshot:
        direction = np.full((*image.shape[:2], 1), self.agent_dir)
        return Snapshot(
            image=np.concatenate([image, direction], axis=-1),
            grid=self.grid.encode().swapaxes(0, 1),
            position=self.agent_pos,
            direction=self.agent_dir,
            carrying=self.carrying.encode() if self.carrying else (cells.EMPTY_KIND, 0, 0),
        )


@jax.jit
def record(states: State, actions: jax.Array) -> tuple[Snapshot, jax.Array]:
    """Play actions in our world.

    Args:
        states: with a leading axis of levels.
        actions: (levels, steps, 5) int.

    Returns:
        Snapshots (levels, steps + 1, ...), the first of them before any action, and the number of steps until
        each episode ended, or until the actions did: (levels,) int.
    """

    def advance(state: State, action: jax.Array) -> tuple[State, tuple[Snapshot, jax.Array]]:
        state, outcome = step(state, action)
        return state, (snapshot(state), outcome.success | outcome.failure | outcome.timeout)

    def play(state: State, actions: jax.Array) -> tuple[Snapshot, jax.Array]:
        _, (later, over) = jax.lax.scan(advance, state, actions)
        shots = jax.tree.map(lambda first, rest: jnp.concatenate([first[None], rest]), snapshot(state), later)
        return shots, jnp.where(over.any(), jnp.argmax(over) + 1, len(over))

    return jax.vmap(play)(states, actions)


def random_actions(rng: np.random.Generator, levels: int, steps: int) -> np.ndarray:
    """Random actions, a tenth of them queries: (levels, steps, 5) int.

    In every other level they are biased, so that the agent gets around and moves things.
    """
    actions = rng.integers(QBabyAI.action_sizes, size=(levels, steps, len(QBabyAI.action_sizes)))
    actions[..., 0] = rng.random((levels, steps)) < 0.1
    actions[1::2, :, 1] = rng.choice(len(cells.ACTIONS), size=actions[1::2, :, 1].shape, p=_BUSY)
    return actions


def compare(states: State, actions: np.ndarray) -> tuple[int, list[str]]:
    """Play the same actions in our world and in Minigrid until our episodes end.

    Args:
        states: with a leading axis of levels.
        actions: (levels, steps, 5) int.

    Returns:
        How many steps were compared, and a line for each of them after which the worlds differ.
    """
    states, (ours, lengths) = jax.device_get((states, record(states, jnp.asarray(actions))))
    mismatches = []
    for level, length in enumerate(lengths):
        reference = MinigridReference(jax.tree.map(lambda leaf, level=level: leaf[level], states))
        theirs = reference.snapshot()
        for count in range(length + 1):
            if count:
                theirs = reference.play(actions[level, count - 1])
            shot = Snapshot(*(field[level, count] for field in ours))
            if what := shot.differences(theirs):
                mismatches.append(f"level {level}, after {count} steps: {', '.join(what)}")
    return int(lengths.sum()), mismatches


def _thing(state: State, code: int) -> WorldObj | None:
    """A cell as Minigrid's object; a box holds what the level puts into it."""
    kind, colour = cells.kind_of(code), cells.COLOURS[cells.colour_of(code)]
    level = state.level
    if kind == cells.EMPTY_KIND:
        return None
    if kind == cells.BOX:
        make = OpenBox if level.boxes_passable else Box
        return make(colour, _thing(state, int(level.contents[cells.colour_of(code)])))
    if kind in _PLAIN:
        return _PLAIN[kind](colour)
    key_colour = int(level.key_colour)
    return LevelDoor(
        colour,
        is_open=kind == cells.OPEN_DOOR,
        is_locked=kind == cells.LOCKED_DOOR,
        key_colour=cells.COLOURS[key_colour] if key_colour >= 0 else None,
    )
