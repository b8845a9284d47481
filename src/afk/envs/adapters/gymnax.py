"""All tasks for libraries that train on Gymnax's interface: Rejax, PureJaxRL and their like.

One number is an action and one vector an observation, and a whole training run compiles into one program::

    from afk.envs.adapters.gymnax import GymnaxEnv

    env = GymnaxEnv("qbabyai/danger")
    observation, state = env.reset(key, env.default_params)
    observation, state, reward, done, info = env.step(key, state, action, env.default_params)

Levels are drawn with rejection, which costs much more than a step. So the parameters hold a pool of levels
that was drawn in bulk, and an episode begins in one of them at random. `GymnaxEnv.draw_params` draws other
levels, to go on with or to test on; parameters with as many levels share compiled programs.

Steps give five values, as in Gymnax before 1.0 and as Rejax and PureJaxRL take them; wrappers of Gymnax 1.0
itself want six. Gymnax is not needed; where it is installed, spaces are of its classes. PureJaxRL asks
`gymnax.make` for a name, which ``gymnax.register(name, partial(GymnaxEnv, name))`` makes known.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from afk.envs.core import Environment
from afk.envs.level_pool import Pool, draw_pool
from afk.envs.qbabyai.world import cells
from afk.envs.qbabyai.world.state import Observation as GridObservation
from afk.envs.qtextworld.world.state import Observation as TextObservation
from afk.envs.registry import make, world_of

LEVELS = 4096  # of a pool, unless given
_CELL_SIZES = (cells.SQUARE + 1, len(cells.COLOURS), len(cells.DOOR_STATES))  # values of type, colour, state


class EnvParams(eqx.Module):
    """What may change from run to run without compiling anew.

    Attributes:
        levels: where episodes begin, with a leading axis.
        max_steps_in_episode: steps until an episode is cut off; a level's own limit holds beside it.
    """

    levels: Pool[Any]
    max_steps_in_episode: int

    def replace(self, **changes: Any) -> "EnvParams":
        """The same with other values, as parameters of Gymnax have it."""
        return replace(self, **changes)


class GymnaxEnv:
    """A task with one number as action and one float32 vector as observation.

    Actions and observations of Q-BabyAI are those of `afk.envs.adapters.gymnasium.FlatEnv`. Actions are first
    the seven physical ones, then every query with the noun changing fastest: 1,063. Observations are one-hot,
    (3030,): for each of the 49 cells, column by column, its type (9), colour (6) and state (3); the agent's
    direction (4); each token of the instruction (20 x 67) and of the answer (12 x 67).

    Actions of Q-TextWorld are every ``<func, adj, noun>`` with the noun changing fastest: 11,970 without
    cooking. Observations are numbers of tokens, as they are: of the text (384 in the paper's tasks), of the
    instruction (64) and of the answer (32). An embedding wants them as integers; dense layers alone will
    make little of them.

    Attributes:
        world: the environment behind it.
        name: that of the task.
        action_vectors: (num_actions, components) int32, what each action is in the environment behind.
        num_actions: how many actions there are.
        default_params: the parameters that count where none are given.
    """

    def __init__(
        self,
        task: str | Environment[Any],
        *,
        levels: int = LEVELS,
        seed: int = 0,
        actions: Sequence[str] | None = None,
    ) -> None:
        """Make the environment, and draw its levels.

        Args:
            task: its name, such as ``qbabyai/danger``, or an environment, such as one of several tasks.
            levels: how many levels the default parameters hold.
            seed: what they are drawn by.
            actions: in words, what can be done and asked, numbered in this order; None for everything. A
                policy over all actions begins by asking nearly all the time: in Q-BabyAI, one number in 150
                is a physical action.
        """
        self.world = make(task) if isinstance(task, str) else task
        if self.world.world not in _FORMS:
            raise ValueError(f"tasks of {', '.join(_FORMS)} have a flat form, not {self.world.name!r}")
        self._form = _FORMS[self.world.world]
        self.name = self.world.name
        self.action_vectors = (
            self._form.list_actions(self.world) if actions is None else _read_actions(self.world, actions)
        )
        self.num_actions = len(self.action_vectors)
        self.default_params = self.draw_params(jax.random.key(seed), levels)
        example = jax.tree.map(lambda leaf: leaf[0], self.default_params.levels.observations)
        self._observation_space = _space_class(Box)(
            0.0, self._form.highest(self.world), self.flatten(example).shape, jnp.float32
        )
        self._action_space = _space_class(Discrete)(self.num_actions)

    def draw_params(self, key: jax.Array, levels: int = LEVELS) -> EnvParams:
        """Parameters with so many levels of their own; not to be compiled."""
        return EnvParams(draw_pool(self.world, key, levels), self.world.max_steps)

    def reset(self, key: jax.Array, params: EnvParams | None = None) -> tuple[jax.Array, Any]:
        """Begin an episode in a random level.

        Returns:
            The first observation, (size,) float32, and the first state.
        """
        return self._reset(key, self.default_params if params is None else params)

    def step(
        self, key: jax.Array, state: Any, action: int | jax.Array, params: EnvParams | None = None
    ) -> tuple[jax.Array, Any, jax.Array, jax.Array, dict[str, Any]]:
        """Act or ask; where the episode ends, the next begins in a random level.

        Args:
            key: what the next level is picked by.
            state: where the episode stands.
            action: () int, from 0 to below `num_actions`; since programs cannot complain, it is not checked.
            params: the levels and the limit of steps.

        Returns:
            The observation, (size,) float32, and the state to go on with, which are those of the next episode
            if this one ended; the reward, () float32; whether the episode ended, () bool; and infos. These
            are of the episode that was stepped: ``terminated``, ``truncated`` and ``success``, () bool;
            ``discount``, () float32, 0 if it terminated and 1 otherwise, also if it was cut off; ``queries``,
            how many were asked, ``asked``, how many of the good ones, and ``wanted``, how many of these there
            are, () int32; and ``final_observation``, what the step led to, small as the world gives it, since
            PureJaxRL keeps all infos: `flatten` makes a vector of it.
        """
        return self._step(key, state, action, self.default_params if params is None else params)

    def flatten(self, observation: Any) -> jax.Array:
        """An observation of the world as (size,) float32; see the class for its layout."""
        return self._form.flatten(self.world, observation)

    def observation_space(self, params: EnvParams | None = None) -> Any:
        """A `Box` of float32."""
        return self._observation_space

    def action_space(self, params: EnvParams | None = None) -> Any:
        """A `Discrete` of `num_actions`."""
        return self._action_space

    @partial(jax.jit, static_argnums=0)
    def _reset(self, key: jax.Array, params: EnvParams) -> tuple[jax.Array, Any]:
        state, observation = _pick_level(params.levels, key)
        return self.flatten(observation), state

    @partial(jax.jit, static_argnums=0)
    def _step(
        self, key: jax.Array, state: Any, action: jax.Array, params: EnvParams
    ) -> tuple[jax.Array, Any, jax.Array, jax.Array, dict[str, Any]]:
        state, time_step = self.world.step(state, jnp.asarray(self.action_vectors)[action])
        stats, terminated = time_step.stats, time_step.terminated
        late = stats.steps >= params.max_steps_in_episode
        truncated = time_step.truncated | (late & ~terminated)
        done = terminated | truncated
        info = {
            "discount": 1.0 - terminated.astype(jnp.float32),
            "terminated": terminated,
            "truncated": truncated,
            "success": time_step.success,
            "queries": stats.queries,
            "asked": stats.good,
            "wanted": stats.wanted,
            "final_observation": time_step.observation,
        }
        fresh = _pick_level(params.levels, key)
        state, observation = jax.tree.map(partial(jnp.where, done), fresh, (state, time_step.observation))
        return self.flatten(observation), state, time_step.reward, done, info


@dataclass(frozen=True)
class Discrete:
    """Numbers from 0 to below `n`: Gymnax's class of that name, where it is not installed."""

    n: int
    shape: tuple[int, ...] = ()
    dtype: Any = jnp.int32

    def sample(self, key: jax.Array) -> jax.Array:
        """One of them at random, () int32."""
        return jax.random.randint(key, self.shape, 0, self.n, self.dtype)

    def contains(self, x: Any) -> jax.Array:
        """Whether a number is one of them, () bool."""
        return (jnp.asarray(x) >= 0) & (jnp.asarray(x) < self.n)


@dataclass(frozen=True)
class Box:
    """Arrays of a shape within bounds: Gymnax's class of that name, where it is not installed."""

    low: float
    high: float
    shape: tuple[int, ...]
    dtype: Any = jnp.float32

    def sample(self, key: jax.Array) -> jax.Array:
        """One of them at random."""
        return jax.random.uniform(key, self.shape, self.dtype, self.low, self.high)

    def contains(self, x: Any) -> jax.Array:
        """Whether all of an array is within the bounds, () bool."""
        return jnp.all((jnp.asarray(x) >= self.low) & (jnp.asarray(x) <= self.high))


def _space_class(ours: type) -> Any:
    """Gymnax's class of that name where it is installed, since Rejax asks for it; ours otherwise."""
    try:
        return getattr(import_module("gymnax.environments.spaces"), ours.__name__)
    except ImportError:
        return ours


def _pick_level(levels: Pool[Any], key: jax.Array) -> tuple[Any, Any]:
    """The first state and observation of one of the levels."""
    number = jax.random.randint(key, (), 0, levels.size)
    return jax.tree.map(lambda leaf: leaf[number], (levels.states, levels.observations))


def _read_actions(env: Environment[Any], lines: Sequence[str]) -> np.ndarray:
    """Actions in words as (lines, components) int32; a ValueError if there are none, or none such."""
    if isinstance(lines, str) or not lines:
        raise ValueError(f"actions are a list of at least one line, not {lines!r}")
    return np.stack([world_of(env).text.read(env, line) for line in lines]).astype(np.int32)


def _list_vectors(env: Environment[Any]) -> np.ndarray:
    """Every action vector, (vectors, components) int32, the last component changing fastest."""
    return np.indices(env.action_sizes, np.int32).reshape(len(env.action_sizes), -1).T


def _list_grid_actions(env: Environment[Any]) -> np.ndarray:
    """The actions of Q-BabyAI, (1063, 5) int32: what does not matter is 0."""
    vectors = _list_vectors(env)
    is_query, physical, query = vectors[:, 0] == cells.ASK, vectors[:, 1], vectors[:, 2:]
    return vectors[np.where(is_query, physical == 0, (query == 0).all(-1))]


def _flatten_grid(env: Environment[Any], observation: GridObservation) -> jax.Array:
    """An observation of Q-BabyAI, one-hot."""
    one_hot = partial(jax.nn.one_hot, dtype=jnp.float32)
    image, tokens = observation.image, len(env.vocabulary.tokens)
    channels = [one_hot(image[..., channel], size) for channel, size in enumerate(_CELL_SIZES)]
    parts = [
        jnp.concatenate(channels, axis=-1),
        one_hot(image[0, 0, -1], len(cells.DIRECTIONS)),
        one_hot(observation.mission, tokens),
        one_hot(observation.response, tokens),
    ]
    return jnp.concatenate([part.ravel() for part in parts])


def _flatten_text(env: Environment[Any], observation: TextObservation) -> jax.Array:
    """An observation of Q-TextWorld as numbers of tokens, which float32 holds exactly."""
    parts = [observation.text, observation.mission, observation.response]
    return jnp.concatenate(parts).astype(jnp.float32)


class _Form(NamedTuple):
    """How a world is made flat.

    Attributes:
        list_actions: every action, (actions, components) int32.
        flatten: an observation as (size,) float32.
        highest: the largest number in an observation.
    """

    list_actions: Callable[[Environment[Any]], np.ndarray]
    flatten: Callable[[Environment[Any], Any], jax.Array]
    highest: Callable[[Environment[Any]], float]


_FORMS = {
    "qbabyai": _Form(_list_grid_actions, _flatten_grid, lambda env: 1.0),
    "qtextworld": _Form(_list_vectors, _flatten_text, lambda env: len(env.vocabulary.tokens) - 1.0),
}
