"""Q-TextWorld as a queryable environment."""

from collections.abc import Sequence
from functools import lru_cache

import jax
import jax.numpy as jnp

from afk.envs.core import Environment, EpisodeStats, TimeStep
from afk.envs.qtextworld.levels import sampler
from afk.envs.qtextworld.levels.bank import Bank, load_bank
from afk.envs.qtextworld.levels.tasks import Task
from afk.envs.qtextworld.world import dynamics, text
from afk.envs.qtextworld.world.state import Observation, State
from afk.envs.qtextworld.world.things import KNIFE
from afk.envs.qtextworld.world.words import (
    ADJECTIVES,
    FUNCTIONS,
    MISSION_LENGTH,
    NOUNS,
    RESPONSE_LENGTH,
    make_vocabulary,
)
from afk.language import Vocabulary


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
    """

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
        self._identity = (tasks, self.beside, self.bank)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._identity == getattr(other, "_identity", None)

    def __hash__(self) -> int:
        return hash(self._identity)

    def observe(self, state: State) -> Observation:
        """What the agent sees before it has done anything."""
        spoken = text.mission_spans(self.book, state.game)
        return Observation(
            text=text.describe(self.book, state, spoken, self._text_length),
            mission=text.say(self.book, spoken, MISSION_LENGTH),
            response=jnp.zeros(RESPONSE_LENGTH, jnp.uint16),
        )

    def step(self, state: State, action: jax.Array) -> tuple[State, TimeStep]:
        """Act or ask; see `afk.envs.qtextworld.world.dynamics.step`."""
        command = action + jnp.array([len(FUNCTIONS) - self.action_sizes[0], 0, 0])
        state, outcome = dynamics.step(self.book, state, command)
        response = text.say(self.book, outcome.feedback * outcome.is_query, RESPONSE_LENGTH)
        is_over = outcome.success | outcome.failure
        return state, TimeStep(
            observation=Observation(
                text=text.describe(self.book, state, outcome.feedback, self._text_length),
                mission=text.say(self.book, text.mission_spans(self.book, state.game), MISSION_LENGTH),
                response=response,
            ),
            reward=outcome.success.astype(jnp.float32),
            terminated=is_over,
            truncated=(state.step >= self.max_steps) & ~is_over,
            success=outcome.success,
            stats=self._stats(state),
        )

    def _stats(self, state: State) -> EpisodeStats:
        """The episode's counts; Q_t is where and how for ingredients, and where for a knife to be found."""
        game, (where, how) = state.game, state.asked
        good = where & (game.is_ingredient | ((game.things == KNIFE) & game.finds_knife))
        return EpisodeStats(
            steps=state.step,
            queries=state.queries,
            good=good.sum() + (how & game.is_ingredient & game.prepares).sum(),
            wanted=game.is_ingredient.sum() * (1 + game.prepares) + game.finds_knife,
        )


class QTextWorld(CookingGames):
    """A task as an environment."""

    def __init__(self, task: Task, bank: Bank | None = None) -> None:
        super().__init__(task, bank=bank)
        self.task = task

    def draw(self, key: jax.Array) -> tuple[State, jax.Array]:
        """Draw a game; all of them can be won."""
        return sampler.draw_game(self.task, len(self.bank.intros), key), jnp.bool_(True)
