"""Q-BabyAI in words, so that a person or a language model can play: levels, observations and actions."""

import re
from collections.abc import Iterable

import jax
import jax.numpy as jnp
import numpy as np

from afk.envs.qbabyai.world import cells
from afk.envs.qbabyai.world.state import Observation, State, room_of
from afk.envs.qbabyai.world.view import AGENT_COLUMN, AGENT_ROW, VIEW
from afk.envs.qbabyai.world.words import VOCABULARY
from afk.language import Query

_SKIPPED = ("ask", "is", "the", "s")  # what a question may have beside its three words
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_AGENT_MARKS = (">", "v", "<", "^")
_MAP_MARKS = {cells.TILE: "~", cells.KEY: "k", cells.BALL: "o", cells.BOX: "b", cells.SQUARE: "*"}
_DOOR_MARKS = {cells.OPEN_DOOR: "/", cells.CLOSED_DOOR: "+", cells.LOCKED_DOOR: "&"}
MAP_LEGEND = (
    "> v < ^ agent, # wall, then a mark and the first letter of a colour (grey is a): "
    "~ tile, k key, o ball, b box, * square, / open, + closed, & locked door"
)


def describe_action(action: np.ndarray) -> str:
    """An action, (5,) int, in words: ``forward``, or ``ask "where blue ball"``."""
    switch, physical, *query = (int(each) for each in action)
    return f'ask "{VOCABULARY.phrase(Query(*query))}"' if switch else cells.ACTIONS[physical]


def read_action(text: str) -> np.ndarray:
    """An action in words as (5,) int32, the reverse of `describe_action`; a ValueError if it is none.

    A question may have articles and the like: ``where is the blue ball?``.
    """
    words = [word for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in _SKIPPED]
    line = " ".join(words)
    if line in cells.ACTIONS:
        return np.array([0, cells.ACTIONS.index(line), 0, 0, 0], np.int32)
    if not words or words[0] not in VOCABULARY.functions:
        raise ValueError(
            f"cannot read {text!r}; write {', '.join(cells.ACTIONS)}, or a question such as `where red ball`"
        )
    return np.array([1, 0, *VOCABULARY.query(line)], np.int32)


def describe_observation(observation: Observation) -> str:
    """What the agent sees, carries and has just been answered, in sentences relative to it."""
    kinds, colours, states, directions = np.moveaxis(np.asarray(observation.image, int), -1, 0)
    lines = [f"Your task: {VOCABULARY.decode(observation.mission)}."]
    lines.append(f"You face {cells.DIRECTION_WORDS[directions[0, 0]]}. {_view_ahead(kinds, states)}")
    seen: dict[str, list[str]] = {}
    for column in range(VIEW):
        for row in range(VIEW):
            if (column, row) != (AGENT_COLUMN, AGENT_ROW):
                name = _name(kinds[column, row], colours[column, row], states[column, row])
                seen.setdefault(name, []).append(_offset(AGENT_ROW - row, column - AGENT_COLUMN))
    seen.pop("", None)
    lines += [f"You see {_list_things(seen)}."] if seen else ["You see nothing but floor and walls."]
    held = _name(*(int(channel[AGENT_COLUMN, AGENT_ROW]) for channel in (kinds, colours, states)))
    lines.append(f"You carry {_article(held)} {held}." if held else "You carry nothing.")
    if observation.response.any():
        lines.append(f'The answer: "{VOCABULARY.decode(observation.response)}".')
    return "\n".join(lines)


def describe_state(state: State) -> str:
    """A whole level in sentences: every room, what is in it and where that is from the agent."""
    state = jax.device_get(state)
    codes = np.asarray(state.grid)
    here = _room(state, *state.position)
    rows, columns = _room_shape(state)
    rooms = rows * columns
    layout = f"{_NUMBERS[rooms]} rooms, {rows} by {columns}" if rooms > 1 else "one room"
    held = _code_name(int(state.carrying))
    lines = [
        f"Task: {VOCABULARY.decode(state.level.mission)}.",
        f"The world has {layout}.",
        f"You are in room{here}, facing {cells.DIRECTION_WORDS[int(state.direction)]}.",
        f"You carry {_article(held)} {held}." if held else "You carry nothing.",
    ]
    found: dict[int, dict[str, list[str]]] = {room: {} for room in range(rooms)}
    forward = cells.DIRECTIONS[int(state.direction)]
    for (y, x), code in np.ndenumerate(codes):
        step = np.array([x, y]) - np.asarray(state.position)
        if (name := _code_name(int(code))) and step.any():
            ahead, right = int(step @ forward), int(step @ np.array([-forward[1], forward[0]]))
            found[_room(state, x, y)].setdefault(name, []).append(_offset(ahead, right))
    for room, things in found.items():
        lines.append(f"room{room}: {_list_things(things) if things else 'nothing'}.")
    return "\n".join(lines)


