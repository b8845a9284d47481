"""The rules: what each action does, what is paid, what ends an episode, and what the oracle says."""

from dataclasses import replace
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from afk.envs.level_pool import draw_pool
from afk.envs.qbabyai.solver import plan
from afk.envs.qbabyai.world import cells, dynamics
from afk.envs.qbabyai.world.state import State
from afk.envs.qbabyai.world.words import VOCABULARY
from afk.envs.registry import make

step = jax.jit(dynamics.step)


@lru_cache
def levels(name: str, count: int = 8) -> list[State]:
    states = draw_pool(make(f"qbabyai/{name}"), jax.random.key(11), count).states
    return [jax.tree.map(lambda leaf, index=index: leaf[index], states) for index in range(count)]


def act(state: State, action: int) -> tuple[State, dynamics.Outcome]:
    return step(state, jnp.array([0, action, 0, 0, 0]))


def ask(state: State, text: str) -> tuple[State, str]:
    state, outcome = step(state, jnp.array([1, 0, *VOCABULARY.query(text)]))
    return state, VOCABULARY.decode(outcome.response)


def facing(state: State, cell: int, ahead: int = cells.EMPTY) -> State:
    """The agent in the middle of a bare room, with a cell right in front of it and another behind that."""
    grid = np.full(state.grid.shape, cells.EMPTY, np.uint8)
    grid[0], grid[-1], grid[:, 0], grid[:, -1] = cells.WALL, cells.WALL, cells.WALL, cells.WALL
    grid[3, 4], grid[3, 5] = cell, ahead
    return replace(state, grid=jnp.asarray(grid), position=jnp.array([3, 3]), direction=jnp.int32(0))


@pytest.mark.parametrize(
    ("cell", "enters"),
    [
        (cells.EMPTY, True),
        (cells.WALL, False),
        (cells.cell(cells.TILE, cells.YELLOW), True),
        (cells.cell(cells.KEY, cells.RED), True),
        (cells.cell(cells.BALL, cells.RED), False),
        (cells.cell(cells.BOX, cells.RED), False),
        (cells.cell(cells.OPEN_DOOR, cells.RED), True),
        (cells.cell(cells.CLOSED_DOOR, cells.RED), False),
        (cells.cell(cells.LOCKED_DOOR, cells.RED), False),
        (cells.GREEN_SQUARE, True),
    ],
)
def test_what_can_be_walked_over(cell: int, enters: bool) -> None:
    state, _ = act(facing(levels("open-door")[0], cell), cells.FORWARD)
    assert (state.position.tolist() == [4, 3]) == enters


@pytest.mark.parametrize("kind", [cells.KEY, cells.BALL, cells.BOX])
def test_things_are_picked_up_and_dropped_on_bare_floor_only(kind: int) -> None:
    thing, other = cells.cell(kind, cells.RED), cells.cell(cells.BALL, cells.GREEN)
    state, _ = act(facing(levels("open-door")[0], thing, other), cells.PICK_UP)
    assert int(state.carrying) == thing and int(state.grid[3, 4]) == cells.EMPTY
    state, _ = act(state, cells.FORWARD)
    state, _ = act(state, cells.PICK_UP)
    assert int(state.carrying) == thing, "hands hold one thing"
    blocked, _ = act(state, cells.DROP)
    assert int(blocked.carrying) == thing, "nothing is dropped onto a thing"
    on_tile = replace(state, grid=state.grid.at[3, 5].set(cells.cell(cells.TILE, cells.BLUE)))
    assert int(act(on_tile, cells.DROP)[0].carrying) == thing, "nothing is dropped onto a tile"
    state, _ = act(act(state, cells.LEFT)[0], cells.DROP)
    assert int(state.carrying) == cells.EMPTY and int(state.grid[2, 4]) == thing


