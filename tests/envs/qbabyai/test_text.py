"""Levels, observations and actions in words say what is there."""

import jax
import numpy as np
import pytest

from afk.envs.qbabyai.levels.tasks import Task
from afk.envs.qbabyai.solver import plan
from afk.envs.qbabyai.text import (
    describe_action,
    describe_observation,
    describe_rules,
    describe_state,
    draw_map,
    read_action,
)
from afk.envs.qbabyai.world import cells
from afk.envs.qbabyai.world.words import VOCABULARY
from afk.envs.registry import find_task_of, make

NAMES = ("danger+open-door", "go-to-favorite+open-door")


DOORS = (cells.OPEN_DOOR, cells.CLOSED_DOOR, cells.LOCKED_DOOR)


@pytest.fixture(scope="module")
def walked(played: tuple) -> list[tuple]:
    """States and observations of the expert's way through a level."""
    env, state, observation = played
    step, seen = jax.jit(env.step), [(state, observation)]
    for action in plan(state):
        state, time_step = step(state, action)
        seen.append((state, time_step.observation))
    return seen


@pytest.fixture(scope="module", params=NAMES)
def played(request: pytest.FixtureRequest) -> tuple:
    env = make(f"qbabyai/{request.param}")
    state, observation = jax.jit(env.reset)(jax.random.key(2))
    return env, state, observation


def test_every_thing_of_a_level_is_named_in_its_room(played: tuple) -> None:
    _, state, _ = played
    lines = dict(
        line.split(": ", 1) for line in describe_state(state).splitlines() if line.startswith("room")
    )
    size, columns = int(state.level.room_size), int(state.level.columns)
    for (y, x), code in np.ndenumerate(np.asarray(state.grid)):
        kind = int(code) >> 3
        if kind in (cells.KEY, cells.BALL, cells.BOX, cells.SQUARE):
            room = y // (size - 1) * columns + x // (size - 1)
            assert f"{cells.COLOURS[code & 7]} {cells.KIND_WORDS[kind]}" in lines[f"room{room}"]
    assert len(lines) == (9 if columns == 3 else 2)
    assert VOCABULARY.decode(state.level.mission) in describe_state(state)


def test_offsets_lead_to_the_thing(played: tuple) -> None:
    _, state, _ = played
    key = next(code for code in np.unique(state.grid) if code >> 3 == cells.KEY)
    y, x = np.argwhere(np.asarray(state.grid) == key)[0]
    name = f"{cells.COLOURS[key & 7]} key "
    phrase = describe_state(state).split(name)[1].split(";")[0].split(".")[0]
    words = phrase.replace("and ", "").split()
    steps = {way: int(number) for number, way in zip(words[::2], words[1::2], strict=True)}
    forward = cells.DIRECTIONS[int(state.direction)]
    right = np.array([-forward[1], forward[0]])
    ahead = steps.get("ahead", 0) - steps.get("behind", 0)
    aside = steps.get("right", 0) - steps.get("left", 0)
    assert (np.asarray(state.position) + ahead * forward + aside * right).tolist() == [x, y]


def test_an_observation_says_what_is_seen_carried_and_answered(played: tuple) -> None:
    env, state, observation = played
    text = describe_observation(observation, state)
    assert (
        VOCABULARY.decode(state.level.mission) in text
        and "You carry nothing." in text
        and "answer" not in text
    )
    for kind, colour, *_ in np.asarray(observation.image).reshape(-1, 4):
        if kind in (cells.KEY, cells.BALL, cells.BOX):
            assert f"{cells.COLOURS[colour]} {cells.KIND_WORDS[int(kind)]}" in text
    _, time_step = env.step(state, np.array([1, 0, *VOCABULARY.query("where kitchen")]))
    assert 'The answer: "kitchen in ' in describe_observation(time_step.observation, state)


def test_the_map_has_a_mark_for_every_cell(played: tuple) -> None:
    _, state, _ = played
    rows = draw_map(state).splitlines()
    assert len(rows) == state.grid.shape[0] and {len(row) for row in rows} == {2 * state.grid.shape[1]}
    x, y = (int(each) for each in state.position)
    assert rows[y][2 * x] in "><^v"


def test_actions_in_words() -> None:
    assert describe_action(np.array([0, 2, 0, 0, 0])) == "forward"
    assert describe_action(np.array([1, 0, *VOCABULARY.query("where blue ball")])) == 'ask "where blue ball"'
    assert describe_action(np.array([1, 0, *VOCABULARY.query("what key")])) == 'ask "what key"'


