"""Words to numbers and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afk.envs.qbabyai.world.words import VOCABULARY
from afk.language import Query

queries = st.builds(Query, st.integers(0, 1), st.integers(0, 21), st.integers(0, 23))


@given(st.lists(st.sampled_from(VOCABULARY.words), max_size=20))
def test_sentences_survive(words: list[str]) -> None:
    assert VOCABULARY.decode(VOCABULARY.encode(" ".join(words), 20)) == " ".join(words)


@given(queries)
def test_questions_survive(query: Query) -> None:
    assert VOCABULARY.query(VOCABULARY.phrase(query)) == query


def test_commas_are_words_of_their_own() -> None:
    assert (
        VOCABULARY.decode(VOCABULARY.encode("avoid danger zone, find the key", 9))
        == "avoid danger zone, find the key"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("what blue elephant", "elephant"),
        ("who key", "who"),
        ("what a b c", "func, adj, noun"),
        ("", "func, adj, noun"),
    ],
)
def test_questions_that_cannot_be_read_are_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        VOCABULARY.query(text)


def test_sentences_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="at most 2"):
        VOCABULARY.encode("go to the", 2)
    with pytest.raises(ValueError, match="unknown word 'elephant'"):
        VOCABULARY.encode("the elephant", 5)