def test_a_lock_opens_only_with_the_key_that_the_level_names() -> None:
    level = levels("open-door")[0]
    fitting = int(level.level.key_colour)
    for colour in range(6):
        state = facing(level, cells.cell(cells.LOCKED_DOOR, (fitting + 1) % 6))
        state = replace(state, carrying=jnp.uint8(cells.cell(cells.KEY, colour)))
        after, outcome = act(state, cells.TOGGLE)
        assert bool(after.unlocked) == bool(outcome.success) == (colour == fitting)
        expected = cells.OPEN_DOOR if colour == fitting else cells.LOCKED_DOOR
        assert int(cells.kind_of(after.grid[3, 4])) == expected
    ball = replace(
        facing(level, cells.cell(cells.LOCKED_DOOR, 0)), carrying=jnp.uint8(cells.cell(cells.BALL, fitting))
    )
    assert not act(ball, cells.TOGGLE)[1].success


def test_doors_open_and_close() -> None:
    state = facing(levels("open-door")[0], cells.cell(cells.CLOSED_DOOR, cells.RED))
    state, _ = act(state, cells.TOGGLE)
    assert int(state.grid[3, 4]) == cells.cell(cells.OPEN_DOOR, cells.RED)
    state, _ = act(state, cells.TOGGLE)
    assert int(state.grid[3, 4]) == cells.cell(cells.CLOSED_DOOR, cells.RED)


def test_the_right_box_succeeds_and_the_wrong_one_ends_the_episode() -> None:
    for level in levels("object-in-box"):
        for colour in (cells.BLUE, cells.GREEN):
            box = cells.cell(cells.BOX, colour)
            after, outcome = act(facing(level, box), cells.TOGGLE)
            right = box == int(level.level.target)
            assert bool(outcome.success) == right and bool(outcome.failure) != right
            assert float(outcome.reward) == pytest.approx((1 - 0.9 / 81) if right else 0)
            assert int(after.grid[3, 4]) == int(level.level.contents[colour]), (
                "the ball lies where the box was"
            )


def test_only_tiles_of_the_dangerous_colour_end_the_episode() -> None:
    for level in levels("danger"):
        for colour in (cells.YELLOW, cells.BLUE):
            _, outcome = act(facing(level, cells.cell(cells.TILE, colour)), cells.FORWARD)
            assert bool(outcome.failure) == (colour == int(level.level.danger)) and float(outcome.reward) == 0


def test_the_green_square_is_the_goal() -> None:
    _, outcome = act(facing(levels("danger")[0], cells.GREEN_SQUARE), cells.FORWARD)
    assert outcome.success and not outcome.failure


def test_facing_the_favourite_succeeds_whatever_the_action() -> None:
    level = levels("go-to-favorite")[0]
    state = replace(facing(level, int(level.level.target)), direction=jnp.int32(1))
    assert act(state, cells.LEFT)[1].success
    assert not act(state, cells.RIGHT)[1].success
    looking = replace(state, direction=jnp.int32(0))
    assert step(looking, jnp.array([1, 0, *VOCABULARY.query("where kitchen")]))[1].success


def test_opening_the_lock_pays_once_on_the_way() -> None:
    for level in levels("danger+open-door"):
        rewards, state, success = [], level, False
        for action in plan(level):
            state, outcome = step(state, jnp.asarray(action))
            rewards.append(float(outcome.reward))
            success = bool(outcome.success)
        paid = [index + 1 for index, reward in enumerate(rewards) if reward]
        assert len(paid) == 2 and paid[1] == len(rewards) and success
        assert [rewards[at - 1] for at in paid] == pytest.approx([1 - 0.9 * at / 98 for at in paid])


