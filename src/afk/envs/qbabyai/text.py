"""Q-BabyAI in words, so that a person or a language model can play: levels, observations and actions."""

import re
from collections.abc import Iterable

import jax
import jax.numpy as jnp
import numpy as np

from afk.envs.qbabyai.levels.tasks import Task
from afk.envs.qbabyai.world import cells
from afk.envs.qbabyai.world.state import Observation, State, room_of
from afk.envs.qbabyai.world.view import AGENT_COLUMN, AGENT_ROW, VIEW
from afk.envs.qbabyai.world.words import SOURCE_NAMES, VOCABULARY
from afk.language import Query

_SKIPPED = ("ask", "is", "the", "s")  # what a question may have beside its three words
# What people and models say for the seven actions, and what they may name besides: the thing ahead.
_SAID = {
    **{
        side: (side, *(f"{verb} {side}" for verb in ("turn", "rotate", "go", "turn to the")))
        for side in ("left", "right")
    },
    "forward": (
        *("forward", "ahead", "move", "step", "walk"),
        *(f"{verb} {where}" for verb in ("move", "go", "step", "walk") for where in ("forward", "ahead")),
    ),
    "pick up": ("pick up", "pickup", "pick", "take", "grab"),
    "drop": ("drop", "put down"),
    "toggle": ("toggle", "open", "close", "unlock"),
    "done": ("done", "wait", "stay", "noop", "do nothing"),
}
_ACTS_ON_THINGS = ("pick up", "drop", "toggle")
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_AGENT_MARKS = (">", "v", "<", "^")
_MAP_MARKS = {cells.TILE: "~", cells.KEY: "k", cells.BALL: "o", cells.BOX: "b", cells.SQUARE: "*"}
_DOOR_MARKS = {cells.OPEN_DOOR: "/", cells.CLOSED_DOOR: "+", cells.LOCKED_DOOR: "&"}
MAP_LEGEND = (
    "> v < ^ agent, # wall, then a mark and the first letter of a colour (grey is a): "
    "~ tile, k key, o ball, b box, * square, / open, + closed, & locked door"
)


def describe_action(action: np.ndarray, *, sources: int = 1) -> str:
    """An action, (5,) int, in words: ``forward``, or ``ask "where blue ball"``.

    Of several sources the one that is asked is named: ``ask tom "where blue ball"``.
    """
    switch, physical, *query = (int(each) for each in action)
    whom = f"{SOURCE_NAMES[switch - cells.ASK]} " if sources > 1 and switch else ""
    return f'ask {whom}"{VOCABULARY.phrase(Query(*query))}"' if switch else cells.ACTIONS[physical]


def read_action(text: str, *, sources: int = 1) -> np.ndarray:
    """An action in words as (5,) int32, the reverse of `describe_action`; a ValueError if it is none.

    A question may have articles and the like: ``where is the blue ball?``; actions may be said as usual:
    ``turn left``, ``move forward``, ``open the green box``. Of several sources the first is asked if none is
    named.
    """
    if (action := _physical(text)) is not None:
        return np.array([0, action, 0, 0, 0], np.int32)
    words = [word for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in _SKIPPED]
    names = SOURCE_NAMES[:sources] if sources > 1 else ()
    whom = names.index(words.pop(0)) if words and words[0] in names else 0
    line = " ".join(words)
    if not words or words[0] not in VOCABULARY.functions:
        raise ValueError(
            f"cannot read {text!r}; write {', '.join(cells.ACTIONS)}, or a question such as `where kitchen`"
        )
    return np.array([cells.ASK + whom, 0, *VOCABULARY.query(line)], np.int32)


def _physical(text: str) -> int | None:
    """The physical action that a line says, if it says one."""
    words = re.findall(r"[a-z]+|\d+", text.lower().replace("_", " "))
    named = {"the", "a", "an", "it", *cells.COLOURS, *cells.KIND_WORDS.values(), *cells.DOOR_STATES}
    for action, phrases in _SAID.items():
        for phrase in phrases:
            verb, rest = words[: len(phrase.split())], words[len(phrase.split()) :]
            if verb == phrase.split() and (
                not rest or (action in _ACTS_ON_THINGS and named.issuperset(rest))
            ):
                return cells.ACTIONS.index(action)
    return None


