"""One step of the world: Minigrid's rules, the oracle, and what succeeds or fails.

Two rules differ from Minigrid, as in the paper's environment: keys can be walked over, and so can boxes where
the level says so; a lock opens with the key that the level names, whatever the colour of its door.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp

from afk.envs.qbabyai.world import cells
from afk.envs.qbabyai.world.asking import ask_oracle, ask_source
from afk.envs.qbabyai.world.goals import GOALS, Situation
from afk.envs.qbabyai.world.state import State, room_of
from afk.envs.qbabyai.world.words import COLOUR_ADJECTIVES, ROOM_TOKENS, ROOM_WORD, VOCABULARY, WHERE
from afk.knowledge.facts import EVERYWHERE, NEVER, FactTable
from afk.knowledge.live import Live
from afk.knowledge.traits import SourceSpec

_KIND_NOUNS = {
    kind: VOCABULARY.nouns.index(cells.KIND_WORDS[kind]) for kind in (cells.KEY, cells.BALL, cells.BOX)
}


class Outcome(NamedTuple):
    """What a step led to.

    Attributes:
        response: (12,) uint8, the oracle's answer, or padding.
        reward: () float32.
        success: () bool, the whole task is done.
        failure: () bool, the episode ended early in a mistake.
        timeout: () bool, the steps are used up and neither happened.
        cost: () float32, of a question to a source with traits; None where there is the oracle alone.
    """

    response: jax.Array
    reward: jax.Array
    success: jax.Array
    failure: jax.Array
    timeout: jax.Array
    cost: jax.Array | None = None


def step(
    state: State, action: jax.Array, sources: Sequence[SourceSpec] = (), live: Live | None = None
) -> tuple[State, Outcome]:
    """Act or ask.

    Args:
        state: where things stand.
        action: (5,) int, ``<switch, physical, func, adj, noun>``; the physical action counts when the
            switch is 0, the query when it is more: 1 for the first source, and so on. A query leaves the
            world as it is and takes a step.
        sources: what can be asked; the paper's oracle if none are given.
        live: who is asked on the host in the oracle's place; nobody if None.
    """
    is_query, query = action[0] >= cells.ASK, action[2:]
    cost = None
    if sources:
        source = jnp.maximum(action[0] - cells.ASK, 0)
        asked, response, cost = ask_source(state, query, is_query, source, sources, live)
    else:
        asked, response = ask_oracle(state, query, is_query, live)
    acted, opened_box = _act(asked, jnp.where(is_query, cells.DONE, action[1]))
    after, outcome = _judge(state, acted, opened_box, response)
    return after, outcome._replace(cost=cost)


def _act(state: State, action: jax.Array) -> tuple[State, jax.Array]:
    """Carry out one of the seven actions; returns the box that was opened, or `EMPTY`, beside the state."""
    level = state.level
    ahead = state.position + jnp.asarray(cells.DIRECTIONS)[state.direction]
    front = state.grid[ahead[1], ahead[0]]
    kind, hands_empty = cells.kind_of(front), state.carrying == cells.EMPTY

    turn = (action == cells.RIGHT).astype(jnp.int32) - (action == cells.LEFT)
    enterable = cells.is_any(kind, cells.EMPTY_KIND, cells.TILE, cells.SQUARE, cells.KEY, cells.OPEN_DOOR)
    enterable |= level.boxes_passable & (kind == cells.BOX)
    moves = (action == cells.FORWARD) & enterable
    picks = (action == cells.PICK_UP) & hands_empty & cells.is_any(kind, cells.KEY, cells.BALL, cells.BOX)
    drops = (action == cells.DROP) & ~hands_empty & (front == cells.EMPTY)
    toggles = action == cells.TOGGLE
    fits = state.carrying == cells.cell(cells.KEY, level.key_colour.astype(jnp.uint8))
    unlocks = toggles & (kind == cells.LOCKED_DOOR) & fits
    opens = unlocks | (toggles & (kind == cells.CLOSED_DOOR))
    closes = toggles & (kind == cells.OPEN_DOOR)
    opens_box = toggles & (kind == cells.BOX)

    colour = cells.colour_of(front)
    after = jnp.where(picks, cells.EMPTY, front)
    after = jnp.where(drops, state.carrying, after)
    after = jnp.where(opens, cells.cell(cells.OPEN_DOOR, colour), after)
    after = jnp.where(closes, cells.cell(cells.CLOSED_DOOR, colour), after)
    after = jnp.where(opens_box, level.contents[colour], after)

    height, width = state.grid.shape
    is_ahead = (jnp.arange(height)[:, None] == ahead[1]) & (jnp.arange(width)[None, :] == ahead[0])
    moved = jnp.where(drops, state.carrying, front)
    facts = follow(state.facts, moved, gone=picks | opens_box, back=drops, room=room_of(level, ahead))
    state = replace(
        state,
        grid=jnp.where(is_ahead, after, state.grid),
        facts=facts,
        position=jnp.where(moves, ahead, state.position),
        direction=(state.direction + turn) % 4,
        carrying=jnp.where(picks, front, jnp.where(drops, jnp.uint8(cells.EMPTY), state.carrying)),
        unlocked=state.unlocked | unlocks,
    )
    return state, jnp.where(opens_box, front, jnp.uint8(cells.EMPTY))


def follow(
    facts: FactTable, thing: jax.Array, *, gone: jax.Array, back: jax.Array, room: jax.Array
) -> FactTable:
    """Keep "where is the red key" true when the thing is taken from the floor or put back."""
    kind = cells.kind_of(thing)
    noun = sum((kind == each) * noun for each, noun in _KIND_NOUNS.items())
    key = jnp.stack([jnp.int32(WHERE), jnp.asarray(COLOUR_ADJECTIVES)[cells.colour_of(thing)], noun])
    row = (facts.keys == key).all(-1) & (gone | back)
    scope = jnp.where(row, jnp.where(gone, NEVER, EVERYWHERE), facts.scope)
    is_room_word = (row & back)[:, None] & (jnp.arange(facts.answers.shape[1]) == ROOM_WORD)
    answers = jnp.where(is_room_word, jnp.asarray(ROOM_TOKENS)[room], facts.answers)
    return replace(facts, scope=scope.astype(jnp.int8), answers=answers)


def _judge(before: State, state: State, opened_box: jax.Array, response: jax.Array) -> tuple[State, Outcome]:
    """Count the step, and say what it led to."""
    level = state.level
    state = replace(state, step=state.step + 1)
    ahead = state.position + jnp.asarray(cells.DIRECTIONS)[state.direction]
    underfoot = state.grid[state.position[1], state.position[0]]
    now = Situation(
        underfoot=underfoot,
        ahead=state.grid[ahead[1], ahead[0]],
        carrying=state.carrying,
        opened_box=opened_box,
        unlocked=state.unlocked,
        target=level.target,
    )
    in_danger = underfoot == cells.cell(cells.TILE, level.danger.astype(jnp.uint8))
    wrong_box = level.wrong_box_ends & (opened_box != cells.EMPTY) & (opened_box != level.target)
    failure = in_danger | wrong_box
    reached = [(level.goal == number) & goal.reached(now) for number, goal in enumerate(GOALS)]
    success = jnp.stack(reached).any() & ~failure
    pays = success | (level.unlocking_pays & state.unlocked & ~before.unlocked)
    reward = pays * (1.0 - 0.9 * state.step / level.max_steps)
    timeout = (state.step >= level.max_steps) & ~success & ~failure
    return state, Outcome(response, reward.astype(jnp.float32), success, failure, timeout)
