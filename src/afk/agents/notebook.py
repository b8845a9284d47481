"""The notebook F: the answers that the agent got, as sets of related notes (paper, sections 3.1 and 3.3).

A note is one clause of a response without its glue. Notes that resemble each other, directly or through
other notes, are in one set; the set that holds the instruction is A_0, and the agent reads no other.

A notebook has room for a fixed number of notes, and everything here is a pure function of one notebook, to
be run under `jax.vmap` at every step of an environment.
"""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from afk.language import PAD, Vocabulary

UNUSED = -1  # the set of a row that holds no note


@dataclass(frozen=True)
class Similarity:
    """Sim(u, v): how many n-grams two notes share, out of those of the note that has fewer.

    Repeated n-grams count once. A note of fewer than n words has none: it is similar to nothing, and stays
    in a set of its own.

    Attributes:
        n: 1 for uni-grams, 2 for bi-grams.
        alpha: notes are related when Sim >= alpha. The default means that they share any n-gram, and so does
            every alpha up to one over the length of a note.
    """

    n: int = 2
    alpha: float = 0.01

    def __post_init__(self) -> None:
        if self.n not in (1, 2):
            raise ValueError(f"similarity is of uni-grams (n = 1) or bi-grams (n = 2), not n = {self.n}")
        if not 0 < self.alpha <= 1:
            raise ValueError(f"alpha is above 0, where all notes are related, up to 1, not {self.alpha}")

    def needed(self, fewest: int) -> int:
        """How many n-grams must be shared for Sim >= alpha, when the note with fewer has so many."""
        return next((shared for shared in range(1, fewest + 1) if shared / fewest >= self.alpha), 1)


@dataclass(frozen=True)
class NoteTaking:
    """How sentences become notes.

    Attributes:
        vocabulary: the words of instructions and responses.
        dropped: words that notes leave out.
        unknown: sentences, or words in a row, that only a response without knowledge holds; such a response
            is never written.
        breaks: tokens that end a clause; notes leave them out too.
        clauses: how many clauses of a response are notes of their own; the last takes whatever follows.
        similarity: which notes are related.
        capacity: how many notes a notebook holds, the instruction included. Once it is full nothing more is
            written: sets stay as they are, and nothing grows.
        words: how many words a note holds; no instruction or response may have more tokens.
    """

    vocabulary: Vocabulary
    dropped: tuple[str, ...]
    unknown: tuple[str, ...]
    breaks: tuple[str, ...] = (",",)
    clauses: int = 2
    similarity: Similarity = Similarity()
    capacity: int = 32
    words: int = 20

    def __post_init__(self) -> None:
        for what, value, most in (
            ("words", self.words, np.iinfo(np.uint8).max),
            ("clauses", self.clauses, self.words),
            ("capacity", self.capacity, np.iinfo(np.int8).max),
        ):
            if not 1 <= value <= most:
                raise ValueError(f"{what} is from 1 to {most}, not {value}")
        for word in (*self.breaks, *self.dropped):
            self.vocabulary.token(word)
        for sentence in self.unknown:
            if not self.tokens(sentence):
                raise ValueError("an empty sentence cannot stand for a response without knowledge")

    def tokens(self, sentence: str) -> tuple[int, ...]:
        """The tokens of a sentence, without padding; a ValueError if it is too long or a word is unknown."""
        return tuple(int(token) for token in self.vocabulary.encode(sentence, self.words) if token != PAD)


class Notebook(eqx.Module):
    """F = {A_i}: notes in the order of writing, and the set that each is in.

    Attributes:
        notes: (capacity, words) tokens, padded at the end; the first note is the instruction v_0.
        group: (capacity,) int8, the index i of the set A_i that each note is in, or `UNUSED`; a new set has
            the index after the highest in use.
        grams: (capacity,) uint8, how many distinct n-grams each note has, kept because Sim asks for it.
    """

    notes: jax.Array
    group: jax.Array
    grams: jax.Array


def open_notebook(instruction: jax.Array, *, rules: NoteTaking) -> Notebook:
    """The notebook at the start of an episode, F = {{v_0}}.

    Args:
        instruction: (tokens,) uint8 or uint16, v_0; it is one note, whatever breaks it has.
        rules: how notes are taken.
    """
    if instruction.dtype not in (jnp.uint8, jnp.uint16):
        raise ValueError(f"tokens are uint8 or uint16, not {instruction.dtype}")
    empty = Notebook(
        notes=jnp.full((rules.capacity, rules.words), PAD, instruction.dtype),
        group=jnp.full(rules.capacity, UNUSED, jnp.int8),
        grams=jnp.zeros(rules.capacity, jnp.uint8),
    )
    (note,) = split_clauses(instruction, 1, rules)
    return _add(empty, note, jnp.bool_(True), rules.similarity)[0]