def describe_rules(task: Task) -> str:
    """What a player has to know before the first step of a task, whatever the level."""
    plan, size = task.plan, task.plan.interior
    rooms = f"one room, room0, of {size} by {size} cells"
    if plan.rooms > 1:
        rooms = (
            f"{plan.rooms} rooms of {size} by {size} cells, {plan.rows} by {plan.columns}: room0 in the "
            "north-west, then row by row, west to east, with a wall and at most one door between neighbours"
        )
    lines = [
        f"The world has {rooms}. You see the 7 by 7 cells ahead, as far as walls and shut doors let you; "
        "places are told from where you stand.",
        "You walk over floor, tiles, squares, keys and through open doors; balls, boxes and walls are in the "
        "way. What you pick up, toggle or drop is right ahead of you; you carry one thing at a time. "
        "Toggling opens a box, and opens or shuts a door.",
        *(clause.rule for clause in (task.hazard, task.lock, task.destination) if clause and clause.rule),
        f"Everything you do takes one of {task.max_steps} steps; the fewer, the more success pays.",
    ]
    return "\n".join(lines)


def describe_observation(observation: Observation, state: State) -> str:
    """What the agent sees, carries and has just been answered, in sentences relative to it.

    Args:
        observation: what it gets.
        state: where it gets that: in which room, how far from the walls, and on what.
    """
    kinds, colours, states, directions = np.moveaxis(np.asarray(observation.image, int), -1, 0)
    lines = [f"Your task: {VOCABULARY.decode(observation.mission)}."]
    lines.append(f"You face {cells.DIRECTION_WORDS[directions[0, 0]]} {_describe_place(state)}")
    lines.append(f"Ahead: {_view_ahead(kinds, colours, states)}.")
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
    here = _room(state, *np.asarray(state.position))
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


def _view_ahead(kinds: np.ndarray, colours: np.ndarray, states: np.ndarray) -> str:
    """The cells straight ahead, up to what stops the view, or the edge of it."""
    named = []
    for row in range(AGENT_ROW - 1, -1, -1):
        kind, colour, state = (int(channel[AGENT_COLUMN, row]) for channel in (kinds, colours, states))
        if kind == cells.UNSEEN:
            break
        named.append(_name(kind, colour, state) or ("wall" if kind == cells.WALL_KIND else "floor"))
    return ", ".join(named)


def _describe_place(state: State) -> str:
    """The room, the walls around and what is underfoot: ``in room4; walls: 1 ahead, ...``."""
    state = jax.device_get(state)
    pitch, position = int(state.level.room_size) - 1, np.asarray(state.position)
    forward = cells.DIRECTIONS[int(state.direction)]
    ways = {
        "ahead": forward,
        "behind": -forward,
        "left": forward[[1, 0]] * [1, -1],
        "right": forward[[1, 0]] * [-1, 1],
    }
    x, y = (int(each) for each in position)
    underfoot = _code_name(int(state.grid[y, x]))
    if x % pitch == 0 or y % pitch == 0:
        sides = {way: _room(state, *(position + step)) for way, step in ways.items()}
        through = ("ahead", "behind") if position @ np.abs(forward) % pitch == 0 else ("left", "right")
        rooms = " and ".join(f"room{sides[way]} {way}" for way in through)
        return f"in the {underfoot} between {rooms}."
    walls = []
    for way, step in ways.items():
        along = int(position @ np.abs(step)) % pitch
        walls.append(f"{pitch - along if step.sum() > 0 else along} {way}")
    footing = f"You stand on {_article(underfoot)} {underfoot}." if underfoot else "You stand on floor."
    return f"in room{_room(state, x, y)}; its walls are {', '.join(walls)}. {footing}"
