"""Any deterministic source at the speed of the device: everything is asked once, as rows of a table."""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from afk.knowledge.facts import ANY, EVERYWHERE, NEVER, UNUSED, FactTable, host_facts
from afk.knowledge.source import Answer, Facts, KnowledgeSource
from afk.language import Vocabulary

_ROWS = 8  # tables have a multiple of so many rows, so that levels share programs
_SEEDS = 2**20  # of levels, far apart for different seeds


class Said(NamedTuple):
    """What a source tells of a question.

    Attributes:
        key: ``<func, adj, noun>`` as indices into the word classes; the adjective may be `ANY`.
        answer: what it said.
    """

    key: tuple[int, int, int]
    answer: Answer


class Heard(NamedTuple):
    """What an agent hears of an answer: its tokens, and the rows of the facts that they reveal."""

    tokens: np.ndarray
    facts: tuple[int, ...] = ()


class _Row(NamedTuple):
    """A row of a table.

    Attributes:
        key: of the question.
        answer: its tokens.
        scope: where it can be had.
        reveals: which wanted facts it reveals.
        is_true: whether it reveals any fact, wanted or not.
    """

    key: tuple[int, int, int]
    answer: np.ndarray
    scope: int
    reveals: np.ndarray
    is_true: bool


def level_seeds(seed: int, levels: int) -> range:
    """What a source draws from in each of some levels that were drawn with a seed."""
    return range(seed * _SEEDS, seed * _SEEDS + levels)


def ask_everything(source: KnowledgeSource, known: Facts, seed: int) -> list[Said]:
    """All that a source tells of some facts; adjectives that make no difference are one question.

    Args:
        source: whom to ask; a ValueError if it is not deterministic.
        known: what is true.
        seed: what the source draws from.
    """
    if not source.is_deterministic:
        raise ValueError(
            f"{source.name} may answer otherwise each time: it cannot be asked everything beforehand"
        )
    classes = known.functions, known.adjectives, known.nouns
    queries = list(product(*(range(len(words)) for words in classes)))
    with source.open(known, seed) as session:
        answers = session.ask(
            [" ".join(words[i] for words, i in zip(classes, query, strict=True)) for query in queries]
        )
    by_name: dict[tuple[int, int], list[tuple[int, Answer]]] = {}
    for (function, adjective, noun), answer in zip(queries, answers, strict=True):
        by_name.setdefault((function, noun), []).append((adjective, answer))
    said: list[Said] = []
    for (function, noun), answers in by_name.items():
        told = [(adjective, answer) for adjective, answer in answers if answer.kind == "told"]
        is_any = len(told) == len(answers) and len({answer.text for _, answer in told}) == 1
        for adjective, answer in told[:1] if is_any else told:
            said.append(Said((function, ANY if is_any else adjective, noun), answer))
    return said


def tabulate(
    source: KnowledgeSource,
    facts: FactTable,
    wanted: np.ndarray,
    seeds: Sequence[int],
    vocabulary: Vocabulary,
) -> FactTable:
    """Ask a source every question in each of some levels.

    A fact that can be had at one place only is known to the source as any other; what it says of it can be
    had there only.

    Args:
        source: whom to ask; see `ask_everything`.
        facts: what is true in each level, with a leading axis.
        wanted: (levels, wanted facts, 3) keys of the good queries.
        seeds: what the source draws from in each level.
        vocabulary: the words of questions and answers.

    Returns:
        What the source tells, with a leading axis and as many rows as the longest table has.
    """
    keys, answers, scopes = map(np.asarray, (facts.keys, facts.answers, facts.scope))
    levels = []
    for level, seed in enumerate(seeds):
        there = scopes[level] != NEVER
        columns = np.where(there[:, None], keys[level], UNUSED), answers[level], scopes[level]
        table = FactTable(*map(jnp.asarray, columns))
        known = host_facts(table, vocabulary, unknown="i dont know", refusal="i dont")
        levels.append(_ask_all(source, known, table, wanted[level], seed, vocabulary))
    return _stack(levels, answers.shape[-1], wanted.shape[1])


def _ask_all(
    source: KnowledgeSource,
    known: Facts,
    table: FactTable,
    wanted: np.ndarray,
    seed: int,
    vocabulary: Vocabulary,
) -> list[_Row]:
    """What a source tells in one level."""
    scopes = np.asarray(table.scope)
    true_rows = [np.flatnonzero(answering(np.asarray(table.keys), key)) for key in wanted]
    rows: list[_Row] = []
    for key, answer in ask_everything(source, known, seed):
        heard = hear(answer, known, vocabulary, np.shape(table.answers)[-1])
        if heard is not None:
            scope = max((int(scopes[row]) for row in heard.facts), default=EVERYWHERE)
            reveals = np.array([any(row in heard.facts for row in rows) for rows in true_rows])
            rows.append(_Row(key, heard.tokens, scope, reveals, bool(heard.facts)))
    return rows


def answering(keys: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Which of the (facts, 3) keys answer a good query, whose adjective may be `ANY`: (facts,) bool."""
    if (query == UNUSED).any():
        return np.zeros(len(keys), bool)
    return ((keys == query) | (keys == ANY) | (query == ANY)).all(-1)


def hear(answer: Answer, known: Facts, vocabulary: Vocabulary, length: int) -> Heard | None:
    """An answer in its own words if the vocabulary has them, or else those of the first fact it reveals."""
    first = answer.facts[:1]
    sentences = [(fact.answer, first) for fact in known.rows if fact.row in first]
    for text, facts in ((answer.text, answer.facts), *sentences):
        try:
            return Heard(vocabulary.encode(text, length), facts)
        except ValueError:
            continue
    return None


def _stack(levels: list[list[_Row]], words: int, wanted: int) -> FactTable:
    """The rows of all levels as one table with a leading axis."""
    most = max(1, *(len(rows) for rows in levels)) if levels else 1
    shape = len(levels), -(-most // _ROWS) * _ROWS
    keys = np.full((*shape, 3), UNUSED, np.int8)
    answers, scopes = np.zeros((*shape, words), np.uint8), np.full(shape, NEVER, np.int8)
    reveals, is_true = np.zeros((*shape, wanted), bool), np.zeros(shape, bool)
    for level, rows in enumerate(levels):
        for place, row in enumerate(rows):
            keys[level, place], answers[level, place] = row.key, row.answer
            scopes[level, place], reveals[level, place] = row.scope, row.reveals
            is_true[level, place] = row.is_true
    return FactTable(*map(jnp.asarray, (keys, answers, scopes, reveals, is_true)))
