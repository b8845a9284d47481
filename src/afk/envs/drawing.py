"""Drawing levels in bulk: sound ones only, compiled for a few or for many."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, Protocol, TypeVar

import jax
import numpy as np

from afk.compiling import LIGHTLY, jit_lightly

StateT = TypeVar("StateT", covariant=True)
NO_SOUND_LEVEL = "{}: hardly any draw gives a sound level; make rooms larger or things fewer"
_DRAWS = 1024  # levels drawn at once
_PROGRAMS = 16  # kept in memory, some 35 MB each; all tasks of a mixture should have room
_HOPELESS = 64  # this many times that many draws without a sound level: there is none
# With nothing of what LLVM can do levels are drawn at a tenth of the speed, but a few are there sooner.
_FOR_FEW = LIGHTLY | {"xla_backend_optimization_level": 0}


class LevelSource(Protocol[StateT]):
    """What levels are drawn from: a task or an environment; hashable, so that equal ones share programs."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    def draw(self, key: jax.Array) -> tuple[StateT, jax.Array]:
        """Draw the first state of an episode, and say whether it may be played."""
        ...


def draw_sound(source: LevelSource[StateT], key: jax.Array, size: int) -> StateT:
    """First states of sound levels, with a leading axis of that size; a ValueError if there are none."""
    # On other devices than a CPU the way there and back takes longer than drawing.
    is_cpu = jax.default_backend() == "cpu"
    draw = _draw_rounds(source, few=size <= _DRAWS)
    at_once = 1 if is_cpu else -(-size // _DRAWS)
    tries = (2 * size // _DRAWS // at_once + 1) * _HOPELESS
    drawn, found = [], 0
    for number in range(tries):
        states, sound = jax.device_get(draw(_round_keys(key, np.int32(number), (tries, at_once))))
        drawn.append(jax.tree.map(lambda leaf, sound=sound: leaf[sound], states))
        found += int(sound.sum())
        if found >= size:
            break
    else:
        raise ValueError(NO_SOUND_LEVEL.format(source.name))
    # `jnp.asarray` would compile a program for every shape and keep it: who draws many sizes would grow.
    return jax.tree.map(lambda *leaves: jax.device_put(np.concatenate(leaves)[:size]), *drawn)


@partial(jax.jit, static_argnums=2)
def _round_keys(key: jax.Array, number: jax.Array, shape: tuple[int, int]) -> jax.Array:
    """The keys of one of (rounds, at once)."""
    return jax.random.split(key, shape)[number]


@lru_cache(maxsize=_PROGRAMS)
def _draw_rounds(source: LevelSource[Any], *, few: bool) -> Callable[..., Any]:
    """A function that draws levels, sound or not, for each of several keys; equal sources share it."""

    def draw(keys: jax.Array) -> tuple[Any, jax.Array]:
        every = jax.vmap(lambda key: jax.random.split(key, _DRAWS))(keys)
        return jax.vmap(source.draw)(every.reshape(-1))

    return jit_lightly(draw, _FOR_FEW if few else LIGHTLY)
