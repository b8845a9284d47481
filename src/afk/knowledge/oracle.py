"""The oracle of the paper on the host: exact look-up in what is true now."""

from dataclasses import dataclass

from afk.knowledge.questions import read_question
from afk.knowledge.source import NOT_UNDERSTOOD, Answer, Facts, KnowledgeSource, Session, SessionByQuestion


@dataclass(frozen=True)
class Oracle(KnowledgeSource):
    """It answers whatever is asked, truly and at once."""

    name: str = "oracle"

    def open(self, facts: Facts, seed: int) -> Session:
        """See `KnowledgeSource`."""
        del seed
        return _OracleSession(facts)


class _OracleSession(SessionByQuestion):
    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def follow(self, facts: Facts) -> None:
        """The oracle knows what is true now."""
        self._facts = facts

    def answer(self, question: str) -> Answer:
        """The first fact that answers it."""
        words = read_question(question, self._facts)
        if words is None:
            return Answer(NOT_UNDERSTOOD, "unknown")
        found = next((fact for fact in self._facts.rows if fact.answers(words)), None)
        if found is None:
            return Answer(self._facts.unknown(words), "unknown")
        return Answer(found.answer, "told", (found.row,))
