"""A person at the terminal who is asked, sees what is true, and writes an answer."""

import sys
from dataclasses import dataclass, field
from typing import TextIO

from afk.knowledge.free_text import read_answer
from afk.knowledge.source import Answer, Facts, KnowledgeSource, Session, SessionByQuestion


@dataclass(frozen=True)
class Human(KnowledgeSource):
    """A person; who closes the terminal says nothing more, and the episode goes on.

    Attributes:
        reads: where the person writes.
        writes: where the person reads.
    """

    name: str = "human"
    is_deterministic: bool = False
    reads: TextIO = field(default_factory=lambda: sys.stdin)
    writes: TextIO = field(default_factory=lambda: sys.stderr)

    def open(self, facts: Facts, seed: int) -> Session:
        """See `KnowledgeSource`."""
        del seed
        return _HumanSession(self, facts)


class _HumanSession(SessionByQuestion):
    def __init__(self, person: Human, facts: Facts) -> None:
        self._person, self._facts, self._has_left = person, facts, False

    def follow(self, facts: Facts) -> None:
        """The person is shown what is true now."""
        self._facts = facts

    def answer(self, question: str) -> Answer:
        """A number picks a fact, an empty line is "I don't know", ``-`` refuses; else it is what is said."""
        if self._has_left:
            return Answer(self._facts.refusal, "refused")
        rows = self._facts.rows
        lines = [f"  {number} {fact.answer}" for number, fact in enumerate(rows, start=1)]
        print("\n".join(lines), f"\n{question}?", file=self._person.writes, flush=True)
        said = self._person.reads.readline()
        if not said:
            self._has_left = True
            print("nobody answers any more", file=self._person.writes, flush=True)
            return Answer(self._facts.refusal, "refused")
        said = said.strip()
        if said == "-":
            return Answer(self._facts.refusal, "refused")
        if said.isdecimal() and 1 <= int(said) <= len(rows):
            return Answer(rows[int(said) - 1].answer, "told", (rows[int(said) - 1].row,))
        return read_answer(said or "i dont know", self._facts)
