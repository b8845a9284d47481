"""Words, word classes, and queries ``<func, adj, noun>`` (paper, section 2.1).

Every environment has a `Vocabulary`. Sentences on the training path are rows of small integers of a
fixed length: token 0 is padding, and a comma is a token of its own, so that a reader can split an answer
into its clauses.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

PAD = 0
NONE = "none"  # the adjective of a noun that has none


class Query(NamedTuple):
    """A question, as indices into the function words, adjectives and nouns of a vocabulary."""

    function: int
    adjective: int
    noun: int


@dataclass(frozen=True)
class Vocabulary:
    """The words of one environment by class; a word is spelled the same wherever it stands.

    Attributes:
        nouns: what the third word of a query may be.
        adjectives: what the second word of a query may be; holds ``none``.
        functions: what the first word of a query may be.
        verbs: verbs of instructions and answers.
        others: the remaining words of instructions and answers.
        glue: tokens that carry no meaning of their own: the comma, and words that notes leave out.
    """

    nouns: tuple[str, ...]
    adjectives: tuple[str, ...]
    functions: tuple[str, ...]
    verbs: tuple[str, ...]
    others: tuple[str, ...]
    glue: tuple[str, ...]

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """Every token by its number; number 0 is padding."""
        return ("", *self.nouns, *self.adjectives, *self.verbs, *self.others, *self.functions, *self.glue)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of every token."""
        return {token: number for number, token in enumerate(self.tokens)}

    @property
    def words(self) -> tuple[str, ...]:
        """The words that sentences are made of: everything but function words and glue."""
        return (*self.nouns, *self.adjectives, *self.verbs, *self.others)

    def token(self, word: str) -> int:
        """The number of a word; a ValueError if the vocabulary lacks it."""
        if word not in self.numbers or not word:
            raise ValueError(
                f"unknown word {word!r}; the {len(self.words)} words are {', '.join(self.words)}"
            )
        return self.numbers[word]

    def encode(self, text: str, length: int) -> np.ndarray:
        """The sentence as (length,) uint8, padded at the end."""
        numbers = [self.token(word) for word in re.findall(r"[^\s,]+|,", text.lower())]
        if len(numbers) > length:
            raise ValueError(f"{text!r} has {len(numbers)} tokens, at most {length} fit")
        return np.array(numbers + [PAD] * (length - len(numbers)), np.uint8)

    def decode(self, numbers: ArrayLike) -> str:
        """The sentence that a (length,) row of tokens stands for."""
        words = [self.tokens[int(number)] for number in np.asarray(numbers) if number != PAD]
        return " ".join(words).replace(" ,", ",")

    def query(self, text: str) -> Query:
        """Read a question such as ``what jack toy`` or ``where kitchen``."""
        words = text.lower().split()
        if len(words) == 2:
            words.insert(1, NONE)
        classes = (self.functions, self.adjectives, self.nouns)
        if len(words) != 3:
            raise ValueError(f"a query is <func, adj, noun> or <func, noun>, not {text!r}")
        for word, allowed in zip(words, classes, strict=True):
            if word not in allowed:
                raise ValueError(
                    f"{word!r} does not fit in the query {text!r}; one of {', '.join(allowed)} does"
                )
        return Query(*(allowed.index(word) for word, allowed in zip(words, classes, strict=True)))

    def phrase(self, query: Query) -> str:
        """The question as text, without ``none``."""
        words = (self.functions[query.function], self.adjectives[query.adjective], self.nouns[query.noun])
        return " ".join(word for word in words if word != NONE)
