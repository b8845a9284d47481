"""The expert: always succeeds, asks exactly Q_t, and nobody is faster."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from afk.envs.level_pool import draw_pool
from afk.envs.qbabyai.levels.tasks import Task, paper_tasks
from afk.envs.qbabyai.solver import plan
from afk.envs.qbabyai.world import cells, dynamics
from afk.envs.qbabyai.world.state import State
from afk.envs.registry import make
from afk.training.evaluate import expert, play, summarise

LEVELS = 60


@pytest.mark.parametrize("task", paper_tasks(), ids=lambda task: task.name)
def test_the_expert_succeeds_with_exactly_the_good_queries(task: Task) -> None:
    summary = summarise(play(make(task.name), expert, episodes=LEVELS, seed=5))
    assert summary["success"] == summary["precision"] == summary["recall"] == summary["f1"] == 1
    assert summary["queries"] == summary["good_queries"] == len(task.questions)


@jax.jit
def _expand(states: State) -> tuple[State, jax.Array, jax.Array]:
    """Every state after left, right, forward and toggle: states, success, failure, each (n, 4, ...)."""
    actions = jnp.array(
        [[0, action, 0, 0, 0] for action in (cells.LEFT, cells.RIGHT, cells.FORWARD, cells.TOGGLE)]
    )
    following, outcome = jax.vmap(
        lambda state: jax.vmap(lambda action: dynamics.step(state, action))(actions)
    )(states)
    return following, outcome.success, outcome.failure


def _brute_force(state: State, limit: int = 64) -> int:
    """Steps to success by trying everything, on the world itself and not on a model of it."""
    frontier = jax.tree.map(lambda leaf: leaf[None], state)
    seen: set[bytes] = set()
    for depth in range(1, limit):
        size = len(frontier.step)
        padded = jax.tree.map(
            lambda leaf, size=size: np.concatenate([leaf, np.repeat(leaf[:1], -size % 256, 0)]), frontier
        )
        following, success, failure = jax.device_get(_expand(padded))
        if success[:size].any():
            return depth
        following = jax.tree.map(lambda leaf, size=size: leaf[:size].reshape(-1, *leaf.shape[2:]), following)
        fresh = []
        for index in np.flatnonzero(~failure[:size].ravel()):
            mark = b"".join(
                getattr(following, name)[index].tobytes() for name in ("grid", "position", "direction")
            )
            if mark not in seen:
                seen.add(mark)
                fresh.append(index)
        frontier = jax.tree.map(lambda leaf, fresh=fresh: leaf[np.array(fresh)], following)
    raise AssertionError("no solution found")


@pytest.mark.parametrize("name", ["danger", "object-in-box+danger", "danger+go-to-favorite"])
@pytest.mark.slow
def test_nobody_is_faster(name: str) -> None:
    states = jax.device_get(draw_pool(make(f"qbabyai/{name}"), jax.random.key(3), 6).states)
    for index in range(6):
        state = jax.tree.map(lambda leaf, index=index: leaf[index], states)
        physical = [action for action in plan(state) if not action[0]]
        assert len(physical) == _brute_force(state)


def test_a_level_without_a_solution_is_said_to_have_none() -> None:
    state, _ = make("qbabyai/danger").reset(jax.random.key(0))
    walled = np.full(state.grid.shape, cells.WALL, np.uint8)
    x, y = (int(each) for each in state.position)
    walled[y, x] = cells.EMPTY
    goal = np.argwhere(np.asarray(state.grid) == cells.GREEN_SQUARE)[0]
    walled[tuple(goal)] = cells.GREEN_SQUARE
    with pytest.raises(ValueError, match="no solution"):
        plan(replace(state, grid=jnp.asarray(walled)))
