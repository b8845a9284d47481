"""SQL: the facts of an episode as a table of a database in memory, which can only be read.

    facts(function, adjective, noun, answer)

A question in words is looked up; one in SQL is carried out as it is, under limits.
"""

import re
import sqlite3
import time
from dataclasses import dataclass

from afk.knowledge.free_text import rows_said
from afk.knowledge.questions import read_question
from afk.knowledge.source import (
    NOT_UNDERSTOOD,
    Answer,
    Facts,
    KnowledgeSource,
    Session,
    SessionByQuestion,
)

_LOOK_UP = """
    SELECT answer, row FROM facts
    WHERE function = ? AND adjective IN (?, '*') AND noun = ? ORDER BY row LIMIT 1
"""
_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
# What a function does takes one instruction, however long that is: so only some are there, values are short,
# and the clock is looked at often.
_COUNTING = ("abs", "avg", "count", "max", "min", "round", "sum", "total")
_WRITING = ("group_concat", "length", "lower", "ltrim", "replace", "rtrim", "string_agg", "trim", "upper")
_FINDING = ("coalesce", "glob", "ifnull", "iif", "instr", "like", "nullif", "substr", "substring")
_FUNCTIONS = {*_COUNTING, *_WRITING, *_FINDING}
# Nothing, a literal, a function, all columns, a table of ours, or another and what may follow one: with
# which key can I open it, and select the key from the box, are sentences.
_SQL = re.compile(
    r"""
    select \b \s* (?:
        ;? \s* $
        | [\d'"]
        | .* (?: \w \( | \* | \b from \s* \( | \b from \W+ (?: facts | sqlite_\w+ ) \b )
        | .* \b from \s+ \w+ \s* (?: ;? \s* $ | (?: where | order | group | limit ) \b )
    )
    | with \s+ (?: recursive \s+ )? \w+ [^?]* \b as \s* \(
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_MOST_STEPS, _MOST_SECONDS = 200_000, 1.0  # of a question; steps are instructions of SQLite's machine
_EACH = 100  # steps until the clock is looked at again
_MOST_ROWS, _LONGEST = 20, 1_000  # of an answer, and letters of a value
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 2 * _LONGEST,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 2 * _LONGEST,
    sqlite3.SQLITE_LIMIT_COLUMN: 20,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 100,
}


@dataclass(frozen=True)
class Sql(KnowledgeSource):
    """A database of facts, written at the start of an episode."""

    name: str = "sql"

    def open(self, facts: Facts, seed: int) -> Session:
        """See `KnowledgeSource`."""
        del seed
        return _SqlSession(facts)


class _SqlSession(SessionByQuestion):
    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._base = sqlite3.connect(":memory:", check_same_thread=False)
        self._base.execute("CREATE TABLE facts (function, adjective, noun, answer, row)")
        rows = [(*fact.words, fact.answer, fact.row) for fact in facts.rows]
        self._base.executemany("INSERT INTO facts VALUES (?, ?, ?, ?, ?)", rows)
        self._base.commit()
        self._base.execute("PRAGMA query_only = ON")
        for limit, most in _LIMITS.items():
            self._base.setlimit(limit, most)
        self._base.set_authorizer(_may_only_read)
        self._left, self._until = 0, 0.0
        self._base.set_progress_handler(self._spend, _EACH)

    def close(self) -> None:
        """Forget the database."""
        self._base.close()

    def answer(self, question: str) -> Answer:
        """See `SessionByQuestion`; what cannot be carried out is said in a line, and the episode goes on."""
        self._left, self._until = _MOST_STEPS, time.monotonic() + _MOST_SECONDS
        try:
            if _SQL.match(question.strip()):
                return self._run(question)
            words = read_question(question, self._facts)
            if words is None:
                return Answer(NOT_UNDERSTOOD, "unknown")
            found = self._base.execute(_LOOK_UP, words).fetchone()
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            said = "it takes too long" if "interrupted" in str(error) else str(error)
            return Answer(f"the database refuses: {said}", "refused")
        if found is None:
            return Answer(self._facts.unknown(words), "unknown")
        return Answer(found[0], "told", (found[1],))

    def _run(self, query: str) -> Answer:
        """Carry out a query of somebody else's; it reveals the facts that stand in its answer."""
        rows = self._base.execute(query).fetchmany(_MOST_ROWS)
        if not rows:
            return Answer("no rows", "unknown")
        text = "\n".join(", ".join(str(value)[:_LONGEST] for value in row) for row in rows)
        return Answer(text, "told", rows_said(text, self._facts))

    def _spend(self) -> int:
        """Count down what a question may take; anything but 0 ends it."""
        self._left -= _EACH
        return int(self._left <= 0 or time.monotonic() > self._until)


def _may_only_read(action: int, *about: str | None) -> int:
    """What SQLite may do: read the table of facts, with functions that touch nothing else."""
    if action == sqlite3.SQLITE_FUNCTION and about[1] not in _FUNCTIONS:
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_READ and about[0] not in ("facts", "", None):
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK if action in _READING else sqlite3.SQLITE_DENY
