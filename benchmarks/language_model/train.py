"""Train a small decoder on exported episodes: the expert's replies, given all that came before."""

# PyTorch and transformers are installed where this runs.
# pyright: reportMissingImports=false

import argparse
import json
import math
import random
import time
from pathlib import Path

import torch
from language import CONTEXT, PAD, Words, encode, turns_of
from transformers import LlamaConfig, LlamaForCausalLM

HELD_OUT = 20  # every so many-th episode is for validation
WARMUP = 0.02  # of the time


def build(words: Words) -> LlamaForCausalLM:
    """A decoder of about 15M parameters."""
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(words.words),
            hidden_size=384,
            intermediate_size=1024,
            num_hidden_layers=8,
            num_attention_heads=6,
            max_position_embeddings=CONTEXT,
            tie_word_embeddings=True,
            pad_token_id=PAD,
        )
    )


def make_batch(rows: list[tuple[list[int], list[bool]]], device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens and labels, (rows, tokens): -100 where it is not the model who speaks."""
    rows = [(tokens[-CONTEXT:], mine[-CONTEXT:]) for tokens, mine in rows]
    width = max(len(tokens) for tokens, _ in rows)
    inputs, labels = torch.full((len(rows), width), PAD), torch.full((len(rows), width), -100)
    for row, (tokens, mine) in enumerate(rows):
        inputs[row, : len(tokens)] = torch.tensor(tokens)
        labels[row, : len(tokens)] = torch.where(torch.tensor(mine), torch.tensor(tokens), -100)
    return inputs.to(device), labels.to(device)


def main() -> None:
    """Train for some minutes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--rows", type=int, default=32, help="episodes of a step")
    parser.add_argument("--rate", type=float, default=1e-3)
    options = parser.parse_args()
    torch.manual_seed(0)
    random.seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    paths = sorted(options.data.glob("*.jsonl"))
    lines = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    chats = [turns_of(line["messages"]) for line in lines if line["success"]]
    words = Words.of(text for chat in chats for _, text in chat)
    rows = [encode(chat, words) for chat in chats]
    held, rows = rows[::HELD_OUT], [row for number, row in enumerate(rows) if number % HELD_OUT]
    options.out.mkdir(parents=True, exist_ok=True)
    words.save(options.out / "words.json")
    model = build(words).to(device)
    size = sum(parameter.numel() for parameter in model.parameters())
    print(
        f"{len(rows):,} episodes, {len(words.words):,} words, {size / 1e6:.1f}M parameters, {device}",
        flush=True,
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.rate, betas=(0.9, 0.95), weight_decay=0.1)
    start, step, losses = time.monotonic(), 0, []
    while (share := (time.monotonic() - start) / (60 * options.minutes)) < 1:
        rate = options.rate * min(1.0, share / WARMUP + 0.01) * (0.5 + 0.5 * math.cos(math.pi * share))
        for group in optimizer.param_groups:
            group["lr"] = rate
        losses.append(
            train_step(
                model, optimizer, make_batch(random.sample(rows, min(options.rows, len(rows))), device)
            )
        )
        step += 1
        if step % 100 == 0:
            print(f"step {step:,}, {share:.0%}, loss {sum(losses[-100:]) / 100:.4f}", flush=True)
    print(f"{step:,} steps, held-out loss {evaluate(model, held, options.rows, device):.4f}")
    model.to(torch.bfloat16).save_pretrained(options.out)


def train_step(
    model: LlamaForCausalLM, optimizer: torch.optim.Optimizer, batch: tuple[torch.Tensor, torch.Tensor]
) -> float:
    """One step; returns the loss."""
    model.train()
    loss = compute_loss(model, batch)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


def compute_loss(model: LlamaForCausalLM, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """The cross entropy of what the model is to say; padding comes last, where nothing attends to it."""
    inputs, labels = batch
    with torch.autocast(inputs.device.type, torch.bfloat16):
        return model(input_ids=inputs, labels=labels).loss


@torch.no_grad()
def evaluate(
    model: LlamaForCausalLM, held: list[tuple[list[int], list[bool]]], rows: int, device: str
) -> float:
    """The mean loss on episodes that were held out."""
    model.eval()
    parts = [held[first : first + rows] for first in range(0, len(held), rows)]
    losses = [float(compute_loss(model, make_batch(part, device))) for part in parts]
    return sum(losses) / max(1, len(losses))


if __name__ == "__main__":
    main()