def write(notebook: Notebook, response: jax.Array, *, rules: NoteTaking) -> tuple[Notebook, jax.Array]:
    """Write down a response v_i, one clause after the other.

    Args:
        notebook: what is known so far.
        response: (tokens,) of the notebook's type, all padding when nothing was asked.
        rules: how notes are taken.

    Returns:
        The notebook, and () bool whether A_0 has grown by a clause of this response: the indicator of the
        exploration bonus, I[(v_i in A_0) and (v_i not in A'_0)].
    """
    if response.dtype != notebook.notes.dtype:
        raise ValueError(f"the notebook's tokens are {notebook.notes.dtype}, the response's {response.dtype}")
    is_known = ~_is_unknown(response, rules)
    grew = jnp.bool_(False)
    for note in split_clauses(response, rules.clauses, rules):
        notebook, joined = _add(notebook, note, is_known & (note[0] != PAD), rules.similarity)
        grew |= joined == 0
    return notebook, grew


def in_focus(notebook: Notebook) -> jax.Array:
    """Which notes are in A_0, and so what the agent reads: (capacity,) bool."""
    return notebook.group == 0


def _add(
    notebook: Notebook, note: jax.Array, wanted: jax.Array, similarity: Similarity
) -> tuple[Notebook, jax.Array]:
    """Add a (tokens,) note, if it is wanted, new, and there is room; returns its set too, or `UNUSED`."""
    notes, group = notebook.notes, notebook.group
    used = group != UNUSED
    size = used.sum(dtype=jnp.int32)
    line = jnp.pad(note, (0, notes.shape[1] - len(note)), constant_values=PAD)
    known = ((notes == line).all(-1) & used).any()
    written = wanted & ~known & (size < len(group))

    related, grams = _related(notebook, note, similarity)
    in_related_set = (related[:, None] & (group[:, None] == group)).any(0)  # S as a mask over notes
    joined = jnp.where(related, group, group.max() + 1).min()  # k = min S, or the next index

    row = (jnp.arange(len(group)) == size) & written
    notebook = Notebook(
        notes=jnp.where(row[:, None], line, notes),
        group=jnp.where(row | (in_related_set & written), joined, group),
        grams=jnp.where(row, grams, notebook.grams),
    )
    return notebook, jnp.where(written, joined, jnp.int8(UNUSED))


def _related(notebook: Notebook, note: jax.Array, similarity: Similarity) -> tuple[jax.Array, jax.Array]:
    """Which notes have Sim >= alpha with a note, as (capacity,) bool, and how many n-grams it has."""
    # All pairs of n-grams are compared: for sentences this short it is faster than any table or bit set.
    old, new = (_n_grams(words, similarity.n) for words in (notebook.notes, note))
    repeated = ((new[:, None] == new) & np.tri(len(new), k=-1, dtype=bool)).any(-1)
    distinct = (new != PAD) & ~repeated
    shared = ((old[:, :, None] == new).any(1) & distinct).sum(-1, dtype=jnp.uint8)
    grams = distinct.sum(dtype=jnp.uint8)
    needed = np.array([similarity.needed(fewest) for fewest in range(len(note) + 1)], np.uint8)
    return shared >= jnp.asarray(needed)[jnp.minimum(notebook.grams, grams)], grams


def _n_grams(words: jax.Array, n: int) -> jax.Array:
    """The n-grams of (..., words) tokens as one number each, `PAD` where the sentence has ended."""
    if n == 1:
        return words
    bits = 8 * words.dtype.itemsize
    pair = {8: jnp.uint16, 16: jnp.uint32}[bits]
    left, right = words[..., :-1].astype(pair), words[..., 1:].astype(pair)
    return jnp.where(right == PAD, PAD, left << bits | right)


def split_clauses(sentence: jax.Array, clauses: int, rules: NoteTaking) -> list[jax.Array]:
    """The clauses of a (tokens,) sentence as (tokens,) notes, without glue and without gaps."""
    length = len(sentence)
    if length > rules.words:
        raise ValueError(f"{length} tokens do not fit in notes of {rules.words} words")
    before = np.tri(length, k=-1, dtype=bool)  # [i, j]: token j comes before token i
    breaks = _any_of(sentence, rules.breaks, rules)
    kept = (sentence != PAD) & ~breaks & ~_any_of(sentence, rules.dropped, rules)
    clause = jnp.minimum((breaks & before).sum(-1, dtype=jnp.uint8), clauses - 1)
    notes = []
    for number in range(clauses):
        here = kept & (clause == number)
        place = (here & before).sum(-1, dtype=jnp.uint8)
        moved = here & (place == jnp.arange(length, dtype=jnp.uint8)[:, None])
        notes.append(jnp.where(moved, sentence, PAD).max(-1))
    return notes


def _any_of(sentence: jax.Array, words: tuple[str, ...], rules: NoteTaking) -> jax.Array:
    """Which of the (tokens,) of a sentence are one of these words: (tokens,) bool."""
    numbers = np.array([rules.vocabulary.token(word) for word in words], sentence.dtype)
    return (sentence[:, None] == numbers).any(-1)


def _is_unknown(response: jax.Array, rules: NoteTaking) -> jax.Array:
    """Whether a (tokens,) response says that nothing is known: () bool."""
    unknown = jnp.bool_(False)
    for tokens in map(rules.tokens, rules.unknown):
        starts = len(response) - len(tokens) + 1
        if starts > 0:
            here = [response[place : place + starts] == token for place, token in enumerate(tokens)]
            unknown |= jnp.stack(here).all(0).any()
    return unknown
