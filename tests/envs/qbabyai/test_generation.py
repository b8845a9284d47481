"""Drawing levels: by seed alone, sound whatever the composition, and refused where nothing fits."""

from collections.abc import Callable

import equinox as eqx
import jax
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from afk.envs.core import Environment, TimeStep
from afk.envs.level_pool import draw_pool
from afk.envs.qbabyai.environment import QBabyAI
from afk.envs.qbabyai.levels.clauses import Clause, Danger, GoToFavorite, ObjectInBox, OpenDoor
from afk.envs.qbabyai.levels.floorplan import FloorPlan
from afk.envs.qbabyai.levels.tasks import Task
from afk.envs.qbabyai.world.state import State

from .level_checks import all_checks, faults, route_checks
from .levels import COLOURS, Expected, Levels


def expected_of(task: Task) -> Expected:
    """What the specification says of any composition of clauses."""
    plan, suits = task.plan, {type(clause) for clause in task.clauses}
    lock = next((clause for clause in task.clauses if isinstance(clause, OpenDoor)), None)
    favorite = next((clause for clause in task.clauses if isinstance(clause, GoToFavorite)), None)
    instruction, questions = [], ""
    if Danger in suits:
        instruction.append("avoid danger zone")
        questions += "d"
    if lock:
        instruction.append("find the key to the door")
        questions += "kl" if lock.keys_apart else "k"
    if ObjectInBox in suits:
        instruction.append("find NAME toy")
        questions += "tbsx" if plan.rooms > 1 else "tbs"
    elif favorite:
        instruction.append("go to NAME toy")
        questions += "tw" if plan.rooms > 1 else "t"
    elif Danger in suits:
        instruction.append("go to the green square")
    letters = {ObjectInBox: "C", Danger: "S", GoToFavorite: "D", OpenDoor: "H"}
    return Expected(
        "".join(letter for kind, letter in letters.items() if kind in suits),
        *(plan.rows, plan.columns, plan.room_size),
        questions,
        ", ".join(instruction),
        open_doors=plan.open_doors,
        keys=lock.keys if lock else 0,
        keys_apart=bool(lock and lock.keys_apart),
        objects=favorite.objects if favorite else 0,
        kinds=favorite.kinds if favorite else (),
        colours=favorite.colours if favorite else (),
    )


def leaves_equal(first: object, second: object) -> bool:
    leaves = zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True)
    return all(np.array_equal(one, other) for one, other in leaves)


# Small, and with rivers, locks and keys: many of its draws are thrown away.
SMALL = Task("small", FloorPlan(columns=2, room_size=5), (Danger(), OpenDoor(keys=2)))
SEEDS = 1000


@pytest.fixture(scope="module")
def keys() -> jax.Array:
    return jax.random.split(jax.random.key(7), SEEDS)


@pytest.fixture(scope="module")
def drawn(keys: jax.Array) -> tuple[State, jax.Array]:
    return jax.jit(jax.vmap(SMALL.draw))(keys)


def test_a_level_depends_on_its_key_alone(keys: jax.Array, drawn: tuple[State, jax.Array]) -> None:
    draw = jax.jit(SMALL.draw)
    for index in (0, 1, SEEDS - 1):
        level = jax.tree.map(lambda leaf, index=index: leaf[index], drawn)
        assert leaves_equal(level, draw(keys[index]))
        assert leaves_equal(level, draw(keys[index]))
    assert leaves_equal(jax.tree.map(lambda leaf: leaf[1], drawn), SMALL.draw(keys[1]))
    grids = np.asarray(drawn[0].grid).reshape(SEEDS, -1)
    assert len(np.unique(grids, axis=0)) > 0.95 * SEEDS


def test_unsound_draws_are_thrown_away(keys: jax.Array, drawn: tuple[State, jax.Array]) -> None:
    env, expected = QBabyAI(SMALL), expected_of(SMALL)
    states, sound = drawn
    assert 0.1 < np.mean(sound) < 0.9
    assert faults(route_checks(Levels(states, expected)))
    states, observations = jax.jit(jax.vmap(env.reset))(keys)
    assert not faults(all_checks(Levels(states, expected)))
    assert leaves_equal(observations, jax.jit(jax.vmap(env.observe))(states))


class Roll(eqx.Module):
    number: jax.Array


class Dice(Environment[Roll]):
    """A world that is a number below a million; only multiples of a divisor may be played."""

    name = "dice"

    def __init__(self, divisor: int) -> None:
        self.divisor = divisor

    def draw(self, key: jax.Array) -> tuple[Roll, jax.Array]:
        number = jax.random.randint(key, (), 1, 1_000_000)
        return Roll(number), number % self.divisor == 0

    def observe(self, state: Roll) -> jax.Array:
        return -state.number

    def step(self, state: Roll, action: jax.Array) -> tuple[Roll, TimeStep]:
        raise NotImplementedError


def test_a_pool_holds_sound_draws_of_its_key() -> None:
    pool, again, other = (draw_pool(Dice(3), jax.random.key(seed), 3000) for seed in (3, 3, 4))
    assert leaves_equal(pool, again)
    numbers, others = np.asarray(pool.states.number), np.asarray(other.states.number)
    assert pool.size == len(numbers) == len(others) == 3000
    assert (numbers % 3 == 0).all()
    assert np.array_equal(np.asarray(pool.observations), -numbers)
    assert len(np.unique(numbers)) > 2900
    assert len(np.intersect1d(numbers, others)) < 100


def test_a_pool_is_refused_when_no_draw_is_sound() -> None:
    with pytest.raises(ValueError, match="dice"):
        draw_pool(Dice(1_000_000), jax.random.key(0), 2)


