"""Train a small decoder on exported episodes: the expert's replies, given all that came before."""

import argparse
import json
import math
import os
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from decoder import Decoder, bucket, count_parameters, make_decoder, save, score
from language import CONTEXT, PAD, Words, encode, split, turns_of

HELD_OUT = 50  # every so many-th episode is for validation
WARMUP = 0.02  # of the time
LENGTHS = (512, 1024, 2048, CONTEXT)  # episodes of about the same length go together

Row = tuple[np.ndarray, np.ndarray]  # tokens, and which of them are the model's to say


def read_chats(path: Path) -> list[list[tuple[bool, str]]]:
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


def read_data(folder: Path) -> tuple[Words, list[Row]]:
    """The words and the episodes of a folder of exported files."""
    paths = sorted(folder.glob("*.jsonl"))
    if not paths:
        raise ValueError(f"there are no exported episodes in {folder}")
    with ProcessPoolExecutor(min(len(paths), os.cpu_count() or 1), get_context("spawn")) as pool:
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


def compute_loss(model: Decoder, tokens: jax.Array, mine: jax.Array) -> jax.Array:
    """The cross entropy of what is the model's to say, a mean over its tokens."""
    chosen = jnp.where(mine[:, 1:], score(model, tokens.astype(jnp.int32)), 0.0)
    return -chosen.sum() / jnp.maximum(1, mine[:, 1:].sum())


OPTIMIZER = optax.chain(
    optax.clip_by_global_norm(1.0), optax.scale_by_adam(b2=0.95), optax.add_decayed_weights(0.1)
)


@partial(jax.jit, donate_argnums=(0, 1))
def train_step(
    model: Decoder, state: Any, tokens: jax.Array, mine: jax.Array, rate: jax.Array
) -> tuple[Decoder, Any, jax.Array]:
    """One step on one batch."""
    loss, gradient = jax.value_and_grad(compute_loss)(model, tokens, mine)
    updates, state = OPTIMIZER.update(gradient, state, model)
    return jax.tree.map(lambda leaf, change: leaf - rate * change, model, updates), state, loss


def rate_at(share: float, rate: float) -> float:
    """The learning rate after a share of the time: up at once, then down along a cosine."""
    return rate * min(1.0, share / WARMUP + 0.01) * (0.5 + 0.5 * math.cos(math.pi * min(1.0, share)))


def main() -> None:
    """Train for some minutes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--tokens", type=int, default=16_384, help="of a step, padding included")
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--width", type=int, default=320)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--keep", type=Path, help="where the episodes are kept as tokens")
    options = parser.parse_args()
    words, rows = read_data(options.data)
    options.out.mkdir(parents=True, exist_ok=True)
    words.save(options.out / "words.json")
    if options.keep:
        keep_rows(rows, options.keep)
    held = rows[::HELD_OUT]
    groups: dict[int, list[Row]] = {}
    for number, row in enumerate(rows):
        if number % HELD_OUT or len(rows) < HELD_OUT:
            groups.setdefault(bucket(len(row[0]), LENGTHS), []).append(row)
    sizes = np.array([length * len(group) for length, group in groups.items()], float)
    model = make_decoder(jax.random.key(0), len(words.words), width=options.width, layers=options.layers)
    state = OPTIMIZER.init(model)
    device = jax.devices()[0].device_kind
    print(
        f"{len(rows):,} episodes, {sum(len(row[0]) for row in rows):,} tokens, {len(words.words):,} words, "
        f"{count_parameters(model) / 1e6:.1f}M parameters, {device}",
        flush=True,
    )
    random = np.random.default_rng(0)

    def draw() -> tuple[np.ndarray, np.ndarray]:
        length = list(groups)[random.choice(len(groups), p=sizes / sizes.sum())]
        group = groups[length]
        return make_batch(
            [group[each] for each in random.integers(len(group), size=max(1, options.tokens // length))],
            length,
        )

    losses: list[float] = []
    for length, group in groups.items():  # compiled before the clock starts
        model, state, _ = train_step(
            model, state, *make_batch(group[:1] * max(1, options.tokens // length), length), 0.0
        )
    start, step, waiting = time.monotonic(), 0, []
    while (share := (time.monotonic() - start) / (60 * options.minutes)) < 1:
        model, state, loss = train_step(model, state, *draw(), rate_at(share, options.rate))
        waiting.append(loss)
        step += 1
        if len(waiting) == 50:
            losses.append(float(np.mean(jax.device_get(waiting))))  # waits for the device
            waiting = []
            print(f"step {step:,}, {share:.0%}, loss {losses[-1]:.4f}", flush=True)
    held_loss = evaluate(model, held)
    save(model, options.out / "model.safetensors")
    record = {
        "device": device,
        "episodes": len(rows),
        "tokens": int(sum(len(row[0]) for row in rows)),
        "words": len(words.words),
        "parameters": count_parameters(model),
        "steps": step,
        "tokens_per_step": options.tokens,
        "seconds": round(time.monotonic() - start, 1),
        "held_out_loss": round(held_loss, 5),
        "losses": [round(loss, 5) for loss in losses],
    }
    (options.out / "training.json").write_text(json.dumps(record, indent=1))
    print(f"{step:,} steps, held-out loss {held_loss:.4f}", flush=True)


def evaluate(model: Decoder, held: list[Row], at_once: int = 16) -> float:
    """The loss on episodes that were held out, a mean over batches."""
    held = sorted(held, key=lambda row: len(row[0]))
    losses = []
    for first in range(0, len(held), at_once):
        part = held[first : first + at_once]
        part += part[:1] * (at_once - len(part))
        losses.append(_held_loss(model, *make_batch(part, bucket(max(len(row[0]) for row in part), LENGTHS))))
    return float(np.mean(jax.device_get(losses)))


_held_loss = jax.jit(compute_loss)


if __name__ == "__main__":
    main()