def test_actions_are_read_as_they_are_described() -> None:
    for action in range(len(cells.ACTIONS)):
        assert read_action(describe_action(np.array([0, action, 0, 0, 0]))).tolist() == [0, action, 0, 0, 0]
    rng = np.random.default_rng(0)
    for query in rng.integers(0, (2, 22, 24), (200, 3)).tolist():
        assert read_action(describe_action(np.array([1, 0, *query]))).tolist() == [1, 0, *query]


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("Where is the blue ball?", "where blue ball"),
        ("what's Mary's toy", "what mary toy"),
        ("ask what danger zone", "what danger zone"),
        ("where kitchen", "where kitchen"),
    ],
)
def test_questions_may_be_asked_as_people_do(said: str, meant: str) -> None:
    assert read_action(said).tolist() == [1, 0, *VOCABULARY.query(meant)]


@pytest.mark.parametrize(
    ("said", "refusal"),
    [
        ("", "cannot read ''; write left, right, forward"),
        ("jump", "or a question such as `where kitchen`"),
        ("where", "a query is <func, adj, noun>"),
        ("where purple cow", "'cow' does not fit"),
    ],
)
def test_what_is_no_action_is_explained(said: str, refusal: str) -> None:
    with pytest.raises(ValueError, match=refusal) as error:
        read_action(said)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("Turn left.", "left"),
        ("turn_right", "right"),
        ("turn to the left", "left"),
        ("go right", "right"),
        ("move forward", "forward"),
        ("step", "forward"),
        ("walk ahead", "forward"),
        ("pickup", "pick up"),
        ("pick up the red key", "pick up"),
        ("open it", "toggle"),
        ("unlock the locked blue door", "toggle"),
        ("put down the key", "drop"),
        ("wait", "done"),
    ],
)
def test_actions_may_be_said_as_people_do(said: str, meant: str) -> None:
    assert read_action(said).tolist() == [0, cells.ACTIONS.index(meant), 0, 0, 0]


@pytest.mark.parametrize(
    "said", ["go to the red box", "turn", "forward forward", "left right", "open sesame", "forward 2"]
)
def test_no_action_is_guessed(said: str) -> None:
    with pytest.raises(ValueError, match="cannot read"):
        read_action(said)


def test_place_ahead_and_underfoot_are_true(walked: list[tuple]) -> None:
    for state, observation in walked:
        lines = describe_observation(observation, state).splitlines()
        size, grid = int(state.level.room_size), np.asarray(state.grid)
        x, y = (int(each) for each in state.position)
        forward = cells.DIRECTIONS[int(state.direction)]
        ahead = lines[-2 - ("answer" in lines[-1]) - 1]
        assert ahead.startswith("Ahead: ") and len(ahead.split(", ")) <= 6
        code = int(grid[y + forward[1], x + forward[0]])
        first = ahead.removeprefix("Ahead: ").split(", ")[0].rstrip(".")
        expected = {cells.EMPTY_KIND: "floor", cells.WALL_KIND: "wall", cells.TILE: "tile"}.get(code >> 3)
        if expected:
            assert first.split()[-1] == expected and (expected != "tile" or cells.COLOURS[code & 7] in first)
        if " between " in lines[1]:
            assert x % (size - 1) == 0 or y % (size - 1) == 0
            continue
        room = y // (size - 1) * int(state.level.columns) + x // (size - 1)
        assert f" in room{room}; its walls are " in lines[1]
        walls = lines[1].split("walls are ")[1].split(".")[0].split(", ")
        steps = {way: int(number) for number, way in map(str.split, walls)}
        assert steps["ahead"] + steps["behind"] == steps["left"] + steps["right"] == size - 1
        for way, step in (("ahead", forward), ("behind", -forward)):
            wall = np.array([x, y]) + steps[way] * step
            assert int(grid[wall[1], wall[0]]) >> 3 in (cells.WALL_KIND, *DOORS)
        if (underfoot := int(grid[y, x])) >> 3 == cells.TILE:
            assert f"You stand on a {cells.COLOURS[underfoot & 7]} tile." in lines[1]


def test_rules_name_what_the_task_has() -> None:
    rules = describe_rules(find_task_of(Task, "qbabyai/danger+open-door"))
    assert "2 rooms of 5 by 5 cells" in rules and "danger zone" in rules and "one of 98 steps" in rules
    assert "suitcase" not in rules
    assert "danger" not in describe_rules(find_task_of(Task, "qbabyai/object-in-box"))
