"""Several tasks at once: a larger world changes nothing, and levels come in equal shares."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from afk.envs import registry
from afk.envs.core import TimeStep
from afk.envs.level_pool import Batch, Pool, advance, draw_pool, start_batch
from afk.envs.qbabyai.environment import QBabyAI
from afk.envs.qbabyai.levels.clauses import Danger
from afk.envs.qbabyai.levels.floorplan import FloorPlan
from afk.envs.qbabyai.levels.tasks import Task
from afk.envs.qbabyai.multitask import MultiTaskGrid
from afk.envs.qbabyai.solver import plan
from afk.envs.qbabyai.world import cells
from afk.envs.qbabyai.world.state import State
from afk.envs.qtextworld.levels import bank as bank_module
from afk.envs.qtextworld.levels.tasks import paper_tasks as text_tasks
from afk.envs.registry import find_task, find_task_of, make, make_roomy
from afk.training.evaluate import Episodes, summarise_by_task

from ..small_games import small_bank

# One task for each way to succeed, and a world that is larger than theirs in height and width.
SMALL = tuple(
    find_task_of(Task, f"qbabyai/{name}")
    for name in ("object-in-box", "danger", "go-to-favorite", "open-door")
)
MIXTURE = MultiTaskGrid(*SMALL, Task("hall", FloorPlan(room_size=15), (Danger(),)))
SIZES = jnp.array(MIXTURE.action_sizes)
KINDS = len(MIXTURE.parts)
SHARE = 12
LEVELS = KINDS * SHARE - 2  # no multiple of the number of tasks
KEY = jax.random.key(0)
BUSY = (0.1, 0.1, 0.45, 0.1, 0.1, 0.1, 0.05)  # how often each of the physical actions comes


@pytest.fixture(scope="module")
def pool() -> Pool[State]:
    return jax.device_get(draw_pool(MIXTURE, KEY, LEVELS))


@pytest.fixture(scope="module")
def alone() -> list[Pool[State]]:
    """The pool of each part by itself."""
    keys = jax.random.split(KEY, KINDS)
    return [
        jax.device_get(draw_pool(part, key, SHARE)) for part, key in zip(MIXTURE.parts, keys, strict=True)
    ]


@jax.jit
def play(states: State, actions: jax.Array) -> tuple[State, TimeStep]:
    """Every state and time step of (episodes, steps, 5) actions, over the end of episodes."""

    def step(state: State, action: jax.Array) -> tuple[State, tuple[State, TimeStep]]:
        state, time_step = MIXTURE.step(state, action)
        return state, (state, time_step)

    return jax.vmap(lambda state, actions: jax.lax.scan(step, state, actions)[1])(states, actions)


def play_both(large: State, small: State, actions: jax.Array) -> tuple[State, TimeStep]:
    """Play the same actions in padded and in plain levels; all that happens must be the same."""
    (large, given), (small, expected) = jax.device_get((play(large, actions), play(small, actions)))
    jax.tree.map(np.testing.assert_array_equal, given, expected)
    height, width = small.grid.shape[-2:]
    beyond = np.ones(large.grid.shape[-2:], bool)
    beyond[:height, :width] = False
    assert (large.grid[..., beyond] == cells.WALL).all()
    cropped = replace(large, grid=large.grid[..., :height, :width])
    jax.tree.map(np.testing.assert_array_equal, cropped, small)
    return small, expected


def part_of(pool: Pool[State], number: int) -> Pool[State]:
    return jax.tree.map(lambda leaf: leaf[number::KINDS], pool)


def first(pool: Pool[State], count: int) -> State:
    return jax.tree.map(lambda leaf: leaf[:count], pool.states)


@pytest.mark.parametrize("number", range(len(SMALL)), ids=[task.name for task in SMALL])
def test_a_larger_world_is_the_same_to_random_agents(
    pool: Pool[State], alone: list[Pool[State]], number: int
) -> None:
    large, small = part_of(pool, number), alone[number]
    jax.tree.map(
        np.testing.assert_array_equal,
        large.observations,
        jax.tree.map(lambda leaf: leaf[: large.size], small.observations),
    )
    count = SHARE - 1  # every part has so many
    rng = np.random.default_rng(number)
    actions = rng.integers(MIXTURE.action_sizes, size=(count, 300, 5))
    actions[..., :2] = np.stack([rng.random((count, 300)) < 0.3, rng.choice(7, (count, 300), p=BUSY)], -1)
    states, time_steps = play_both(first(large, count), first(small, count), jnp.asarray(actions))
    assert (states.position != states.position[:, :1]).any(axis=(1, 2)).all()
    assert time_steps.observation.response.any(axis=(1, 2)).all()
    assert time_steps.truncated.any() == (SMALL[number].max_steps <= 300)
    if SMALL[number].plan.open_doors:  # things were moved to other rooms, and the oracle follows them
        assert (states.facts.answers != states.facts.answers[:, :1]).any()


@pytest.mark.parametrize("number", range(len(SMALL)), ids=[task.name for task in SMALL])
def test_a_larger_world_is_the_same_to_the_expert(
    pool: Pool[State], alone: list[Pool[State]], number: int
) -> None:
    count = 4
    large, small = first(part_of(pool, number), count), first(alone[number], count)
    actions = np.zeros((count, 300, 5), np.int32)
    lengths = []
    for index, row in enumerate(actions):
        steps, again = (plan(jax.tree.map(lambda leaf, i=index: leaf[i], each)) for each in (small, large))
        row[: len(steps)] = steps
        lengths.append(len(steps))
        assert len(steps) == len(again)
    _, time_steps = play_both(large, small, jnp.asarray(actions))
    last = np.arange(count), np.array(lengths) - 1
    assert time_steps.success[last].all() and (time_steps.reward[last] > 0).all()
    assert (time_steps.stats.good[last] == time_steps.stats.wanted[last]).all()


def test_levels_of_all_tasks_take_turns(pool: Pool[State], alone: list[Pool[State]]) -> None:
    assert pool.size == LEVELS
    assert pool.states.grid.shape[1:] == MIXTURE.shape == (15, 15)
    limits = np.array([task.max_steps for task in MIXTURE.tasks])
    np.testing.assert_array_equal(pool.states.level.max_steps, limits[np.arange(LEVELS) % KINDS])
    for number, part in enumerate(alone):
        share = part_of(pool, number)
        assert share.size in (SHARE - 1, SHARE)
        np.testing.assert_array_equal(share.states.facts.answers, part.states.facts.answers[: share.size])


def test_a_pool_may_be_smaller_than_the_number_of_tasks() -> None:
    few = draw_pool(MIXTURE, KEY, 2)
    assert few.size == 2
    assert few.states.level.max_steps.tolist() == [task.max_steps for task in MIXTURE.tasks[:2]]


def test_a_pool_depends_on_its_key_alone(pool: Pool[State]) -> None:
    again, other = (draw_pool(MIXTURE, jax.random.key(seed), LEVELS) for seed in (0, 1))
    jax.tree.map(np.testing.assert_array_equal, pool, again)
    assert (pool.states.grid != other.states.grid).any(axis=(1, 2)).all()


def test_a_single_level_is_of_any_task() -> None:
    env = make("qbabyai/danger", "qbabyai/open-door")
    states, observations = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(2), 64))
    assert states.grid.shape == (64, 7, 13)
    limits, counts = np.unique(states.level.max_steps, return_counts=True)
    assert limits.tolist() == [49, 98] and counts.min() > 16
    # Danger leaves no level without tiles, and Open Door has none.
    has_tiles = (np.asarray(states.grid) >> 3 == cells.TILE).any(axis=(1, 2))
    np.testing.assert_array_equal(has_tiles, states.level.max_steps == 49)
    np.testing.assert_array_equal(observations.mission, states.level.mission)


def test_a_batch_plays_all_tasks_and_goes_on(pool: Pool[State]) -> None:
    size = KINDS + 2  # episodes of a slot are of other tasks in turn
    levels = jax.device_put(pool)

    @jax.jit
    def run(key: jax.Array) -> tuple[jax.Array, TimeStep]:
        def body(batch: Batch[State], key: jax.Array) -> tuple[Batch[State], tuple[jax.Array, TimeStep]]:
            actions = jax.random.randint(key, (size, 5), 0, SIZES)
            before = batch.states.level.max_steps
            batch, time_step = advance(MIXTURE, levels, batch, actions)
            return batch, (before, time_step)

        return jax.lax.scan(body, start_batch(levels, size), jax.random.split(key, 500))[1]

    limits, time_step = jax.device_get(run(jax.random.key(3)))
    assert time_step.done.sum(axis=0).min() >= 2
    assert (time_step.stats.steps <= limits).all()
    np.testing.assert_array_equal(time_step.stats.steps[1:] == 1, time_step.done[:-1])
    assert time_step.terminated.any() and time_step.truncated.any()
    np.testing.assert_array_equal(time_step.stats.steps[time_step.truncated], limits[time_step.truncated])
    assert set(np.unique(limits)) == {task.max_steps for task in MIXTURE.tasks}


def test_equal_mixtures_share_what_is_compiled() -> None:
    names = "qbabyai/danger", "qbabyai/open-door"
    env, again, turned = make(*names), make(*names), make(*reversed(names))
    assert isinstance(env, MultiTaskGrid) and env == again and hash(env) == hash(again)
    assert env != turned and env != make(names[0]) and env.tasks == tuple(map(find_task, names))
    assert env.name == "qbabyai/danger + qbabyai/open-door"
    alone = make(names[0])
    assert isinstance(alone, QBabyAI) and alone.task == find_task(names[0])


def test_a_roomy_world_has_the_levels_of_its_task_and_room_for_any() -> None:
    roomy, plain = (draw_pool(world("qbabyai/open-door"), KEY, 6) for world in (make_roomy, make))
    jax.tree.map(np.testing.assert_array_equal, roomy.observations, plain.observations)
    assert roomy.states.grid.shape == (6, 19, 19) and plain.states.grid.shape == (6, 7, 13)
    np.testing.assert_array_equal(roomy.states.grid[:, :7, :13], plain.states.grid)
    assert make_roomy("qbabyai/danger") == make_roomy("qbabyai/danger") != make("qbabyai/danger")


def test_tasks_of_ones_own_are_roomy_too(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = Task("hall", FloorPlan(columns=3, room_size=9), (Danger(),))
    stew = replace(text_tasks()[0], name="stew", furniture=1)
    monkeypatch.setattr(bank_module, "_kept_bank", lambda path: small_bank())
    for task in (wide, stew):
        monkeypatch.setitem(registry._registered, task.name, task)
    assert draw_pool(make_roomy("hall"), KEY, 2).states.grid.shape == (2, 19, 25)
    assert make_roomy("stew").name == "stew"


def test_a_task_that_is_named_twice_has_two_shares() -> None:
    names = ("qbabyai/danger", "qbabyai/open-door", "qbabyai/danger")
    limits = np.array([find_task(name).max_steps for name in names])
    pool = draw_pool(make(*names), KEY, 6)
    np.testing.assert_array_equal(pool.states.level.max_steps, np.tile(limits, 2))
    ones = np.ones(6, int)
    played = Episodes(np.array([1, 1, 0, 1, 0, 0], bool), ones, ones, ones, ones, ones)
    shares = summarise_by_task(played, names)
    assert {name: (share["episodes"], share["success"]) for name, share in shares.items()} == {
        "qbabyai/danger": (4, 0.5),
        "qbabyai/open-door": (2, 0.5),
    }


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ((), "at least one task"),
        (("qbabyai/danger", "qbabyai/opendoor"), "did you mean qbabyai/open-door"),
        (("qtextworld/take1",), "did you mean qtextworld/take-1"),
        (("qbabyai/danger", "qtextworld/take-1"), "Q-BabyAI and of Q-TextWorld cannot be mixed"),
    ],
)
def test_bad_names_are_refused(names: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message) as refusal:
        make(*names)
    assert "\n" not in str(refusal.value)
