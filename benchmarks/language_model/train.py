"""Train a small decoder on packed episodes: the expert's replies, given all that came before.

In the first half of the time what is read counts a little as well (``--reading``): most of it repeats what
was read before, and looking that up is most of what a reply takes.
"""

import argparse
import json
import math
import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from decoder import Decoder, bucket, count_parameters, make_decoder, save, score
from language import CONTEXT, PAD, Words
from pack import ROWS, WORDS, Row, load_rows, make_batch

HELD_OUT = 50  # every so many-th episode is for validation
WARMUP = 0.02  # of the time
LENGTHS = (512, 1024, 2048, CONTEXT)  # episodes of about the same length go together
SAVED = 30.0  # seconds from one time that the model is saved to the next
OPTIMIZER = optax.chain(
    optax.clip_by_global_norm(1.0), optax.scale_by_adam(b2=0.95), optax.add_decayed_weights(0.1)
)


def compute_loss(model: Decoder, tokens: jax.Array, mine: jax.Array, reading: float = 0.0) -> jax.Array:
    """The cross entropy of what is the model's to say, a mean over its tokens; some of what is read added.

    Args:
        model: the decoder.
        tokens: (rows, length) int, padded on the right.
        mine: (rows, length) bool, the tokens that are the model's to say.
        reading: what a token that is read counts, where one that is said counts 1.
    """
    weights = jnp.where(mine, 1.0, jnp.where(tokens == PAD, 0.0, reading))[:, 1:]
    return -(weights * score(model, tokens.astype(jnp.int32))).sum() / jnp.maximum(1, mine[:, 1:].sum())


@partial(jax.jit, donate_argnums=(0, 1))
def train_step(
    model: Decoder, state: Any, tokens: jax.Array, mine: jax.Array, rate: jax.Array, reading: float
) -> tuple[Decoder, Any, jax.Array]:
    """One step on one batch."""
    loss, gradient = jax.value_and_grad(compute_loss)(model, tokens, mine, reading)
    model, state = apply_gradient(model, state, gradient, rate)
    return model, state, loss


def apply_gradient(
    model: Decoder, state: Any, gradient: Decoder, rate: jax.Array | float
) -> tuple[Decoder, Any]:
    """A step of the optimiser."""
    updates, state = OPTIMIZER.update(gradient, state, model)
    return jax.tree.map(lambda leaf, change: leaf - rate * change, model, updates), state


def rate_at(share: float, rate: float) -> float:
    """The learning rate after a share of the time: up at once, then down along a cosine."""
    return rate * min(1.0, share / WARMUP + 0.01) * (0.5 + 0.5 * math.cos(math.pi * min(1.0, share)))


def draw_from(rows: list[Row], tokens: int) -> tuple[Callable[[], tuple[np.ndarray, np.ndarray]], list[Any]]:
    """A function that draws batches of so many tokens, and a batch of every shape that it draws."""
    groups: dict[int, list[Row]] = {}
    for row in rows:
        groups.setdefault(bucket(len(row[0]), LENGTHS), []).append(row)
    sizes = np.array([length * len(group) for length, group in groups.items()], float)
    random = np.random.default_rng(0)

    def draw() -> tuple[np.ndarray, np.ndarray]:
        length = list(groups)[random.choice(len(groups), p=sizes / sizes.sum())]
        numbers = random.integers(len(groups[length]), size=max(1, tokens // length))
        return make_batch([groups[length][number] for number in numbers], length)

    shapes = [make_batch(group[:1] * max(1, tokens // length), length) for length, group in groups.items()]
    return draw, shapes


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


def main() -> None:
    """Train for some minutes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a folder that pack.py wrote")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--tokens", type=int, default=32_768, help="of a step, padding included")
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument(
        "--reading", type=float, default=0.1, help="what a token that is read counts at first"
    )
    parser.add_argument("--width", type=int, default=320)
    parser.add_argument("--layers", type=int, default=8)
    options = parser.parse_args()
    words, rows = Words.load(options.data / WORDS), load_rows(options.data / ROWS)
    options.out.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(options.data / WORDS, options.out / WORDS)
    held = rows[::HELD_OUT]
    taught = [row for number, row in enumerate(rows) if number % HELD_OUT or len(rows) < HELD_OUT]
    model = make_decoder(jax.random.key(0), len(words.words), width=options.width, layers=options.layers)
    state = OPTIMIZER.init(model)
    record: dict[str, Any] = {
        "device": jax.devices()[0].device_kind,
        "episodes": len(rows),
        "tokens": int(sum(len(row[0]) for row in rows)),
        "words": len(words.words),
        "parameters": count_parameters(model),
        "tokens_per_step": options.tokens,
    }
    print(record, flush=True)
    draw, shapes = draw_from(taught, options.tokens)
    for batch in shapes:  # compiled before the clock starts
        model, state, _ = train_step(model, state, *batch, 0.0, options.reading)
    start, saved, step, waiting, losses = time.monotonic(), time.monotonic(), 0, [], []
    while (share := (time.monotonic() - start) / (60 * options.minutes)) < 1:
        rate, reading = rate_at(share, options.rate), options.reading * max(0.0, 1 - 2 * share)
        model, state, loss = train_step(model, state, *draw(), rate, reading)
        waiting.append(loss)
        step += 1
        if len(waiting) == 50:
            losses.append(float(np.mean(jax.device_get(waiting))))  # waits for the device
            waiting = []
            print(f"step {step:,}, {share:.0%}, loss {losses[-1]:.4f}", flush=True)
            if time.monotonic() - saved > SAVED:
                save(model, options.out / "model.safetensors")
                saved = time.monotonic()
    held_loss = evaluate(model, held)
    save(model, options.out / "model.safetensors")
    record |= {
        "steps": step,
        "seconds": round(time.monotonic() - start, 1),
        "held_out_loss": round(held_loss, 5),
        "losses": [round(loss, 5) for loss in losses],
    }
    (options.out / "training.json").write_text(json.dumps(record, indent=1))
    print(f"{step:,} steps, held-out loss {held_loss:.4f}", flush=True)


if __name__ == "__main__":
    main()
