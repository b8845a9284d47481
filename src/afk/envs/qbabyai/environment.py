"""Q-BabyAI as a queryable environment."""

from typing import Any

import jax
import jax.numpy as jnp

from afk.envs.core import Environment, EpisodeStats, TimeStep
from afk.envs.qbabyai.levels.tasks import Task
from afk.envs.qbabyai.world import cells, dynamics
from afk.envs.qbabyai.world.state import Observation, State
from afk.envs.qbabyai.world.view import look
from afk.envs.qbabyai.world.words import MISSION_LENGTH, SILENCE, VOCABULARY
from afk.knowledge.facts import UNUSED


class GridWorld(Environment[State]):
    """Levels of one task or of several; actions are ``<switch, physical, func, adj, noun>``.

    A level is data, so what is seen of it and what a step does to it are the same for all tasks.

    Attributes:
        tasks: what its levels are drawn from.
    """

    vocabulary = VOCABULARY
    world = "qbabyai"
    sentence_length = MISSION_LENGTH
    action_sizes = (
        *(2, len(cells.ACTIONS)),
        *(len(VOCABULARY.functions), len(VOCABULARY.adjectives), len(VOCABULARY.nouns)),
    )

    def __init__(self, *tasks: Task) -> None:
        self.tasks = tasks
        self.name = " + ".join(task.name for task in tasks)
        self.max_steps = max(task.max_steps for task in tasks)
        self._identity: tuple[Any, ...] = tasks

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._identity == getattr(other, "_identity", None)

    def __hash__(self) -> int:
        return hash(self._identity)

    def observe(self, state: State) -> Observation:
        """What the agent sees before it has asked anything."""
        return Observation(look(state), state.level.mission, jnp.asarray(SILENCE))

    def step(self, state: State, action: jax.Array) -> tuple[State, TimeStep]:
        """Act or ask; see `afk.envs.qbabyai.world.dynamics.step`."""
        state, outcome = dynamics.step(state, action)
        return state, TimeStep(
            observation=Observation(look(state), state.level.mission, outcome.response),
            reward=outcome.reward,
            terminated=outcome.success | outcome.failure,
            truncated=outcome.timeout,
            success=outcome.success,
            stats=EpisodeStats(
                steps=state.step,
                queries=state.queries,
                good=state.asked.sum(),
                wanted=(state.level.good_queries[:, 0] != UNUSED).sum(),
            ),
        )


class QBabyAI(GridWorld):
    """A task as an environment."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.task = task

    def draw(self, key: jax.Array) -> tuple[State, jax.Array]:
        """Draw a level; see `Task.draw`."""
        return self.task.draw(key)