def test_time_runs_out_as_truncation_and_not_as_failure() -> None:
    state = replace(levels("danger")[0], step=jnp.int32(47))
    state, outcome = act(state, cells.DONE)
    assert not outcome.timeout
    state, outcome = act(state, cells.DONE)
    assert outcome.timeout and not outcome.failure and not outcome.success
    at_goal = replace(facing(levels("danger")[0], cells.GREEN_SQUARE), step=jnp.int32(48))
    _, outcome = act(at_goal, cells.FORWARD)
    assert outcome.success and not outcome.timeout, "success on the last step is success"


def test_a_query_takes_a_step_and_changes_nothing_else() -> None:
    level = levels("open-door")[0]
    after, outcome = step(level, jnp.array([1, cells.FORWARD, *VOCABULARY.query("where kitchen")]))
    assert int(after.step) == 1 and int(after.queries) == 1 and float(outcome.reward) == 0
    for name in ("grid", "position", "direction", "carrying"):
        np.testing.assert_array_equal(getattr(after, name), getattr(level, name))
    after, outcome = act(level, cells.DONE)
    assert not outcome.response.any(), "without a question there is no answer"


@pytest.mark.parametrize("question", ["what tim toy", "where red room3", "where danger zone", "what i"])
def test_the_oracle_says_when_it_does_not_know(question: str) -> None:
    assert ask(levels("object-in-box")[0], question)[1] == "i dont know"


def test_the_key_question_is_answered_next_to_the_locked_door_only() -> None:
    level = levels("open-door")[0]
    key = f"{cells.COLOURS[int(level.level.key_colour)]} key to the door"
    lock = cells.cell(cells.LOCKED_DOOR, cells.RED)
    for turned in range(4):
        state = replace(facing(level, lock), direction=jnp.int32(turned))
        for adjective in ("none", "purple", "mary"):
            asked, answer = ask(state, f"what {adjective} key")
            assert answer == key and int(asked.asked.sum()) == 1
    for away in (facing(level, cells.EMPTY, lock), facing(level, cells.cell(cells.OPEN_DOOR, cells.RED))):
        asked, answer = ask(away, "what key")
        assert answer == "i dont know" and not asked.asked.any()


def test_the_oracle_follows_things_that_are_moved() -> None:
    level = levels("open-door")[0]
    key = cells.cell(cells.KEY, int(level.level.key_colour))
    question = f"where {cells.COLOURS[int(level.level.key_colour)]} key"
    y, x = (int(each) for each in np.argwhere(np.asarray(level.grid) == key)[0])
    answer = ask(level, question)[1]
    assert answer.endswith(f"room{x // 6}")
    held = replace(level, position=jnp.array([x - 1 if x % 6 > 1 else x + 1, y]))
    held = replace(held, direction=jnp.int32(0 if x % 6 > 1 else 2))
    held, _ = act(held, cells.PICK_UP)
    assert int(held.carrying) == key and ask(held, question)[1] == "i dont know"
    other = 1 - x // 6
    moved = replace(held, position=jnp.array([other * 6 + 3, 3]), direction=jnp.int32(0))
    moved = replace(moved, grid=moved.grid.at[3, other * 6 + 4].set(cells.EMPTY))
    moved, _ = act(moved, cells.DROP)
    assert ask(moved, question)[1] == answer[:-1] + str(other)


def test_good_queries_count_once_and_all_queries_count() -> None:
    level = levels("danger")[0]
    for count in (1, 2, 3):
        level, answer = ask(level, "what danger zone")
        assert answer == f"danger zone is {cells.COLOURS[int(level.level.danger)]}"
        assert int(level.asked.sum()) == 1 and int(level.queries) == count
    level, _ = ask(level, "where kitchen")
    assert int(level.asked.sum()) == 1 and int(level.queries) == 4


def test_success_seen_from_a_danger_tile_is_failure() -> None:
    level = levels("danger+go-to-favorite")[0]
    tile = cells.cell(cells.TILE, int(level.level.danger))
    _, outcome = act(facing(level, tile, int(level.level.target)), cells.FORWARD)
    assert outcome.failure and not outcome.success and float(outcome.reward) == 0