def draw_map(state: State) -> str:
    """A level as a map of two characters a cell; `MAP_LEGEND` says what they mean."""
    state = jax.device_get(state)
    agent = tuple(int(each) for each in state.position)
    rows = []
    for y, row in enumerate(np.asarray(state.grid)):
        marks = [
            f"{_AGENT_MARKS[int(state.direction)]} " if (x, y) == agent else _map_mark(int(code))
            for x, code in enumerate(row)
        ]
        rows.append("".join(marks).rstrip())
    return "\n".join(rows)


def _map_mark(code: int) -> str:
    """Two characters for a cell."""
    kind, colour = code >> 3, cells.COLOURS[(code & 7) % len(cells.COLOURS)]
    if kind == cells.WALL_KIND:
        return "##"
    letter = "a" if colour == "grey" else colour[0]
    mark = (_MAP_MARKS | _DOOR_MARKS).get(kind)
    return f"{mark}{letter}" if mark else ". "


def _room_shape(state: State) -> tuple[int, int]:
    """Rows and columns of rooms."""
    height, _ = state.grid.shape
    return (height - 1) // (int(state.level.room_size) - 1), int(state.level.columns)


def _room(state: State, x: int, y: int) -> int:
    """The number of the room that a position is in."""
    return int(room_of(state.level, jnp.array([x, y])))


def _code_name(code: int) -> str:
    """A cell in words, or nothing for floor and walls."""
    kind = code >> 3
    is_shut = kind > 10
    return _name(cells.OPEN_DOOR if is_shut else kind, code & 7, kind - 10 if is_shut else 0)


def _name(kind: int, colour: int, state: int) -> str:
    """A thing by Minigrid's codes in words, or nothing for floor and walls."""
    if kind not in cells.KIND_WORDS:
        return ""
    words = [cells.COLOURS[colour], cells.KIND_WORDS[kind]]
    return " ".join([cells.DOOR_STATES[state], *words] if kind == cells.OPEN_DOOR else words)


def _article(name: str) -> str:
    return "an" if name[:1] in "aeiou" else "a"


def _offset(ahead: int, right: int) -> str:
    """Where something is, seen from the agent: ``2 ahead and 1 left``."""
    parts = [f"{ahead} ahead" if ahead > 0 else f"{-ahead} behind"] if ahead else []
    parts += [f"{right} right" if right > 0 else f"{-right} left"] if right else []
    return " and ".join(parts)


def _list_things(things: dict[str, list[str]]) -> str:
    """Things and where they are, those that occur several times in one phrase."""
    phrases: Iterable[str] = (
        f"{_article(name)} {name} {offsets[0]}"
        if len(offsets) == 1
        else f"{len(offsets)} {name}s ({', '.join(offsets)})"
        for name, offsets in things.items()
    )
    return "; ".join(phrases)


def _view_ahead(kinds: np.ndarray, states: np.ndarray) -> str:
    """How far the way ahead is free."""
    walkable = (cells.EMPTY_KIND, cells.TILE, cells.SQUARE, cells.KEY)
    for distance in range(1, VIEW):
        cell = AGENT_COLUMN, AGENT_ROW - distance
        kind = int(kinds[cell])
        if kind not in walkable and not (kind == cells.OPEN_DOOR and states[cell] == 0):
            blocker = cells.KIND_WORDS.get(kind, "wall")
            free = f"free for {distance - 1}, then" if distance > 1 else "blocked:"
            return f"The way ahead is {free} {_article(blocker)} {blocker}."
    return "The way ahead is free as far as you see."
