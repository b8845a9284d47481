"""Our rules against Minigrid's own code."""

import subprocess
import sys
from dataclasses import replace
from functools import cache, partial
from itertools import islice

import jax
import numpy as np
import pytest

from afk.compiling import known_options
from afk.envs.qbabyai.levels.tasks import paper_tasks
from afk.envs.qbabyai.reference import MinigridReference, compare, random_actions, record, render
from afk.envs.qbabyai.world import cells
from afk.envs.qbabyai.world.goals import FACE
from afk.envs.qbabyai.world.state import State
from afk.envs.qbabyai.world.view import look
from afk.envs.registry import make

LEVELS, STEPS = 8, 100
NINE_ROOMS = "qbabyai/go-to-favorite+open-door"
MOVABLE = (cells.KEY, cells.BALL, cells.BOX, cells.OPEN_DOOR, cells.CLOSED_DOOR)
# A few levels a task: what counts is how soon they are compiled, not how fast they are drawn.
COMPILE_SOON = known_options(
    {
        "xla_backend_optimization_level": 0,
        "xla_llvm_disable_expensive_passes": True,
        "xla_cpu_use_fusion_emitters": False,
        "xla_cpu_parallel_codegen_split_count": 1,
    }
)


@cache
def levels(name: str) -> State:
    """Sound levels of a task, with a leading axis."""
    draw = jax.jit(make(name).draw, compiler_options=COMPILE_SOON)
    drawn = (jax.device_get(draw(key)) for key in jax.random.split(jax.random.key(0), 20 * LEVELS))
    return stack(list(islice((state for state, sound in drawn if sound), LEVELS)))


def level(states: State, index: int) -> State:
    return jax.tree.map(lambda leaf: leaf[index], states)


def stack(states: list[State]) -> State:
    return jax.tree.map(lambda *leaves: np.stack(leaves), *states)


def with_distractors(state: State, rng: np.random.Generator) -> State:
    """A world full of random things, some in the agent's hands, where nothing ends the episode."""

    def draw(kinds: tuple[int, ...], shape: tuple[int, ...]) -> np.ndarray:
        return (rng.choice(kinds, shape) * 8 + rng.integers(len(cells.COLOURS), size=shape)).astype(np.uint8)

    height, width = state.grid.shape
    kinds = (cells.TILE, cells.OPEN_DOOR, cells.CLOSED_DOOR, cells.LOCKED_DOOR, cells.KEY, cells.BALL)
    things = draw((*kinds, cells.BOX, cells.SQUARE, cells.WALL_KIND), (height, width))
    things = np.where(things >> 3 == cells.WALL_KIND, cells.WALL, things)
    grid = np.where(rng.random((height, width)) < rng.uniform(0.1, 0.7), things, cells.EMPTY).astype(np.uint8)
    grid[[0, -1]] = grid[:, [0, -1]] = cells.WALL
    x, y = rng.integers(1, (width - 1, height - 1))
    grid[y, x] = cells.EMPTY
    contents = draw((cells.KEY, cells.BALL), (len(cells.COLOURS),))
    contents[rng.integers(len(contents))] = cells.EMPTY
    hands = draw((cells.KEY, cells.BALL, cells.BOX), ())
    rules = replace(
        state.level,
        contents=contents,
        danger=np.int8(-1),
        key_colour=np.int8(rng.integers(len(cells.COLOURS))),
        goal=np.int8(FACE),
        target=np.uint8(cells.UNSEEN),
        wrong_box_ends=np.bool_(False),
    )
    return replace(
        state,
        level=rules,
        grid=grid,
        position=np.array([x, y], np.int32),
        direction=np.int32(rng.integers(4)),
        carrying=hands if rng.random() < 0.5 else np.uint8(cells.EMPTY),
    )


