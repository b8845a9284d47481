"""A source of knowledge in an episode of text: what it says to a question, and as which query that counts."""

import weakref
from itertools import product
from typing import Any, NamedTuple

from afk.envs.core import Environment
from afk.envs.registry import world_of
from afk.knowledge.questions import read_question
from afk.knowledge.source import ANYTHING, NOT_UNDERSTOOD, Answer, Fact, Facts, KnowledgeSource, Words
from afk.language import NONE

_LONGEST = 1_000  # letters of an answer that are passed on


class Told(NamedTuple):
    """What came of a question.

    Attributes:
        query: what the environment is asked, ``where none kitchen``: it reveals what the answer did.
        others: further queries, which reveal what else the answer did.
        text: what is said instead of the environment's own answer, in one line; None if it is that.
        in_vain: whether nothing was told.
    """

    query: str
    others: tuple[str, ...]
    text: str | None
    in_vain: bool


class Informant:
    """A source that is asked during one episode; it is closed with the last reference to this object."""

    def __init__(self, source: KnowledgeSource, env: Environment[Any], state: Any, *, seed: int) -> None:
        """Open a source.

        Args:
            source: whom to ask.
            env: the environment of one task; a ValueError if only its own oracle can be asked.
            state: the first state of a level.
            seed: what the source draws from.
        """
        known = world_of(env).facts
        if known is None:
            raise ValueError(f"{env.name} has the paper's oracle only: it cannot be told by {source.name}")
        self._source, self._known, self._seed = source, known, seed
        self._open(known(state))

    def ask(self, state: Any, question: str) -> Told | None:
        """Put a question to the source; None if nobody understands it.

        A ValueError of one line if the source cannot be asked now; the same question may be asked again.

        Args:
            state: the state that it is asked in.
            question: in words.
        """
        facts = self._known(state)
        # What is known at one place only is not written down before that place is reached.
        if not {fact.row for fact in facts.rows} <= self._rows:
            self._session.close()
            self._open(facts)
        self._session.follow(facts)
        (answer,) = self._session.ask([question])
        asked = read_question(question, facts)
        if asked is None and answer.text == NOT_UNDERSTOOD:
            return None
        query = _query_of(answer, asked, facts)
        said = " ".join(answer.text.split())[:_LONGEST]
        fact = _fact(query, facts)
        others = [_words_of(each) for each in _revealed(answer, facts) if each != fact]
        return Told(
            " ".join(query),
            tuple(map(" ".join, others)),
            None if said == (facts.unknown(query) if fact is None else fact.answer) else said,
            answer.kind != "told",
        )

    def _open(self, facts: Facts) -> None:
        self._rows = {fact.row for fact in facts.rows}
        self._session = self._source.open(facts, self._seed)
        weakref.finalize(self, self._session.close)


def _query_of(answer: Answer, asked: Words | None, facts: Facts) -> Words:
    """The query that reveals in the environment what an answer did, so that its counts stay right.

    That is what was asked, unless the source told something else, or did not tell what the oracle would.
    """
    true, revealed = _fact(asked, facts), _revealed(answer, facts)
    if asked is not None and (true is None or true in revealed):
        return asked
    if revealed:
        return _words_of(revealed[0])
    every = product(facts.functions, facts.adjectives, facts.nouns)
    return next(words for words in every if _fact(words, facts) is None)


def _fact(words: Words | None, facts: Facts) -> Fact | None:
    """What answers a query, if anything does."""
    return next((fact for fact in facts.rows if words is not None and fact.answers(words)), None)


def _revealed(answer: Answer, facts: Facts) -> list[Fact]:
    """The facts that an answer reveals."""
    return [fact for fact in facts.rows if fact.row in answer.facts]


def _words_of(fact: Fact) -> Words:
    """A query that a fact answers."""
    function, adjective, noun = fact.words
    return function, NONE if adjective == ANYTHING else adjective, noun
