"""Vector environments of Gymnasium that are stepped in one go on the device, and that of Q-BabyAI."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Generic

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from afk.envs.adapters.gymnasium.support import (
    NOT_BEGUN,
    check_actions,
    check_process,
    check_render_mode,
    check_seed,
    check_tile_size,
    compiled,
    draw_levels,
    level_seeds,
    observation_arrays,
    observation_space,
    question_texts,
    render_state,
)
from afk.envs.core import Environment, StateT
from afk.envs.level_pool import Batch, Pool, start_batch
from afk.envs.qbabyai.environment import QBabyAI
from afk.envs.qbabyai.levels.tasks import Task
from afk.envs.qbabyai.world.state import Observation, State
from afk.envs.qbabyai.world.words import VOCABULARY
from afk.envs.registry import find_task_of

_ROUNDS = 8  # levels that are held ready for each environment


class DeviceVectorEnv(
    gymnasium.vector.VectorEnv[dict[str, Any], np.ndarray, np.ndarray], ABC, Generic[StateT]
):
    """Environments that are stepped together on the device, and never stop.

    They give just what Gymnasium's `SyncVectorEnv` over single ones gives with autoreset mode SAME_STEP:
    where an episode ended, the observation is the first of the next, and ``final_obs`` and ``final_info``
    hold the last of the one that ended.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  (Gymnasium's name and type)
        "render_modes": ["ansi"],
        "render_fps": 10,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        world: Environment[StateT],
        observation_space: spaces.Dict,
        num_envs: int,
        render_mode: str | None,
        max_episode_steps: int | None,
    ) -> None:
        """Make environments of a world; `observation_space` is that of one of them."""
        if num_envs < 1:
            raise ValueError(f"num_envs is at least 1, not {num_envs}")
        if max_episode_steps not in (None, world.max_steps):
            raise ValueError(
                f"episodes of {world.name} have {world.max_steps} steps here, not {max_episode_steps}: "
                'vectorization_mode="sync" takes another limit'
            )
        self.world, self.num_envs = world, num_envs
        self._compiled = compiled(world)
        self.render_mode = check_render_mode(render_mode, self.metadata["render_modes"])
        self.single_action_space = spaces.MultiDiscrete(np.array(world.action_sizes))
        self.single_observation_space = observation_space
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._generators: list[np.random.Generator] = []
        self._seeds = np.zeros((_ROUNDS, num_envs), np.uint32)  # row r: the levels of everyone's round r
        self._rounds = np.zeros(num_envs, int)  # the round that each of them plays
        self._pool: Pool[StateT]
        self._batch: Batch[StateT] | None = None

    @property
    def batch(self) -> Batch[StateT]:
        """Where the episodes stand, for solvers and for drawing."""
        if self._batch is None:
            raise ResetNeeded(NOT_BEGUN)
        return self._batch

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start the next episode everywhere; there are no options.

        Args:
            seed: environment i has the seed ``seed + i``, or ``seed[i]``; None goes on without a new seed.
            options: ignored.
        """
        check_process()
        if isinstance(seed, list | tuple):
            seeds = [check_seed(each) for each in seed]
            if len(seeds) != self.num_envs:
                raise ValueError(f"{len(seeds)} seeds were given for {self.num_envs} environments")
        else:
            first = check_seed(seed)
            super().reset(seed=first)
            first = int(self.np_random.integers(2**31)) if first is None else first
            seeds = [first + index for index in range(self.num_envs)]
        if seed is not None or not self._generators:
            self._generators = [seeding.np_random(each)[0] for each in seeds]
            self._rounds[:] = _ROUNDS - 1  # so that all levels are new
        self._refill(used=self._rounds + 1)
        self._batch = start_batch(self._pool, self.num_envs)
        observation = jax.device_get(self._batch.observations)
        everyone = np.ones(self.num_envs, bool)
        self._begin(observation, everyone)
        none = np.zeros(self.num_envs, int)
        return self._observations(observation), self._infos(everyone, none.astype(bool), none, none)

    def step(self, actions: Any) -> tuple[dict[str, Any], np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Act or ask in every environment; `actions` are (num_envs, components) int."""
        shape = (self.num_envs, len(self.world.action_sizes))
        actions = check_actions(self.world, actions, shape)
        batch = self.batch
        if self._rounds.max() == _ROUNDS - 1:
            self._refill(used=self._rounds)
            batch = replace(batch, cursor=jnp.arange(self.num_envs, dtype=jnp.int32))
        self._batch, time_step = self._compiled.advance(self._pool, batch, actions)
        observation, ends = jax.device_get((self._batch.observations, replace(time_step, observation=None)))
        counts = ends.success, ends.stats.queries, ends.stats.good
        finals: dict[str, Any] = {}
        if ends.done.any():
            finals = self._finals(jax.device_get(time_step.observation), ends.done, counts)
            self._rounds += ends.done
            self._begin(observation, ends.done)
        everyone = np.ones(self.num_envs, bool)
        infos = self._infos(everyone, *(np.where(ends.done, 0, count) for count in counts)) | finals
        rewards, terminated, truncated = (
            np.array(each) for each in (ends.reward, ends.terminated, ends.truncated)
        )
        return self._observations(observation), rewards.astype(float), terminated, truncated, infos

    def _refill(self, *, used: np.ndarray) -> None:
        """Draw new levels behind those that are still to be played: round 0 is what comes after `used`."""
        for index, count in enumerate(used):
            fresh = level_seeds(self._generators[index], count)
            self._seeds[:, index] = np.concatenate([self._seeds[count:, index], fresh])
        self._rounds[:] = 0
        # `advance` goes from level i to level i + num_envs: row by row, everyone gets their own.
        states = jax.tree.map(jnp.asarray, draw_levels(self.world, self._seeds.ravel()))
        self._pool = Pool(states, self._compiled.observe_all(states))

    @abstractmethod
    def _observations(self, observation: Any) -> dict[str, Any]:
        """Observations on the host, with a leading axis, as Gymnasium has them."""

    def _begin(self, observation: Any, begun: np.ndarray) -> None:
        """Note what does not change during the episodes that have begun, a (num_envs,) mask."""

    def _infos(self, present: np.ndarray, *counts: np.ndarray) -> dict[str, Any]:
        """Infos as Gymnasium batches them: each with a mask that says which environments have it.

        Args:
            present: (num_envs,) bool.
            counts: success, queries and asked, (num_envs,) each.
        """
        success, queries, asked = counts
        infos = {
            "success": np.where(present, success, False).astype(bool),
            "queries": np.where(present, queries, 0).astype(int),
            "asked": np.where(present, asked, 0).astype(int),
        }
        return infos | {f"_{name}": present.copy() for name in infos}

    def _finals(
        self, last: Any, done: np.ndarray, counts: tuple[np.ndarray, np.ndarray, np.ndarray]
    ) -> dict[str, Any]:
        """The last observations and infos of the episodes that ended."""
        batch = self._observations(last)
        observations = np.full(self.num_envs, None, object)
        for index in np.flatnonzero(done):
            observations[index] = {name: entry[index] for name, entry in batch.items()}
        return {
            "final_obs": observations,
            "_final_obs": done.copy(),
            "final_info": self._infos(done, *counts),
            "_final_info": done.copy(),
        }


