"""Pack exported episodes: their words, and those that were won as rows of tokens in one file."""

import argparse
import json
import os
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from language import CONTEXT, PAD, Turn, Words, encode, split, turns_of

WORDS, ROWS = "words.json", "rows.npz"

Row = tuple[np.ndarray, np.ndarray]  # tokens, and which of them are the model's to say


def read_chats(path: Path) -> list[list[Turn]]:
    """The turns of the episodes of a file that were won."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [turns_of(line["messages"]) for line in lines if line["success"]]


def count_words(path: Path) -> Counter[str]:
    """How often each word is in a file."""
    return Counter(word for chat in read_chats(path) for _, text in chat for word in split(text))


def encode_file(path: Path, words: Words) -> list[Row]:
    """The episodes of a file as tokens."""
    rows = [encode(chat, words) for chat in read_chats(path)]
    return [(np.array(tokens, np.uint16), np.array(mine, bool)) for tokens, mine in rows]


def read_exported(folder: Path, processes: int) -> tuple[Words, list[Row]]:
    """The words and the episodes of a folder of exported files."""
    paths = sorted(folder.glob("*.jsonl"))
    if not paths:
        raise ValueError(f"there are no exported episodes in {folder}")
    with ProcessPoolExecutor(min(len(paths), processes), get_context("spawn")) as pool:
        words = Words.of(sum(pool.map(count_words, paths), Counter()))
        rows = [row for some in pool.map(partial(encode_file, words=words), paths) for row in some]
    return words, rows


def keep_rows(rows: list[Row], path: Path) -> None:
    """Write episodes as tokens to one compressed file."""
    tokens, mine = (np.concatenate([row[part] for row in rows]) for part in range(2))
    sizes = np.array([len(row[0]) for row in rows], np.int32)
    np.savez_compressed(path, tokens=tokens, mine=np.packbits(mine), sizes=sizes)


def load_rows(path: Path) -> list[Row]:
    """The episodes that `keep_rows` wrote."""
    with np.load(path) as kept:
        tokens, sizes = kept["tokens"], kept["sizes"]
        mine = np.unpackbits(kept["mine"], count=len(tokens)).astype(bool)
    ends = np.cumsum(sizes)[:-1]
    return list(zip(np.split(tokens, ends), np.split(mine, ends), strict=True))


def make_batch(rows: list[Row], length: int) -> tuple[np.ndarray, np.ndarray]:
    """Tokens and what is to be learned, (rows, length) uint16 and bool, padded on the right."""
    tokens, mine = np.full((len(rows), length), PAD, np.uint16), np.zeros((len(rows), length), bool)
    for number, (each, says) in enumerate(rows):
        tokens[number, : len(each)], mine[number, : len(each)] = each[:length], says[:length]
    return tokens, mine


def main() -> None:
    """Pack a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a folder of exported files")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    words, rows = read_exported(options.data, options.processes)
    options.out.mkdir(parents=True, exist_ok=True)
    words.save(options.out / WORDS)
    keep_rows(rows, options.out / ROWS)
    sizes = np.array([len(tokens) for tokens, _ in rows])
    said = sum(int(mine.sum()) for _, mine in rows)
    print(
        f"{len(rows):,} episodes, {sizes.sum():,} tokens, {said:,} of them the model's to say, "
        f"{len(words.words):,} words; {(sizes == CONTEXT).sum():,} episodes are longer than it can see"
    )


if __name__ == "__main__":
    main()
