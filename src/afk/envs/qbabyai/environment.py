"""Q-BabyAI as a queryable environment."""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from afk.envs.core import Environment, EpisodeStats, TimeStep
from afk.envs.qbabyai.levels.tasks import Task
from afk.envs.qbabyai.world import cells, dynamics
from afk.envs.qbabyai.world.asking import length_of, places_of, retell
from afk.envs.qbabyai.world.rumours import things_of
from afk.envs.qbabyai.world.state import MAX_GOOD_QUERIES, Observation, State
from afk.envs.qbabyai.world.view import look
from afk.envs.qbabyai.world.words import (
    MISSION_LENGTH,
    REFUSAL,
    SOURCE_NAMES,
    UNKNOWN,
    VOCABULARY,
)
from afk.knowledge.facts import UNUSED
from afk.knowledge.live import Live
from afk.knowledge.source import KnowledgeSource
from afk.knowledge.traits import SourceSpec, draw_dealings, stats_of, terms_of

_DEALINGS = 1  # what of a level's key its sources are drawn with


class GridWorld(Environment[State]):
    """Levels of one task or of several; actions are ``<switch, physical, func, adj, noun>``.

    A level is data, so what is seen of it and what a step does to it are the same for all tasks.

    Attributes:
        tasks: what its levels are drawn from.
        source: whom they are told by; the oracle if None. It is no part of a compiled program.
        live: who is asked while episodes are played; nobody if None.
    """

    source: KnowledgeSource | None = None
    live: Live | None = None
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
        if not isinstance(other, GridWorld) or type(self) is not type(other):
            return False
        same = self._identity == other._identity and self.sources == other.sources
        return same and self.live is other.live

    def __hash__(self) -> int:
        return hash((self._identity, self.sources, self.live))

    def with_sources(self, sources: Sequence[SourceSpec]) -> "GridWorld":
        """The same world with other sources; the switch then chooses among acting and each of them."""
        if tuple(sources) == self.sources:
            return self
        if len(sources) > len(SOURCE_NAMES):
            raise ValueError(f"{self.name} has at most {len(SOURCE_NAMES)} sources, not {len(sources)}")
        other = copy(self)
        other.sources = tuple(sources)
        other.action_sizes = (1 + max(1, len(sources)), *GridWorld.action_sizes[1:])
        return other

    def told_by(self, source: KnowledgeSource) -> "GridWorld":
        """The same world; what a source tells of levels that are drawn in bulk takes the oracle's place.

        One that cannot be asked everything beforehand is asked while episodes are played; what it refuses
        stands in their statistics.
        """
        other = copy(self)
        if source.is_deterministic:
            other.source = source
        else:
            # Whoever may refuse or fail keeps books of it.
            other = other.with_sources(other.sources or (SourceSpec(),))
            other.live = Live(source, VOCABULARY, *map(VOCABULARY.decode, (UNKNOWN, REFUSAL)))
        return other

    def draw_many(self, key: jax.Array, size: int) -> State:
        """See `Environment`."""
        return self.retell(super().draw_many(key, size), key)

    def retell(self, states: State, key: jax.Array) -> State:
        """Levels with what the source tells of them."""
        if self.source is None:
            return states
        return retell(self.source, states, int(jax.random.bits(key)))

    def observe(self, state: State) -> Observation:
        """What the agent sees before it has asked anything."""
        response = jnp.zeros(length_of(len(self.sources)), jnp.uint8)
        return Observation(look(state), state.level.mission, response, self._terms(state))

    def step(self, state: State, action: jax.Array) -> tuple[State, TimeStep]:
        """Act or ask; see `afk.envs.qbabyai.world.dynamics.step`."""
        state, outcome = dynamics.step(state, action, self.sources, self.live)
        return state, TimeStep(
            observation=Observation(look(state), state.level.mission, outcome.response, self._terms(state)),
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
            dealings=None if state.dealings is None else stats_of(state.dealings),
            cost=outcome.cost,
        )

    def _terms(self, state: State) -> jax.Array | None:
        """What the agent sees of what its sources cost."""
        return None if state.dealings is None else terms_of(self.sources, state.dealings)


class QBabyAI(GridWorld):
    """A task as an environment."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.task = task

    def draw(self, key: jax.Array) -> tuple[State, jax.Array]:
        """Draw a level; see `Task.draw`. It is the same whatever its sources are like."""
        state, sound = self.task.draw(key)
        if self.sources:
            dealings_key = jax.random.fold_in(key, _DEALINGS)
            dealings = draw_dealings(
                self.sources,
                dealings_key,
                wanted=MAX_GOOD_QUERIES,
                facts=places_of(state.facts),
                rumours=things_of(state.facts),
            )
            state = replace(state, dealings=dealings)
        return state, sound
