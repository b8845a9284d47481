"""Serve the small model as Chat Completions on this machine."""

# PyTorch and transformers are installed where this runs.
# pyright: reportMissingImports=false

import argparse
import queue
import threading
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from language import CONTEXT, END, PAD, REPLY, Words, encode, turns_of
from transformers import LlamaForCausalLM

from afk.play.expert import Move
from afk.play.serving import make_server, say

LONGEST = 40  # tokens of a reply
MOST = 64  # requests that are answered together


class SmallModel:
    """The model; requests that come while it is busy are answered together."""

    def __init__(self, folder: Path, temperature: float) -> None:
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._words = Words.load(folder / "words.json")
        self._model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).to(self._device).eval()
        self._drawn: dict[str, Any] = {"do_sample": False}
        if temperature:
            self._drawn = {"do_sample": True, "temperature": temperature}
        self._waiting: queue.SimpleQueue[tuple[list[int], Future[list[int]]]] = queue.SimpleQueue()
        threading.Thread(target=self._work, daemon=True).start()

    def __call__(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
        """The next message: ``act`` or ``ask``, and a line."""
        tokens, _ = encode(turns_of(messages), self._words)
        reply: Future[list[int]] = Future()
        self._waiting.put(([*tokens, REPLY][-(CONTEXT - LONGEST) :], reply))
        tool, _, line = self._words.write(reply.result()).partition(" ")
        return say(Move(tool if tool in ("act", "ask") else "act", line), tools)

    def _work(self) -> None:
        while True:
            requests = [self._waiting.get()]
            while len(requests) < MOST and not self._waiting.empty():
                requests.append(self._waiting.get())
            try:
                replies = self._generate([tokens for tokens, _ in requests])
            except Exception as error:
                for _, reply in requests:
                    reply.set_exception(ValueError(str(error)))
                continue
            for (_, reply), tokens in zip(requests, replies, strict=True):
                reply.set_result(tokens)

    @torch.no_grad()
    def _generate(self, rows: list[list[int]]) -> list[list[int]]:
        """What the model says to each row, which are padded on the left."""
        width = max(map(len, rows))
        inputs = torch.tensor([[PAD] * (width - len(row)) + row for row in rows], device=self._device)
        output = self._model.generate(
            inputs,
            attention_mask=(inputs != PAD).long(),
            max_new_tokens=LONGEST,
            eos_token_id=END,
            pad_token_id=PAD,
            **self._drawn,
        )
        return output[:, width:].tolist()


def main() -> None:
    """Serve until Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--port", type=int, default=8001)
    parser.add_argument("--temperature", type=float, default=0.0)
    options = parser.parse_args()
    model = SmallModel(options.model, options.temperature)
    with make_server(model, options.port, model="small") as server:
        print(f"the model is at http://{server.server_address[0]}:{server.server_port}/v1", flush=True)
        with suppress(KeyboardInterrupt):
            server.serve_forever()


if __name__ == "__main__":
    main()
