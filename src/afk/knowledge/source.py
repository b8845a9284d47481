"""The face of every knowledge source: on the host it is opened on an episode's facts, and asked in words.

Nothing here needs JAX. The same sources on the device are pure functions: `afk.knowledge.facts.ask` is the
oracle of Q-BabyAI, `afk.knowledge.kitchen.ask` is Charlie of Q-TextWorld.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import NamedTuple

TOLD, UNKNOWN, REFUSED = range(3)  # what came of a question, on the device
KINDS = ("told", "unknown", "refused")  # the same on the host
ANYTHING = "*"  # in the words of a fact: whatever adjective
_MOST_ROWS = 2**15  # that facts may have; no world has as many
NOT_UNDERSTOOD = "i do not understand the question"

Words = tuple[str, str, str]  # <func, adj, noun>


class Fact(NamedTuple):
    """Something that is known.

    Attributes:
        words: the question that it answers, ``<func, adj, noun>``; the adjective may be `ANYTHING`.
        answer: the sentence that answers it.
        row: its number among the facts of the episode, the same on the device.
    """

    words: Words
    answer: str
    row: int

    def answers(self, question: Words) -> bool:
        """Whether it answers a question."""
        return all(mine in (ANYTHING, theirs) for mine, theirs in zip(self.words, question, strict=True))


@dataclass(frozen=True)
class Facts:
    """What is known in an episode now, and the words that it can be asked for with.

    Attributes:
        rows: the facts.
        functions: the first words of questions.
        adjectives: the second words, ``none`` among them.
        nouns: the third words.
        unknown: what is said to a question that nothing answers.
        refusal: what is said by who does not want to answer.
    """

    rows: tuple[Fact, ...]
    functions: tuple[str, ...]
    adjectives: tuple[str, ...]
    nouns: tuple[str, ...]
    unknown: Callable[[Words], str]
    refusal: str


class Answer(NamedTuple):
    """What a source said to a question.

    Attributes:
        text: the answer.
        kind: one of `KINDS`.
        facts: the rows of the facts that it reveals.
        cost: the price of the question, of a source that has one of its own; `SourceSpec` gives one to any.
        seconds: how long the answer took.
    """

    text: str
    kind: str
    facts: tuple[int, ...] = ()
    cost: float = 0.0
    seconds: float = 0.0


def check_answer(answer: Answer) -> Answer:
    """The answer; a ValueError if it is none, whatever a source of somebody else's gives."""
    text, kind, rows = answer.text, answer.kind, answer.facts
    if not isinstance(text, str) or kind not in KINDS:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"an answer is a text, and one of {', '.join(KINDS)}, not {text!r} and {kind!r}")
    if not isinstance(rows, tuple) or not all(  # pyright: ignore[reportUnnecessaryIsInstance]
        isinstance(row, Integral) and 0 <= int(row) <= _MOST_ROWS for row in rows
    ):
        raise ValueError(f"the facts of an answer are a tuple of their rows, not {rows!r}")
    return answer


class Session(ABC):
    """A source during one episode; what is asked may change what it says later.

    It can be used in a `with` block, which closes it.
    """

    @abstractmethod
    def ask(self, questions: Sequence[str]) -> list[Answer]:
        """Answer questions, one after the other."""

    def follow(self, facts: Facts) -> None:
        """Hear what is true now; who wrote it down at the start does not mind."""
        del facts

    def close(self) -> None:
        """Let go of what the session holds; it may be called again."""
        return

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class KnowledgeSource(ABC):
    """A source of knowledge.

    Attributes:
        name: what answers and notes call it.
        is_deterministic: whether the same facts and the same seed give the same answers, in any order of
            questions, so that all of them can be asked beforehand: see `afk.knowledge.tabulate`.
    """

    name: str
    is_deterministic: bool = True

    @abstractmethod
    def open(self, facts: Facts, seed: int) -> Session:
        """Begin an episode.

        Args:
            facts: what is true in it.
            seed: what everything random is drawn from.
        """


class SessionByQuestion(Session):
    """A session that answers one question at a time: sources define `answer`, and time is kept here."""

    def ask(self, questions: Sequence[str]) -> list[Answer]:
        """See `Session`."""
        return [self._timed(question) for question in questions]

    @abstractmethod
    def answer(self, question: str) -> Answer:
        """The answer to a question, its time left out."""

    def _timed(self, question: str) -> Answer:
        start = time.perf_counter()
        answer = self.answer(question)
        return answer._replace(seconds=time.perf_counter() - start)
