"""A source that is asked while agents play: one call to the host a step, for all episodes of a batch.

For sources that may answer otherwise each time, such as people and language models, which cannot be asked
everything beforehand (see `afk.knowledge.tabulate`). On the host there is numpy only, and nothing is raised,
since that would end the program on the device: a question that cannot be put is refused, and it is said once
why. A source of which three in a row cannot be put is given up.
"""

import contextlib
import sys
import zlib
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from afk.knowledge.facts import FactTable, host_facts
from afk.knowledge.reply import NOTHING, Reply
from afk.knowledge.source import (
    KINDS,
    REFUSED,
    UNKNOWN,
    Answer,
    Facts,
    KnowledgeSource,
    Session,
    check_answer,
)
from afk.knowledge.tabulate import Heard, answering, hear
from afk.language import Vocabulary

_GIVEN_UP_AFTER = 3  # questions in a row that cannot be put: each may have taken a minute
_MOST = 4096  # sessions that are kept open; the one that was asked least recently goes first


class _When(NamedTuple):
    """What tells a question from others: whether it is its episode's first, the episode, and the moment."""

    is_first: bool
    episode: bytes
    moment: bytes


@dataclass
class _Open:
    """A session, and when it was asked what last: a program may ask the same twice at the same step."""

    session: Session
    last: tuple[bytes, str] = (b"", "")
    answer: Answer | None = None


class Live:
    """Sessions with one source, which begin with an episode's first question.

    It is asked in the words of a query, and told what is true at that step.
    """

    def __init__(self, source: KnowledgeSource, vocabulary: Vocabulary, unknown: str, refusal: str) -> None:
        self._source, self._vocabulary = source, vocabulary
        self._unknown, self._refusal = unknown, refusal
        self._sessions: OrderedDict[bytes, _Open] = OrderedDict()
        self._has_failed, self._in_a_row = False, 0

    def ask(
        self,
        facts: FactTable,
        query: jax.Array,
        is_query: jax.Array,
        *,
        number: jax.Array,
        wanted: jax.Array,
        episode: Any,
        moment: Any,
    ) -> tuple[Reply, jax.Array]:
        """Put a query, if there is one.

        Args:
            facts: what can be had now.
            query: (3,) int, ``<func, adj, noun>``.
            is_query: () bool; the source is left alone otherwise.
            number: () int32, how many were asked before; a session begins with an episode's first question.
            wanted: (wanted facts, 3) keys of the good queries.
            episode: arrays that stay as they are during an episode, by which episodes are told apart.
            moment: arrays by which the steps of an episode are told apart, and levels that are played in
                turn, too.

        Returns:
            The reply, and which wanted facts it reveals: (wanted facts,) bool.
        """
        shapes = (
            jax.ShapeDtypeStruct(facts.answers.shape[-1:], jnp.uint8),
            jax.ShapeDtypeStruct((), jnp.int8),
            jax.ShapeDtypeStruct((), jnp.int32),
            jax.ShapeDtypeStruct(wanted.shape[:1], jnp.bool_),
        )
        tokens, kind, fact, reveals = jax.pure_callback(
            self._ask_all,
            shapes,
            *(facts.keys, facts.answers, query, is_query, number, wanted),
            *(jax.tree.leaves(episode), jax.tree.leaves(moment)),
            vmap_method="broadcast_all",
        )
        return Reply(tokens, kind, fact), reveals

    def _ask_all(self, *batch: Any) -> tuple[np.ndarray, ...]:
        """The questions of a batch with any leading axes, on the host."""
        keys, answers, query, is_query, number, wanted, episode, moment = jax.tree.map(np.asarray, batch)
        axes = is_query.shape
        tokens = np.zeros((*axes, answers.shape[-1]), np.uint8)
        kinds, facts = np.full(axes, UNKNOWN, np.int8), np.full(axes, NOTHING, np.int32)
        reveals = np.zeros((*axes, wanted.shape[-2]), bool)
        for at in map(tuple, np.argwhere(is_query)):
            table = FactTable(keys[at], answers[at], np.zeros(0))  # pyright: ignore[reportArgumentType]
            when = _When(
                is_first=number[at] == 0,
                episode=str(at).encode() + _bytes_of(episode, at),
                moment=_bytes_of([*moment, keys, answers], at),
            )
            kinds[at], heard = self._put(table, query[at], when)
            tokens[at] = heard.tokens
            facts[at] = heard.facts[0] if heard.facts else NOTHING
            reveals[at] = [
                not set(heard.facts).isdisjoint(np.flatnonzero(answering(keys[at], key)))
                for key in wanted[at]
            ]
        return tokens, kinds, facts, reveals

    def _put(self, table: FactTable, query: np.ndarray, when: _When) -> tuple[int, Heard]:
        """One question to the session of an episode: what comes of it; refused if it cannot be put."""
        length = table.answers.shape[-1]
        refusal = REFUSED, Heard(self._vocabulary.encode(self._refusal, length))
        if self._in_a_row >= _GIVEN_UP_AFTER:
            return refusal
        try:
            known = host_facts(table, self._vocabulary, unknown=self._unknown, refusal=self._refusal)
            answer = self._answer(known, query, when)
            heard = hear(answer, known, self._vocabulary, length)
            self._in_a_row = 0
            if heard is None and answer.kind == KINDS[REFUSED]:
                return refusal
            if heard is None:  # words that the agent does not have
                return UNKNOWN, Heard(self._vocabulary.encode(self._unknown, length))
            return KINDS.index(answer.kind), heard
        except Exception as error:  # whatever a source of somebody else's raises
            if not self._has_failed:
                self._say(f"refuses: {error}")
            self._has_failed = True
            self._in_a_row += 1
            if self._in_a_row == _GIVEN_UP_AFTER:
                self._say("is asked no more: all that follows is refused")
            return refusal

    def _answer(self, known: Facts, query: np.ndarray, when: _When) -> Answer:
        """What the source answers, of which nothing is taken on trust."""
        classes = known.functions, known.adjectives, known.nouns
        question = " ".join(words[index] for words, index in zip(classes, query, strict=True))
        opened, asked = self._session(known, when), (when.moment, question)
        if opened.answer is None or opened.last != asked:
            opened.session.follow(known)
            opened.last, opened.answer = asked, check_answer(opened.session.ask([question])[0])
        return opened.answer

    def _session(self, known: Facts, when: _When) -> _Open:
        """The session of an episode; a new one with its first question, though levels may look alike."""
        opened = self._sessions.pop(when.episode, None)
        if opened is not None and when.is_first and opened.last[0] != when.moment:
            opened.session.close()
            opened = None
        if opened is None:
            opened = _Open(self._source.open(known, zlib.crc32(when.episode + when.moment)))
        self._sessions[when.episode] = opened
        if len(self._sessions) > _MOST:
            self._sessions.popitem(last=False)[1].session.close()
        return opened

    def _say(self, what: str) -> None:
        """A line about the source to who sits before the program, if anybody does."""
        with contextlib.suppress(OSError, ValueError):
            print("note:", *f"{self._source.name} {what}".split(), file=sys.stderr, flush=True)


def _bytes_of(arrays: Iterable[np.ndarray], at: tuple[int, ...]) -> bytes:
    """What arrays hold at a place of a batch."""
    return b"".join(each[at].tobytes() for each in arrays)
