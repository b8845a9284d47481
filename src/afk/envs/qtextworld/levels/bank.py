"""The text bank: descriptions as tokens, made once from TextWorld's grammar and kept in the cache folder.

Nothing of TextWorld's text is part of this project: the first use expands it (`prepare_bank`), which takes
some seconds and needs the `textworld` package; everything afterwards needs the cached file only.
"""

import hashlib
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from afk.envs.qtextworld.levels.grammar import (
    Block,
    Progress,
    Templates,
    expand_templates,
    fill_block,
    fill_intro,
)
from afk.envs.qtextworld.world.things import PIECES
from afk.envs.qtextworld.world.words import tokenise
from afk.files import cache_folder, write_file

VERSION = "1"  # of the file; one with another version is made anew
VARIANTS = 4096  # intros, and blocks of each piece
_SEED = 20220110
CLOSED, EMPTY, BEFORE, AFTER = range(4)  # the parts of a block


@dataclass(frozen=True, eq=False)
class Bank:
    """Texts as spans of one long row of tokens; a span is where it starts and how long it is.

    Attributes:
        words: what the tokens stand for; number 0 is unused, and the last ones may occur nowhere.
        pool: (tokens,) uint16.
        intros: (variants, 2) int32 spans, sentences about the room.
        blocks: (pieces, variants, 4, 2) int32 spans, what is said about each piece of furniture: when it is
            closed, when it is empty, before the list of what it holds, and after that list.
    """

    words: tuple[str, ...]
    pool: np.ndarray
    intros: np.ndarray
    blocks: np.ndarray

    @cached_property
    def checksum(self) -> str:
        """A hash of all that it holds."""
        content = hashlib.sha256("\n".join(self.words).encode())
        for array in (self.pool, self.intros, self.blocks):
            content.update(np.ascontiguousarray(array).data)
        return content.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bank) and self.checksum == other.checksum

    def __hash__(self) -> int:
        return hash(self.checksum)


class Spans:
    """Collects texts in one row of tokens; equal texts share a span."""

    def __init__(self, number: Callable[[str], int], pool: Iterable[int] = ()) -> None:
        self.pool = list(pool)
        self._number = number
        self._known: dict[str, tuple[int, int]] = {}

    def add(self, text: str) -> tuple[int, int]:
        """The span of a text."""
        if text not in self._known:
            tokens = [self._number(word) for word in tokenise(text)]
            self._known[text] = len(self.pool), len(tokens)
            self.pool += tokens
        return self._known[text]


def make_bank(intros: Sequence[str], blocks: Sequence[Sequence[Block]], words: Iterable[str] = ()) -> Bank:
    """A bank of these texts: intros, and for every piece as many blocks as there are intros.

    Args:
        intros: sentences about the room.
        blocks: for every piece, what is said about it.
        words: more words that texts of this kind can have.
    """
    numbers: dict[str, int] = {"": 0}
    spans = Spans(lambda word: numbers.setdefault(word, len(numbers)))
    intro_spans = [spans.add(intro) for intro in intros]
    block_spans = [[[spans.add(part) for part in block] for block in variants] for variants in blocks]
    return Bank(
        tuple(dict.fromkeys([*numbers, *words])),
        np.array(spans.pool, np.uint16),
        np.array(intro_spans, np.int32).reshape(-1, 2),
        np.array(block_spans, np.int32).reshape(len(PIECES), -1, 4, 2),
    )


def fill_bank(templates: Templates, progress: Progress = lambda share: None) -> Bank:
    """A bank of expanded templates, with the names of the room and of every piece filled in."""
    blocks = []
    for number, piece in enumerate(PIECES):
        progress(number / len(PIECES))
        texts = templates.containers if piece.is_container else templates.supporters
        blocks.append([fill_block(template, piece) for template in texts])
    return make_bank([fill_intro(template) for template in templates.intros], blocks, templates.words)


def bank_path() -> Path:
    """Where the bank is kept."""
    return cache_folder() / "qtextworld.safetensors"


def prepare_bank(progress: Progress = lambda share: None) -> Bank:
    """Make the bank from the installed `textworld` package, and keep it.

    Args:
        progress: called from time to time with the share of the work that is done, from 0 to 1.
    """
    bank = _expand(progress)
    _write(bank_path(), bank)
    progress(1.0)
    _kept_bank.cache_clear()
    return bank


def load_bank() -> Bank:
    """The bank in the cache; it is made if it is not there, is broken or is of another version."""
    return _kept_bank(bank_path())


@lru_cache(maxsize=1)
def _kept_bank(path: Path) -> Bank:
    bank = _read(path)
    if bank is None:
        bank = _expand()
        try:
            _write(path, bank)
        except OSError as error:  # it can be used nevertheless
            print(
                f"note: {path} cannot be written ({error.strerror}): texts are made anew every time",
                file=sys.stderr,
            )
    return bank


def _expand(progress: Progress = lambda share: None) -> Bank:
    """The bank, made from the installed `textworld` package."""
    templates = expand_templates(VARIANTS, seed=_SEED, progress=lambda share: progress(0.6 * share))
    return fill_bank(templates, progress=lambda share: progress(0.6 + 0.4 * share))


def _write(path: Path, bank: Bank) -> None:
    metadata = {"version": VERSION, "checksum": bank.checksum, "words": "\n".join(bank.words)}
    write_file(
        path, save({"pool": bank.pool, "intros": bank.intros, "blocks": bank.blocks}, metadata=metadata)
    )


def _read(path: Path) -> Bank | None:
    """The bank in a file, or nothing if the file is of no use."""
    try:
        with safe_open(path, "numpy") as file:
            metadata = file.metadata() or {}
            if metadata.get("version") != VERSION:
                return None
            arrays = (file.get_tensor(name) for name in ("pool", "intros", "blocks"))
            bank = Bank(tuple(metadata["words"].split("\n")), *arrays)
    except (OSError, SafetensorError, KeyError):
        return None
    return bank if bank.checksum == metadata.get("checksum") else None
