"""What a cell can hold, as one byte: ``kind * 8 + colour``.

Kinds and colours are Minigrid's codes. A door's state is part of its kind here, so that a cell is a single
number; `to_minigrid` gives the (type, colour, state) triple that Minigrid shows.
"""

from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np

Code = TypeVar("Code", int, np.ndarray, jax.Array)

COLOURS = ("red", "green", "blue", "purple", "yellow", "grey")
RED, GREEN, BLUE, PURPLE, YELLOW, GREY = range(6)

UNSEEN, EMPTY_KIND, WALL_KIND, TILE, OPEN_DOOR, KEY, BALL, BOX, SQUARE = range(9)
CLOSED_DOOR, LOCKED_DOOR = 11, 12  # Minigrid's door with state 1 and 2

KIND_WORDS = {TILE: "tile", OPEN_DOOR: "door", KEY: "key", BALL: "ball", BOX: "box", SQUARE: "square"}
DOOR_STATES = ("open", "closed", "locked")

# Left, right, forward, pick up, drop, toggle, done: Minigrid's seven actions.
LEFT, RIGHT, FORWARD, PICK_UP, DROP, TOGGLE, DONE = range(7)
ACTIONS = ("left", "right", "forward", "pick up", "drop", "toggle", "done")

# The switch of an action: to carry out the physical one, or to ask.
ACT, ASK = range(2)

# (x, y) steps of the directions right, down, left, up.
DIRECTIONS = np.array([(1, 0), (0, 1), (-1, 0), (0, -1)], np.int32)
DIRECTION_WORDS = ("east", "south", "west", "north")


def cell(kind: int, colour: Code) -> Code:
    """The byte of a thing."""
    return kind * 8 + colour


EMPTY = cell(EMPTY_KIND, RED)
WALL = cell(WALL_KIND, GREY)
GREEN_SQUARE = cell(SQUARE, GREEN)


def kind_of(code: Code) -> Code:
    """The kind of a cell, doors by their state."""
    return code >> 3


def colour_of(code: Code) -> Code:
    """The colour of a cell."""
    return code & 7


def is_any(kind: jax.Array, *kinds: int) -> jax.Array:
    """Whether a kind is one of several, as one shift of a bit mask."""
    mask = sum(1 << each for each in kinds)
    return ((mask >> kind.astype(jnp.int32)) & 1).astype(bool)


def to_minigrid(code: jax.Array) -> jax.Array:
    """Bytes (...,) as Minigrid's (..., 3) type, colour and state."""
    kind = kind_of(code)
    is_shut = kind > 10
    return jnp.stack(
        [
            jnp.where(is_shut, OPEN_DOOR, kind),
            colour_of(code),
            jnp.where(is_shut, kind - 10, 0),
        ],
        axis=-1,
    ).astype(jnp.uint8)