@pytest.mark.parametrize("size", [0, -3])
def test_a_pool_holds_something(size: int) -> None:
    with pytest.raises(ValueError, match="at least one level"):
        draw_pool(Dice(1), jax.random.key(0), size)


@pytest.mark.parametrize(
    ("rows", "columns", "room_size", "message"),
    [
        (0, 1, 7, "0 x 1"),
        (-1, -1, 7, "-1 x -1"),
        (4, 3, 7, "1 to 10 rooms"),
        (1, 11, 7, "1 to 10 rooms"),
        (1, 1, 3, "room_size"),
        (1, 1, 16, "room_size"),
    ],
)
def test_impossible_floor_plans_are_refused(rows: int, columns: int, room_size: int, message: str) -> None:
    with pytest.raises(ValueError, match=message) as refusal:
        FloorPlan(rows, columns, room_size)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("plan", "clauses", "message"),
    [
        (FloorPlan(), lambda: (), "clauses"),
        (FloorPlan(), lambda: ("danger",), "clauses"),
        (FloorPlan(), lambda: (Danger(), Danger()), "once"),
        (FloorPlan(), lambda: (GoToFavorite(), Danger(), GoToFavorite(objects=2)), "once"),
        (FloorPlan(), lambda: (OpenDoor(),), "two rooms"),
        (FloorPlan(columns=2, room_size=4), lambda: (Danger(),), "size 5"),
        (FloorPlan(), lambda: (GoToFavorite(kinds=("ball", "door")),), "unknown kind 'door'"),
        (FloorPlan(), lambda: (GoToFavorite(colours=("blue", "pink")),), "unknown colour 'pink'"),
        (FloorPlan(), lambda: (GoToFavorite(objects=5),), "2 to 4 objects"),
        (FloorPlan(), lambda: (GoToFavorite(objects=1),), "2 to 4 objects"),
        (FloorPlan(), lambda: (GoToFavorite(objects=7, colours=COLOURS),), "2 to 6 objects"),
        (FloorPlan(columns=2), lambda: (OpenDoor(keys=0),), "1 to 4 keys"),
        (FloorPlan(columns=2), lambda: (OpenDoor(keys=5),), "1 to 4 keys"),
    ],
)
def test_malformed_tasks_are_refused(
    plan: FloorPlan, clauses: Callable[[], tuple[Clause, ...]], message: str
) -> None:
    with pytest.raises(ValueError, match=message) as refusal:
        Task("mine", plan, clauses())
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("plan", "clauses", "message"),
    [
        (FloorPlan(columns=2), (OpenDoor(keys=2, keys_apart=True),), "too few"),
        (FloorPlan(columns=4), (GoToFavorite(objects=3), OpenDoor(keys=1)), "too few"),
        (FloorPlan(room_size=4), (ObjectInBox(),), "mine.*sound"),
    ],
)
def test_what_cannot_fit_is_refused(plan: FloorPlan, clauses: tuple[Clause, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message) as refusal:
        draw_pool(QBabyAI(Task("mine", plan, clauses)), jax.random.key(0), 10)
    assert "\n" not in str(refusal.value)


def test_favourites_that_repeat_a_kind_stay_distinct() -> None:
    with pytest.raises(ValueError, match="ball"):
        GoToFavorite(objects=2, kinds=("ball", "ball"))


@pytest.mark.parametrize(
    ("favorite", "lock"),
    [
        (GoToFavorite(objects=3, kinds=("key",), colours=COLOURS), OpenDoor(keys=4)),
        (GoToFavorite(objects=4, kinds=("key", "ball")), OpenDoor(keys=1)),
    ],
)
def test_favourites_and_keys_of_the_lock_must_be_able_to_differ(
    favorite: GoToFavorite, lock: OpenDoor
) -> None:
    with pytest.raises(ValueError, match="key"):
        Task("mine", FloorPlan(rows=3, columns=3), (favorite, lock))


favorites = st.builds(
    GoToFavorite,
    objects=st.integers(2, 4),
    kinds=st.sampled_from([("key", "ball"), ("key", "ball", "box"), ("ball", "box")]),
    colours=st.sampled_from([("blue", "green"), COLOURS]),
)
locks = st.builds(OpenDoor, keys=st.integers(1, 3), keys_apart=st.booleans())
compositions = st.tuples(
    st.sampled_from([(), (ObjectInBox(),)]),
    st.sampled_from([(), (Danger(),)]),
    favorites.map(lambda clause: (clause,)) | st.just(()),
    locks.map(lambda clause: (clause,)) | st.just(()),
).map(lambda parts: sum(parts, ()))
plans = st.builds(
    FloorPlan,
    rows=st.integers(1, 2),
    columns=st.integers(1, 3),
    room_size=st.integers(5, 7),
    open_doors=st.booleans(),
)


@settings(
    max_examples=5,
    derandomize=True,
    database=None,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow],
)
@example(FloorPlan(rows=2, columns=3, room_size=5), (Danger(), GoToFavorite(objects=2), OpenDoor(keys=2)))
@given(plans, compositions)
@pytest.mark.slow
def test_any_composition_is_sound_or_refused(plan: FloorPlan, clauses: tuple[Clause, ...]) -> None:
    try:
        task = Task("mine", plan, clauses)
        pool = draw_pool(QBabyAI(task), jax.random.key(0), 1000)
    except ValueError as refusal:
        assert "\n" not in str(refusal)
        return
    problems = faults(all_checks(Levels(pool.states, expected_of(task))))
    assert not problems
