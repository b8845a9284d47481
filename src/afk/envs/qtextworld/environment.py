"""Q-TextWorld as a queryable environment."""

import jax
import jax.numpy as jnp

from afk.envs.base import Environment, Tally, TimeStep
from afk.envs.qtextworld import dynamics, oracle, sampler, starts, text, words
from afk.envs.qtextworld.bank import Bank, load_bank
from afk.envs.qtextworld.state import Observation, State
from afk.envs.qtextworld.tasks import Task
from afk.envs.qtextworld.things import KNIFE
from afk.envs.qtextworld.words import (
    ADJECTIVES,
    FUNCTIONS,
    MISSION_LENGTH,
    NOUNS,
    RESPONSE_LENGTH,
    make_vocabulary,
)


class QTextWorld(Environment[State]):
    """Cooking games of one task; actions are ``<func, adj, noun>``, physical and queries alike.

    Attributes:
        task: what its games are drawn from.
        bank: the texts of its descriptions.
        book: all that can be said, numbered by the vocabulary.
    """

    glue = ("the", "a", "some", "is", "are", "in", "on", "to", "be", "and", "needs", "you", "have")
    breaks, clauses = (".", ",", "!"), 2  # what a recipe wants, and what to use for it
    no_answer = ("you won't find any", "cannot be cut nor cooked")
    sentence_length = MISSION_LENGTH

    def __init__(self, task: Task, bank: Bank | None = None) -> None:
        self.task, self.name, self.max_steps = task, task.name, task.max_steps
        self.bank = load_bank() if bank is None else bank
        self.vocabulary = make_vocabulary(set(self.bank.words[1:]), cook=task.cook)
        self.book = text.make_book(self.bank, self.vocabulary)
        self.action_sizes = (len(task.functions), len(ADJECTIVES), len(NOUNS))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, QTextWorld) and (self.task, self.bank) == (other.task, other.bank)

    def __hash__(self) -> int:
        return hash((self.task, self.bank))

    def draw(self, key: jax.Array) -> tuple[State, jax.Array]:
        """Draw a game; all of them can be won."""
        return sampler.draw_game(self.task, len(self.bank.intros), key), jnp.bool_(True)

    def scatter(self, state: State, key: jax.Array) -> State:
        """The same game begun in the middle; see `afk.envs.qtextworld.starts.scatter`."""
        return starts.scatter(state, key)

    def tell(self, state: State) -> jax.Array:
        """Where each ingredient is, and how it is prepared: (2 * ingredients, 32) uint16."""
        game = state.game
        ingredients = jnp.argsort(~game.is_ingredient)[: self.task.ingredients]

        def answer(slot: jax.Array, function: jax.Array) -> jax.Array:
            command = jnp.concatenate([function[None], jnp.asarray(words.NAME_WORDS)[game.things[slot]]])
            named = oracle.find(game, command[1:])
            return text.say(self.book, oracle.answer(self.book, state, command, named), RESPONSE_LENGTH)

        functions = jnp.array([words.WHERE, words.HOW][: 1 + self.task.prepares])
        told = jax.vmap(jax.vmap(answer, (0, None)), (None, 0))(ingredients, functions)
        return told.reshape(-1, RESPONSE_LENGTH)

    def observe(self, state: State) -> Observation:
        """What the agent sees before it has done anything."""
        spoken = text.mission_spans(self.book, state.game)
        return Observation(
            text=text.describe(self.book, state, spoken, self.task.text_length),
            mission=text.say(self.book, spoken, MISSION_LENGTH),
            response=jnp.zeros(RESPONSE_LENGTH, jnp.uint16),
        )

    def step(self, state: State, action: jax.Array) -> tuple[State, TimeStep]:
        """Act or ask; see `afk.envs.qtextworld.dynamics.step`."""
        command = action + jnp.array([len(FUNCTIONS) - self.action_sizes[0], 0, 0])
        state, outcome = dynamics.step(self.book, state, command)
        response = text.say(self.book, outcome.feedback * outcome.is_query, RESPONSE_LENGTH)
        is_over = outcome.success | outcome.failure
        return state, TimeStep(
            observation=Observation(
                text=text.describe(self.book, state, outcome.feedback, self.task.text_length),
                mission=text.say(self.book, text.mission_spans(self.book, state.game), MISSION_LENGTH),
                response=response,
            ),
            reward=outcome.success.astype(jnp.float32),
            terminated=is_over,
            truncated=(state.step >= self.task.max_steps) & ~is_over,
            success=outcome.success,
            tally=self._tally(state),
        )

    def _tally(self, state: State) -> Tally:
        """The episode's counts; Q_t is where and how for ingredients, and where for a knife to be found."""
        game, (where, how) = state.game, state.asked
        good = where & (game.is_ingredient | ((game.things == KNIFE) & self.task.finds_knife))
        return Tally(
            steps=state.step,
            queries=state.queries,
            good=good.sum() + (how & game.is_ingredient & self.task.prepares).sum(),
            wanted=jnp.int32(self.task.good_queries),
        )