class QueryableVectorEnv(DeviceVectorEnv[State]):
    """Environments of Q-BabyAI in a batch: what `SyncVectorEnv` over `QueryableEnv` gives."""

    metadata: dict[str, Any] = {  # noqa: RUF012  (Gymnasium's name and type)
        **DeviceVectorEnv.metadata,
        "render_modes": ["rgb_array", "ansi"],
    }

    def __init__(
        self,
        name: str,
        num_envs: int = 1,
        render_mode: str | None = None,
        tile_size: int = 32,
        text: bool = True,
        max_episode_steps: int | None = None,
    ) -> None:
        """Make environments of a task.

        Args:
            name: the task, such as ``qbabyai/object-in-box``.
            num_envs: how many there are.
            render_mode: ``rgb_array``, ``ansi`` or None.
            tile_size: pixels along a cell of a picture.
            text: whether to spell out instructions, answers and good queries; it is faster without.
            max_episode_steps: what Gymnasium says of the task; there is no other length of episodes.
        """
        world = QBabyAI(find_task_of(Task, name))
        super().__init__(world, observation_space(text=text), num_envs, render_mode, max_episode_steps)
        self.tile_size, self.text = check_tile_size(tile_size), text
        self._missions: list[str] = [""] * num_envs
        self._questions: list[list[str]] = [[]] * num_envs

    def render(self) -> tuple[Any, ...] | None:
        """A picture (height, width, 3) uint8 or a text of every environment."""
        batch = self.batch
        if self.render_mode is None:
            return None
        states = jax.device_get(batch.states)
        return tuple(
            render_state(
                jax.tree.map(lambda leaf, index=index: leaf[index], states), self.render_mode, self.tile_size
            )
            for index in range(self.num_envs)
        )

    def _observations(self, observation: Observation) -> dict[str, Any]:
        """Observations with a leading axis; texts as tuples."""
        observations = observation_arrays(observation)
        if self.text:
            observations["mission"] = tuple(self._missions)
            observations["response"] = tuple(
                VOCABULARY.decode(tokens) if tokens[0] else "" for tokens in observations["response_tokens"]
            )
        return observations

    def _begin(self, observation: Observation, begun: np.ndarray) -> None:
        """Spell out what does not change during the episodes that have begun."""
        if self.text:
            good_queries = jax.device_get(self.batch.states.level.good_queries)
            for index in np.flatnonzero(begun):
                self._missions[index] = VOCABULARY.decode(observation.mission[index])
                self._questions[index] = question_texts(good_queries[index])

    def _infos(self, present: np.ndarray, *counts: np.ndarray) -> dict[str, Any]:
        """Infos with the good queries of each episode, as lists that are the caller's own."""
        infos = super()._infos(present, *counts)
        if self.text:
            questions = np.full(self.num_envs, None, object)
            for index in np.flatnonzero(present):
                questions[index] = list(self._questions[index])
            infos |= {"good_queries": questions, "_good_queries": present.copy()}
        return infos
