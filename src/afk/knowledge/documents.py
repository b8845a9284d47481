"""Documents: a pile of letters, notices and diaries that holds an episode's facts among other things.

The pile is generated from the facts and a seed. What answers a question is found by SQLite's full-text
search, ranked by ``bm25()``: a sentence of the pile, which may be about something else than was asked.
"""

import random
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from afk.knowledge.questions import read_question
from afk.knowledge.source import (
    ANYTHING,
    NOT_UNDERSTOOD,
    Answer,
    Fact,
    Facts,
    KnowledgeSource,
    Session,
    SessionByQuestion,
    Words,
)
from afk.language import NONE

# How a document begins, what stands around its sentences, and how it ends.
_FRAMES = (
    ("Dear {name},", "Thank you for your letter. {body} Write to me soon.", "Yours, {other}"),
    ("Dear {name},", "It has been raining all week. {body} I miss our walks.", "Love, {other}"),
    ("NOTICE", "To everybody in the house. {body} By order of the landlord.", "The caretaker"),
    ("Diary, {day}", "Slept badly. {body} Early to bed.", ""),
    ("Diary, {day}", "A long day. {body} Must buy more ink.", ""),
)
# How a sentence of the pile says a fact, after what it answers.
_SAYINGS = {
    "where": (
        "I found out where it is: {answer}.",
        "You asked where to look: {answer}.",
        "Now I know where it lies: {answer}.",
    ),
    "what": (
        "I can tell you what you asked: {answer}.",
        "Remember what {name} said: {answer}.",
        "You wondered what it is: {answer}.",
    ),
    "how": (
        "This is how it is made: {answer}",
        "{name} wrote down how: {answer}",
        "The recipe says how: {answer}",
    ),
}
_CHATTER = (
    "The old clock has stopped again.",
    "Somebody left the lights on all night.",
    "The cat has had kittens under the stairs.",
    "We had soup on Sunday and soup on Monday.",
    "The post was late and the milk was sour.",
    "Nobody has seen the neighbour for a week.",
    "My shoes are wet and my umbrella is gone.",
    "They are painting the fence this afternoon.",
)
_NAMES = ("Anna", "Peter", "Clara", "Hugo", "Edith", "Oscar")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Passage(NamedTuple):
    """A sentence of the pile: its document, its text, and the rows of the facts that it holds."""

    document: int
    text: str
    facts: tuple[int, ...]


def write_pile(
    facts: Sequence[Fact], seed: int, *, distractors: int = 12
) -> tuple[tuple[str, ...], list[Passage]]:
    """Write a pile: the documents as text, and the sentences that they are made of.

    Args:
        facts: what it holds; with none it is all chatter.
        seed: what everything is drawn from.
        distractors: sentences that hold nothing.
    """
    rng = random.Random(seed)
    said = [(_say(fact, rng), (fact.row,)) for fact in facts]
    said += [(rng.choice(_CHATTER), ()) for _ in range(distractors)]
    rng.shuffle(said)
    documents, passages = [], []
    for number, start in enumerate(range(0, len(said), 4)):
        part = said[start : start + 4]
        opening, middle, closing = rng.choice(_FRAMES)
        name, other = rng.sample(_NAMES, 2)
        words = {"name": name, "other": other, "day": rng.choice(_DAYS)}
        body = " ".join(text for text, _ in part)
        frame = "\n".join(line for line in (opening, middle, closing) if line)
        documents.append(frame.replace("{body}", body).format(**words))
        passages += [Passage(number, text, rows) for text, rows in part]
    return tuple(documents), passages


def _say(fact: Fact, rng: random.Random) -> str:
    """A sentence that holds a fact."""
    saying = rng.choice(_SAYINGS.get(fact.words[0], ("{answer}.",)))
    return saying.format(answer=fact.answer, name=rng.choice(_NAMES))


@dataclass(frozen=True)
class Documents(KnowledgeSource):
    """A pile of documents, written at the start of an episode.

    Attributes:
        distractors: sentences of the pile that hold no fact.
    """

    name: str = "documents"
    distractors: int = 12

    def open(self, facts: Facts, seed: int) -> Session:
        """See `KnowledgeSource`."""
        return _DocumentSession(facts, write_pile(facts.rows, seed, distractors=self.distractors)[1])


class _DocumentSession(SessionByQuestion):
    def __init__(self, facts: Facts, passages: Sequence[Passage]) -> None:
        self._facts, self._passages = facts, passages
        self._answers = {fact.row: fact.answer for fact in facts.rows}
        self._whatever = {fact.row for fact in facts.rows if fact.words[1] == ANYTHING}
        self._base = sqlite3.connect(":memory:", check_same_thread=False)
        try:
            self._base.execute("CREATE VIRTUAL TABLE pile USING fts5(text, tokenize = 'unicode61')")
        except sqlite3.OperationalError as error:
            raise ValueError(f"this Python's SQLite has no full-text search (FTS5): {error}") from error
        rows = [(number, _index_text(each)) for number, each in enumerate(passages)]
        self._base.executemany("INSERT INTO pile(rowid, text) VALUES (?, ?)", rows)
        self._text = "".join(text for _, text in rows)
        # Questions come with the same few words over and over: a level is asked everything there is.
        self._found: dict[tuple[str, ...], int | None] = {}

    def close(self) -> None:
        """Forget the pile."""
        self._base.close()

    def answer(self, question: str) -> Answer:
        """The sentence that fits best of those with all words of the question; what it says of the facts."""
        words = read_question(question, self._facts)
        if words is None:
            return Answer(NOT_UNDERSTOOD, "unknown")
        found = self._search(words)
        if found is None:
            return Answer(self._facts.unknown(words), "unknown")
        rows = self._passages[found].facts
        return Answer(
            self._answers[rows[0]] if rows else self._passages[found].text,
            "told" if rows else "unknown",
            rows,
        )

    def _search(self, words: Words) -> int | None:
        """The passage that fits best, if any has the words; best if it has the word that asks, too."""
        function, adjective, noun = words
        must = tuple(word for word in (adjective, noun) if word not in (NONE, ANYTHING))
        terms = (function, *must)
        # What nothing in the pile is called is not worth a search.
        if not must or f" {must[-1] if self._whatever else ' '.join(must)} " not in self._text:
            return None
        if terms not in self._found:
            required = " AND ".join(f'"{word}"' for word in must)
            found = self._ranked(f'{required} AND "{function}"', must)
            # What is said of a thing whatever its adjective is found without it.
            whatever = self._ranked(f'"{noun}" AND "{function}"', (noun,))
            found += [row for row in whatever if self._whatever.intersection(self._passages[row].facts)]
            self._found[terms] = next(iter(found or self._ranked(required, must)), None)
        return self._found[terms]

    def _ranked(self, query: str, must: Sequence[str]) -> list[int]:
        """The passages of a full-text query that name what is sought, those first that are about it."""
        rows = self._base.execute(
            "SELECT rowid FROM pile WHERE pile MATCH ? ORDER BY bm25(pile), rowid LIMIT 8", (query,)
        )
        phrase = f" {' '.join(must)} "
        texts = {row: _index_text(self._passages[row]) for (row,) in rows}
        named = [row for row, text in texts.items() if phrase in text]
        # What a sentence begins with is what it is about; the ranking decides among equals.
        return sorted(named, key=lambda row: texts[row].partition(" : ")[2].partition(phrase)[0].count(" "))


def _index_text(passage: Passage) -> str:
    """What of a sentence is searched: its words in lower case, and the colon after what leads to it."""
    return f" {' '.join(re.findall(r'[a-z0-9]+|:', passage.text.lower()))} "
