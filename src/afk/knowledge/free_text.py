"""What somebody says in words of their own: which facts stand in it, and whether it is an answer at all."""

import re

from afk.knowledge.source import Answer, Facts

_DO_NOT_KNOW = re.compile(
    r"(?:sorry )?(?:(?:i )?(?:really )?(?:dont|do not) (?:really )?know|(?:i have )?no idea|unknown)\b"
)
_REFUSING = re.compile(r"(?:im |i am )?sorry\b|i (?:dont|cant|cannot|can not|wont|will not|refuse)\b")


def rows_said(text: str, facts: Facts) -> tuple[int, ...]:
    """The rows of the facts whose answers stand in a text, whatever its spaces and its capital letters."""
    said = _plain(text)
    return tuple(fact.row for fact in facts.rows if _stands_in(_plain(fact.answer).rstrip("."), said))


def read_answer(said: str, facts: Facts) -> Answer:
    """What was said as an answer; who says something else than what is true is believed to tell it."""
    rows = rows_said(said, facts)
    words = re.sub(r"['`\u2019]", "", _plain(said))
    if rows:
        return Answer(said, "told", rows)
    if not words or _DO_NOT_KNOW.match(words):
        return Answer(said, "unknown")
    return Answer(said, "refused" if _REFUSING.match(words) else "told")


def _plain(text: str) -> str:
    """A text in lower case, with one space between words."""
    return " ".join(text.lower().split())


def _stands_in(sentence: str, text: str) -> bool:
    """Whether a text holds a sentence as whole words."""
    return bool(sentence) and re.search(rf"(?<!\w){re.escape(sentence)}(?!\w)", text) is not None
