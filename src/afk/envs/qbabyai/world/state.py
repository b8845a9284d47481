"""The state of an episode, as frozen pytrees of fixed shapes: a level is data, whatever its task."""

from typing import Any

import equinox as eqx
import jax

from afk.knowledge.facts import FactTable
from afk.knowledge.traits import Dealings

MAX_FACTS = 24
MAX_GOOD_QUERIES = 8


class Level(eqx.Module):
    """What does not change during an episode.

    Attributes:
        mission: (20,) uint8, the instruction v_0 as tokens.
        good_queries: (8, 3) int8, Q_t as keys of the fact table; unused rows are `UNUSED`.
        contents: (6,) uint8, what the box of each colour holds, as a cell.
        danger: () int8, the colour of the danger zone, or -1.
        key_colour: () int8, the colour of the key that opens the locks, or -1.
        goal: () int8, what counts as success: a number of `afk.envs.qbabyai.world.goals.GOALS`.
        target: () uint8, the cell that the goal is about.
        wrong_box_ends: () bool, whether opening another box than the target's ends the episode.
        unlocking_pays: () bool, whether the first lock that is opened pays, though it is not the goal.
        boxes_passable: () bool, whether boxes can be walked over, as in the released edition.
        room_size: () int32, walls included; neighbouring rooms share a wall.
        columns: () int32, rooms in a row.
        max_steps: () int32.
    """

    mission: jax.Array
    good_queries: jax.Array
    contents: jax.Array
    danger: jax.Array
    key_colour: jax.Array
    goal: jax.Array
    target: jax.Array
    wrong_box_ends: jax.Array
    unlocking_pays: jax.Array
    boxes_passable: jax.Array
    room_size: jax.Array
    columns: jax.Array
    max_steps: jax.Array


class State(eqx.Module):
    """What changes, and the level it changes in.

    Attributes:
        level: the rules of this episode.
        grid: (height, width) uint8 cells; see `afk.envs.qbabyai.world.cells`.
        facts: what the oracle knows now; of things that are moved, where they are now.
        position: (2,) int32, x and y of the agent.
        direction: () int32, 0 to 3: right, down, left, up.
        carrying: () uint8, the cell in the agent's hands, or `EMPTY`.
        step: () int32, steps taken, queries included.
        unlocked: () bool, whether a lock has been opened.
        asked: (8,) bool, which of the good queries have been asked and answered.
        queries: () int32, queries asked, of any kind.
        dealings: with sources that have traits; None where there is the paper's oracle alone.
    """

    level: Level
    grid: jax.Array
    facts: FactTable
    position: jax.Array
    direction: jax.Array
    carrying: jax.Array
    step: jax.Array
    unlocked: jax.Array
    asked: jax.Array
    queries: jax.Array
    dealings: Dealings | None = None


class Observation(eqx.Module):
    """What the agent gets: o_env and v_t, with the instruction beside them.

    Attributes:
        image: (7, 7, 4) uint8, Minigrid's type, colour and state of each cell, and the agent's direction;
            the first axis runs from left to right, the second from far to near.
        mission: (20,) uint8, the instruction as tokens.
        response: (12,) uint8, the answer as tokens, all padding when nothing was asked; (14,) where answers
            say whose they are.
        terms: (sources, 3) float32, the price that each source shows, what it was paid so far, and how often
            it answered; None where there is the paper's oracle alone.
    """

    image: jax.Array
    mission: jax.Array
    response: jax.Array
    terms: jax.Array | None = None

    @property
    def seen(self) -> Any:
        """What is seen, whatever the world: the image, or the image and the terms."""
        return self.image if self.terms is None else (self.image, self.terms)


def room_of(level: Level, position: jax.Array) -> jax.Array:
    """The number of the room that (..., 2) positions are in: row by row, () int32."""
    column_and_row = position // (level.room_size - 1)
    return column_and_row[..., 1] * level.columns + column_and_row[..., 0]
