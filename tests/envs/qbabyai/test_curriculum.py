"""The curriculum: the same levels, begun elsewhere, with the wrong key, or among tiles that mean nothing."""

from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest

from afk.envs.level_pool import vary_fraction
from afk.envs.qbabyai.curriculum import add_distractors, hold_wrong_key, random_start
from afk.envs.qbabyai.levels.rivers import TILE_COLOURS
from afk.envs.qbabyai.world import cells
from afk.envs.qbabyai.world.goals import UNLOCK
from afk.envs.qbabyai.world.state import State
from afk.envs.registry import make, world_of
from afk.envs.world import Vary
from afk.knowledge.facts import NEVER
from afk.training.presets import preset

LEVELS = 512
TASKS = (
    "qbabyai/danger",
    "qbabyai/open-door",
    "qbabyai/danger+open-door",
    "qbabyai/object-in-box+danger+go-to-favorite+open-door",
)


def varied(vary: Vary, name: str, fraction: float = 1.0) -> tuple[State, State]:
    """Levels as they are drawn and with a fraction of them varied, on the host."""
    states = make(name).draw_many(jax.random.key(3), LEVELS)
    return jax.device_get((states, vary_fraction(vary, states, jax.random.key(4), fraction)))


def has_moved(before: State, after: State) -> np.ndarray:
    """Which agents stand elsewhere: (levels,) bool."""
    return np.asarray((before.position != after.position).any(1))


@pytest.mark.parametrize("name", TASKS)
def test_the_agent_stands_on_a_safe_free_cell(name: str) -> None:
    _, after = varied(random_start, name)
    x, y = after.position.T
    underfoot = after.grid[np.arange(LEVELS), y, x]
    assert np.isin(underfoot >> 3, (cells.EMPTY_KIND, cells.TILE)).all()
    assert (underfoot != cells.TILE * 8 + after.level.danger).all()


@pytest.mark.parametrize("name", TASKS)
def test_nothing_else_changes_but_a_key_taken_or_locks_opened(name: str) -> None:
    before, after = varied(random_start, name)
    assert jax.tree.all(jax.tree.map(np.array_equal, before.level, after.level))
    changed = before.grid != after.grid
    fitting = cells.KEY * 8 + before.level.key_colour[:, None, None]
    was_key = before.grid == fitting
    was_locked = before.grid >> 3 == cells.LOCKED_DOOR
    assert (was_key | was_locked)[changed].all()
    holds, opened = after.carrying != cells.EMPTY, after.unlocked
    assert ((changed & was_key).any((1, 2)) == holds).all()
    assert ((changed & was_locked).any((1, 2)) == opened).all()
    assert not (holds & opened).any()
    has_lock = before.level.key_colour >= 0
    assert not (holds | opened)[~has_lock].any()
    if has_lock.any():
        assert 0.4 < (holds | opened).mean() < 0.6
        assert holds.any()
        assert opened.any() == (before.level.goal != UNLOCK).all()


def test_the_oracle_no_longer_tells_where_a_key_in_hand_is() -> None:
    before, after = varied(random_start, "qbabyai/go-to-favorite+open-door")
    withheld = np.asarray((before.facts.scope != after.facts.scope).sum(1))
    assert (withheld == (after.carrying != cells.EMPTY)).all()


def test_starts_are_often_near_the_target_and_sometimes_far() -> None:
    before, after = varied(random_start, "qbabyai/go-to-favorite")
    y, x = np.array(
        [np.argwhere(grid == target)[0] for grid, target in zip(after.grid, after.level.target, strict=True)]
    ).T

    def steps_away(state: State) -> np.ndarray:
        return np.abs(state.position[:, 0] - x) + np.abs(state.position[:, 1] - y)

    assert (steps_away(after) <= 3).mean() > 0.3 > (steps_away(before) <= 3).mean()
    assert (steps_away(after) >= 8).mean() > 0.1


