"""Drawing levels in bulk: sound ones only, by their key alone, with programs that equal sources share."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from afk.envs.drawing import draw_sound
from afk.envs.qbabyai.environment import QBabyAI
from afk.envs.qbabyai.levels.tasks import Task
from afk.envs.registry import find_task_of

TRACED: list[str] = []  # a name for every time that a source is compiled


class Roll(NamedTuple):
    number: jax.Array
    faces: jax.Array


@dataclass(frozen=True)
class Dice:
    """A source of numbers below a million; only multiples of a divisor may be played."""

    name: str
    divisor: int

    def draw(self, key: jax.Array) -> tuple[Roll, jax.Array]:
        TRACED.append(self.name)
        number = jax.random.randint(key, (), 1, 1_000_000)
        return Roll(number, number * jnp.arange(1, 4)), number % self.divisor == 0


@pytest.mark.parametrize("size", [1, 7, 1024, 1025, 3000])
def test_as_many_sound_levels_are_drawn_as_are_wanted(size: int) -> None:
    drawn = draw_sound(Dice("dice", 3), jax.random.key(0), size)
    assert drawn.number.shape == (size,) and drawn.faces.shape == (size, 3)
    assert (np.asarray(drawn.number) % 3 == 0).all()
    np.testing.assert_array_equal(drawn.faces, np.asarray(drawn.number)[:, None] * np.arange(1, 4))
    assert len(np.unique(drawn.number)) > 0.98 * size


@pytest.mark.parametrize("size", [16, 2000])
def test_levels_depend_on_their_key_alone(size: int) -> None:
    first, again, other = (draw_sound(Dice("dice", 5), jax.random.key(seed), size) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.number, again.number)
    assert len(np.intersect1d(first.number, other.number)) < 0.05 * size


def test_rare_levels_are_looked_for() -> None:
    drawn = draw_sound(Dice("rare", 999), jax.random.key(3), 12)  # one in a round of draws, on average
    assert (np.asarray(drawn.number) % 999 == 0).all() and len(np.unique(drawn.number)) > 9


@pytest.mark.parametrize("size", [2, 2000])
def test_a_source_without_sound_levels_is_refused_by_name(size: int) -> None:
    with pytest.raises(ValueError, match=r"^hopeless: hardly any draw gives a sound level") as refusal:
        draw_sound(Dice("hopeless", 1_000_000), jax.random.key(0), size)
    assert "\n" not in str(refusal.value)


def test_equal_sources_share_a_program() -> None:
    def compile_for(source: Dice, size: int) -> int:
        before = len(TRACED)
        draw_sound(source, jax.random.key(4), size)
        return len(TRACED) - before

    assert compile_for(Dice("shared", 2), 8) > 0
    assert compile_for(Dice("shared", 2), 8) == compile_for(Dice("shared", 2), 900) == 0
    assert compile_for(Dice("shared", 2), 1500) > 0, "many levels have a program of their own"
    assert compile_for(Dice("shared", 3), 8) > 0, "another source is another program"


def test_a_task_has_the_levels_of_its_environment() -> None:
    task = find_task_of(Task, "qbabyai/danger")
    levels, expected = draw_sound(task, jax.random.key(5), 6), QBabyAI(task).draw_many(jax.random.key(5), 6)
    jax.tree.map(np.testing.assert_array_equal, levels, expected)


def test_another_size_compiles_nothing(caplog: pytest.LogCaptureFixture) -> None:
    source = Dice("sizes", 2)
    draw_sound(source, jax.random.key(0), 3)
    with jax.log_compiles(), caplog.at_level("DEBUG", logger="jax"):
        for size in (5, 7, 11):
            draw_sound(source, jax.random.key(size), size)
    assert not [each for each in caplog.messages if each.startswith("Compiling")]
