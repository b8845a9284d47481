"""Questions as people ask them: those of the author of the first grammar, and those of two others.

To those of ``unseen`` nothing was fitted: half of what the second author wrote, and all of the third's.
"""

from pathlib import Path

import pytest

from afk.envs.qbabyai.world.words import VOCABULARY
from afk.envs.qtextworld.world import words
from afk.knowledge.questions import read_question
from afk.knowledge.source import Facts
from afk.language import NONE

DATA = Path(__file__).parent / "data"
FACTS = {
    "grid": Facts((), VOCABULARY.functions, VOCABULARY.adjectives, VOCABULARY.nouns, lambda _: "", ""),
    "kitchen": Facts((), words.QUERIES, words.ADJECTIVES, words.NOUNS, lambda _: "", ""),
}
PARTS = {
    "author": "questions",
    "blind": "questions-blind",
    "unseen": "questions-unseen",
}  # what the names of their files begin with
Question = tuple[str, str, tuple[str, ...] | None]


def questions(part: str) -> list[Question]:
    """Of each, its world, the sentence, and what it asks for, if anything."""
    found: list[Question] = []
    for world in FACTS:
        for line in (DATA / f"{PARTS[part]}-{world}.txt").read_text().splitlines():
            sentence, _, query = line.rpartition("=")
            asked = tuple(query.split())
            found.append(
                (
                    world,
                    sentence,
                    (asked if len(asked) == 3 else (asked[0], NONE, asked[1])) if asked else None,
                )
            )
    return found


@pytest.mark.parametrize("part", PARTS)
def test_questions_are_understood(part: str) -> None:
    asked = questions(part)
    wrong = [each for each in asked if read_question(each[1], FACTS[each[0]]) != each[2]]
    assert len(asked) >= 150
    assert len(wrong) <= 0.05 * len(asked), wrong


@pytest.mark.parametrize(("part", "share"), [("author", 1 / 29), ("blind", 1 / 29), ("unseen", 1 / 15)])
def test_what_asks_for_something_else_is_no_near_miss(part: str, share: float) -> None:
    others = [(world, sentence) for world, sentence, query in questions(part) if query is None]
    assert len(others) >= 28
    misread = [sentence for world, sentence in others if read_question(sentence, FACTS[world])]
    assert len(misread) <= len(others) * share, misread


def test_every_plain_query_is_itself() -> None:
    for facts in FACTS.values():
        for noun in set(facts.nouns) - {NONE}:
            for adjective in facts.adjectives:
                query = (facts.functions[0], adjective, noun)
                assert read_question(" ".join(query), facts) == query