def test_where_there_is_danger_any_safe_cell_is_as_likely() -> None:
    _, after = varied(random_start, "qbabyai/danger")
    rows, columns = np.indices(after.grid.shape[1:])
    free = np.isin(after.grid >> 3, (cells.EMPTY_KIND, cells.TILE))
    free &= after.grid != cells.TILE * 8 + after.level.danger[:, None, None]
    target = (after.grid == after.level.target[:, None, None]).reshape(LEVELS, -1).argmax(1)
    away = abs(rows - (target // columns.shape[1])[:, None, None])
    away += abs(columns - (target % columns.shape[1])[:, None, None])
    expected = (away * free).sum((1, 2)) / free.sum((1, 2))
    x, y = after.position.T
    found = away[np.arange(LEVELS), y, x]
    assert found.mean() == pytest.approx(expected.mean(), rel=0.05)


def test_starts_are_often_at_a_lock_even_where_there_is_danger() -> None:
    """What one can ask at a lock only is asked there; any safe cell alone would be there too rarely."""
    before, after = varied(random_start, "qbabyai/danger+open-door")
    locked = before.grid >> 3 == cells.LOCKED_DOOR
    y, x = np.array([np.argwhere(each)[0] for each in locked]).T

    def is_at_lock(state: State) -> np.ndarray:
        return (np.abs(state.position[:, 0] - x) + np.abs(state.position[:, 1] - y)) <= 2

    closed = ~np.asarray(after.unlocked)
    assert is_at_lock(after)[closed].mean() > 0.18
    assert is_at_lock(after)[~closed].mean() < 0.13


def test_a_fraction_of_the_levels_starts_at_random() -> None:
    before, after = varied(random_start, "qbabyai/danger", 0.25)
    assert 0.15 < has_moved(before, after).mean() < 0.3
    before, after = varied(random_start, "qbabyai/danger", 0.0)
    assert jax.tree.all(jax.tree.map(np.array_equal, before, after))


@pytest.mark.parametrize(
    "name", ["qbabyai/object-in-box+open-door", "qbabyai/danger+go-to-favorite+open-door"]
)
def test_a_wrong_key_is_in_hand_and_nowhere_else(name: str) -> None:
    before, after = varied(hold_wrong_key, name)
    assert (after.carrying >> 3 == cells.KEY).all() and (before.carrying == cells.EMPTY).all()
    assert (after.carrying != cells.KEY * 8 + before.level.key_colour).all(), "it does not fit"
    assert (after.carrying != before.level.target).all(), "what is sought stays where it is"
    changed = before.grid != after.grid
    assert (changed.sum((1, 2)) == 1).all()
    assert (before.grid[changed] == after.carrying).all() and (after.grid[changed] == cells.EMPTY).all()
    hidden = before.facts.scope != after.facts.scope
    assert (hidden.sum(1) == 1).all() and (after.facts.scope[hidden] == NEVER).all()
    assert jax.tree.all(jax.tree.map(np.array_equal, before.level, after.level))
    assert (before.position == after.position).all()


def test_only_who_faces_a_lock_with_empty_hands_gets_a_wrong_key() -> None:
    before, after = varied(hold_wrong_key, "qbabyai/danger+go-to-favorite")
    assert (before.grid >> 3 == cells.KEY).any(), "there are keys, but no locks"
    assert jax.tree.all(jax.tree.map(np.array_equal, before, after))
    _, started = varied(random_start, "qbabyai/open-door")
    wrong_key = vary_fraction(hold_wrong_key, started, jax.random.key(5), 1.0)
    helped = np.asarray(started.carrying != cells.EMPTY)
    assert (np.asarray(wrong_key.carrying == started.carrying) == helped).all()


def test_tiles_that_mean_nothing_lie_on_free_cells_where_there_is_no_danger() -> None:
    before, after = varied(add_distractors, "qbabyai/object-in-box+go-to-favorite")
    was_door = before.grid >> 3 == cells.OPEN_DOOR
    changed = (before.grid != after.grid) & ~was_door
    assert (before.grid[changed] == cells.EMPTY).all()
    assert set(np.unique(after.grid[changed])) == {cells.TILE * 8 + colour for colour in TILE_COLOURS}
    covered = changed.sum((1, 2)) / (before.grid == cells.EMPTY).sum((1, 2))
    assert covered.min() < 0.1 and 0.5 < covered.max() < 0.9 and 0.25 < covered.mean() < 0.35
    assert jax.tree.all(jax.tree.map(np.array_equal, before, replace(after, grid=before.grid)))
    before, after = varied(add_distractors, "qbabyai/object-in-box+danger")
    assert jax.tree.all(jax.tree.map(np.array_equal, before, after))


def test_open_doors_are_closed_in_part_where_there_is_no_danger() -> None:
    before, after = varied(add_distractors, "qbabyai/object-in-box+go-to-favorite")
    was_open = before.grid >> 3 == cells.OPEN_DOOR
    is_shut = was_open & (after.grid >> 3 == cells.CLOSED_DOOR)
    assert (before.grid[is_shut] & 7 == after.grid[is_shut] & 7).all(), "its colour is the same"
    assert (before.grid[was_open & ~is_shut] == after.grid[was_open & ~is_shut]).all()
    share = is_shut.sum((1, 2)) / was_open.sum((1, 2))
    assert share.min() < 0.1 and share.max() > 0.9 and 0.4 < share.mean() < 0.6
    before, after = varied(add_distractors, "qbabyai/danger+go-to-favorite")
    assert jax.tree.all(jax.tree.map(np.array_equal, before, after))


def test_the_door_that_the_agent_stands_in_stays_open() -> None:
    before, _ = varied(add_distractors, "qbabyai/object-in-box+go-to-favorite")
    y, x = np.array([np.argwhere(grid >> 3 == cells.OPEN_DOOR)[0] for grid in before.grid]).T
    standing = replace(before, position=np.stack([x, y], 1).astype(before.position.dtype))
    after = vary_fraction(add_distractors, standing, jax.random.key(6), 1.0)
    here = np.arange(LEVELS), y, x
    assert (np.asarray(after.grid)[here] == before.grid[here]).all()


def test_the_curriculum_of_the_world_is_this_one() -> None:
    curriculum = world_of(make("qbabyai/danger")).curriculum
    varies = curriculum.random_start, curriculum.wrong_key, curriculum.distractors
    assert varies == (random_start, hold_wrong_key, add_distractors)


def test_games_have_neither_wrong_keys_nor_distractors() -> None:
    for name in ("wrong_key_fraction", "distractor_fraction"):
        changes: dict[str, Any] = {name: 0.5}
        with pytest.raises(
            ValueError, match=r"wrong_key_fraction and distractor_fraction for qtextworld/take-1"
        ):
            preset("laptop", ["qtextworld/take-1"], **changes)