@pytest.mark.parametrize("name", [task.name for task in paper_tasks()])
def test_random_play_is_minigrids(name: str) -> None:
    states = levels(name)
    actions = random_actions(np.random.default_rng(0), LEVELS, STEPS)
    steps, mismatches = compare(states, actions)
    assert steps >= LEVELS
    assert not mismatches
    grids = record(states, actions)[0].grid
    if np.isin(states.grid >> 3, MOVABLE).any():
        assert (grids != grids[:, :1]).any(), "nothing was moved, so that little was compared"


@pytest.mark.parametrize("seed", range(6))
def test_random_play_among_distractors_is_minigrids(seed: int) -> None:
    rng = np.random.default_rng(seed)
    worlds = stack([with_distractors(level(levels(NINE_ROOMS), index), rng) for index in range(LEVELS)])
    steps, mismatches = compare(worlds, random_actions(rng, LEVELS, STEPS))
    assert steps == LEVELS * STEPS
    assert not mismatches


def test_a_lock_opens_with_the_named_key_only() -> None:
    state = level(levels("qbabyai/object-in-box+open-door"), 0)
    ((y, x),) = np.argwhere(state.grid >> 3 == cells.LOCKED_DOOR)
    in_hands = (cells.EMPTY, cells.cell(cells.BALL, cells.RED), *(cells.cell(cells.KEY, c) for c in range(6)))
    before_lock = replace(state, position=np.array([x - 1, y], np.int32), direction=np.int32(0))
    states = stack([replace(before_lock, carrying=np.uint8(code)) for code in in_hands])
    actions = np.zeros((LEVELS, STEPS, 5), int)
    actions[..., 1] = cells.DONE
    actions[:, :4, 1] = cells.TOGGLE, cells.TOGGLE, cells.TOGGLE, cells.FORWARD
    _, mismatches = compare(states, actions)
    assert not mismatches
    entered = record(states, actions)[0].position[:, 4, 0] == x
    assert [code for code, inside in zip(in_hands, entered, strict=True) if inside] == [
        cells.cell(cells.KEY, int(state.level.key_colour))
    ]


def test_queries_leave_the_world_as_done_does() -> None:
    states = levels(NINE_ROOMS)
    actions = random_actions(np.random.default_rng(1), LEVELS, STEPS)
    actions[..., 0] = 1
    shots, _ = record(states, actions)
    assert all((field == field[:, :1]).all() for field in shots)
    assert not compare(states, actions)[1]


@pytest.mark.parametrize("has_distractors", [False, True])
@pytest.mark.parametrize("index", range(6))
def test_view_from_every_pose_is_minigrids(index: int, has_distractors: bool) -> None:
    state = level(levels(NINE_ROOMS), index)
    if has_distractors:
        state = with_distractors(state, np.random.default_rng(index))
    height, width = state.grid.shape
    poses = np.array(list(np.ndindex(width, height, 4)), np.int32)
    images = _looks(state, poses)
    reference = MinigridReference(state)
    for (x, y, direction), image in zip(poses.tolist(), images, strict=True):
        reference.agent_pos, reference.agent_dir = (x, y), direction
        observation = reference.gen_obs()
        assert np.array_equal(image[..., :3], observation["image"])
        assert (image[..., 3] == observation["direction"]).all()


@partial(jax.jit, compiler_options=COMPILE_SOON)
def _looks(state: State, poses: jax.Array) -> jax.Array:
    return jax.vmap(lambda pose: look(replace(state, position=pose[:2], direction=pose[2])))(poses)


@pytest.mark.parametrize("highlight", [False, True])
def test_pictures_are_minigrids(highlight: bool) -> None:
    for index in range(LEVELS):
        state = level(levels(NINE_ROOMS), index)
        picture = render(state, tile_size=8, highlight=highlight)
        height, width = state.grid.shape
        assert picture.shape == (8 * height, 8 * width, 3) and picture.dtype == np.uint8
        assert np.array_equal(picture, MinigridReference(state).get_frame(highlight, tile_size=8))


def test_environments_do_not_need_minigrid() -> None:
    check = "import sys, afk.envs.registry as r; r.task_names(); sys.exit('minigrid' in sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True)
