"""Q-TextWorld as a queryable environment."""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp

from afk.envs.core import Environment, EpisodeStats, TimeStep
from afk.envs.qtextworld.levels import sampler
from afk.envs.qtextworld.levels.bank import Bank, load_bank
from afk.envs.qtextworld.levels.tasks import Task
from afk.envs.qtextworld.world import dynamics, text
from afk.envs.qtextworld.world.asking import retell
from afk.envs.qtextworld.world.state import Observation, State, contents_of, wanted_facts
from afk.envs.qtextworld.world.words import (
    ADJECTIVES,
    FUNCTIONS,
    MISSION_LENGTH,
    NOUNS,
    RESPONSE_LENGTH,
    make_vocabulary,
)
from afk.knowledge.source import KnowledgeSource
from afk.knowledge.traits import SourceSpec, draw_dealings, stats_of, terms_of
from afk.language import Vocabulary

_DEALINGS = 1  # what of a game's key its source is drawn with


@lru_cache(maxsize=8)
def _make_language(bank: Bank, cook: bool) -> tuple[Vocabulary, text.Book]:
    """The words of games, and all that can be said in them."""
    vocabulary = make_vocabulary(set(bank.words[1:]), cook=cook)
    return vocabulary, text.make_book(bank, vocabulary)


class CookingGames(Environment[State]):
    """Games of one task or of several; actions are ``<func, adj, noun>``, physical and queries alike.

    Attributes:
        tasks: what its games are drawn from.
        beside: other tasks whose games it would hold, too.
        bank: the texts of its descriptions.
        book: all that can be said, numbered by the vocabulary.
        most_ingredients: how many a game of any of its tasks has at most.
        may_prepare: whether one of its tasks has ingredients prepared.
        source: whom its games are told by; the oracle if None. It is no part of a compiled program.
    """

    source: KnowledgeSource | None = None
    world = "qtextworld"
    sentence_length = MISSION_LENGTH

    def __init__(self, *tasks: Task, bank: Bank | None = None, beside: Sequence[Task] = ()) -> None:
        """A world for games of some tasks that would hold those `beside` them, too."""
        self.tasks, self.beside, every = tasks, frozenset(beside), (*tasks, *beside)
        self.name = " + ".join(task.name for task in tasks)
        self.max_steps = max(task.max_steps for task in every)
        self.bank = load_bank() if bank is None else bank
        self.vocabulary, self.book = _make_language(self.bank, any(task.cook for task in every))
        self.action_sizes = (max(len(task.functions) for task in every), len(ADJECTIVES), len(NOUNS))
        self._text_length = max(task.text_length for task in every)
        self.most_ingredients = max(task.ingredients for task in every)
        self.may_prepare = any(task.prepares for task in every)
        self._identity: tuple[Any, ...] = (tasks, self.beside, self.bank)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CookingGames) or type(self) is not type(other):
            return False
        return self._identity == other._identity and self.sources == other.sources

    def __hash__(self) -> int:
        return hash((self._identity, self.sources))

    def with_sources(self, sources: Sequence[SourceSpec]) -> "CookingGames":
        """The same world with a source that has traits, or with the oracle; questions do not say to whom."""
        if tuple(sources) == self.sources:
            return self
        if len(sources) > 1:
            raise ValueError(f"{self.name} has room for one source, not {len(sources)}")
        other = copy(self)
        other.sources = tuple(sources)
        return other

    def told_by(self, source: KnowledgeSource) -> "CookingGames":
        """The same world; what a source tells of games that are drawn in bulk takes the oracle's place."""
        other = copy(self)
        other.source = source
        return other

    def draw_many(self, key: jax.Array, size: int) -> State:
        """See `Environment`."""
        return self.retell(super().draw_many(key, size), key)

    def retell(self, states: State, key: jax.Array) -> State:
        """Games with what the source tells of them."""
        if self.source is None:
            return states
        return retell(self.source, states, int(jax.random.bits(key)))

    def observe(self, state: State) -> Observation:
        """What the agent sees before it has done anything."""
        spoken = text.mission_spans(self.book, state.game)
        return Observation(
            text=text.describe(self.book, state, spoken, self._text_length),
            mission=text.say(self.book, spoken, MISSION_LENGTH),
            response=jnp.zeros(RESPONSE_LENGTH, jnp.uint16),
            terms=self._terms(state),
        )

    def step(self, state: State, action: jax.Array) -> tuple[State, TimeStep]:
        """Act or ask; see `afk.envs.qtextworld.world.dynamics.step`."""
        command = action + jnp.array([len(FUNCTIONS) - self.action_sizes[0], 0, 0])
        state, outcome = dynamics.step(self.book, state, command, self.sources)
        response = text.say(self.book, outcome.feedback * outcome.is_query, RESPONSE_LENGTH)
        is_over = outcome.success | outcome.failure
        return state, TimeStep(
            observation=Observation(
                text=text.describe(self.book, state, outcome.feedback, self._text_length),
                mission=text.say(self.book, text.mission_spans(self.book, state.game), MISSION_LENGTH),
                response=response,
                terms=self._terms(state),
            ),
            reward=outcome.success.astype(jnp.float32),
            terminated=is_over,
            truncated=(state.step >= self.max_steps) & ~is_over,
            success=outcome.success,
            stats=self._stats(state),
            dealings=None if state.dealings is None else stats_of(state.dealings),
            cost=outcome.cost,
        )

    def _stats(self, state: State) -> EpisodeStats:
        """The episode's counts."""
        wanted = wanted_facts(state.game)
        return EpisodeStats(
            steps=state.step,
            queries=state.queries,
            good=(state.asked & wanted).sum(),
            wanted=wanted.sum(),
        )

    def _terms(self, state: State) -> jax.Array | None:
        """What the agent sees of what its source costs."""
        return None if state.dealings is None else terms_of(self.sources, state.dealings)


class QTextWorld(CookingGames):
    """A task as an environment."""

    def __init__(self, task: Task, bank: Bank | None = None) -> None:
        super().__init__(task, bank=bank)
        self.task = task

    def draw(self, key: jax.Array) -> tuple[State, jax.Array]:
        """Draw a game; all of them can be won. It is the same whatever its source is like."""
        state = sampler.draw_game(self.task, len(self.bank.intros), key)
        if self.sources:
            dealings_key = jax.random.fold_in(key, _DEALINGS)
            facts, wanted = contents_of(state), state.asked.shape
            dealings = draw_dealings(self.sources, dealings_key, wanted=wanted, facts=facts)
            state = replace(state, dealings=dealings)
        return state, jnp.bool_(True)
