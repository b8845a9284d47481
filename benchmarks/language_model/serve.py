"""Serve the small model as Chat Completions on this machine."""

import argparse
import queue
import threading
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

import jax
import numpy as np
from decoder import LONGEST, Decoder, bucket, load, reply
from language import CONTEXT, END, PAD, REPLY, Words, encode, turns_of
from pack import WORDS

from afk.play.expert import Move
from afk.play.serving import make_server, say

AT_ONCE = (1, 8, 32, 128)  # requests that are answered together: few shapes are compiled


class SmallModel:
    """The model; requests that come while it is busy are answered together."""

    def __init__(self, folder: Path, temperature: float = 0.0) -> None:
        self._words, self._model = Words.load(folder / WORDS), load(folder / "model.safetensors")
        self._temperature, self._key = temperature, jax.random.key(0)
        self._waiting: queue.SimpleQueue[tuple[list[int], Future[list[int]]]] = queue.SimpleQueue()
        threading.Thread(target=self._work, daemon=True).start()

    def __call__(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
        """The next message: ``act`` or ``ask``, and a line."""
        answer: Future[list[int]] = Future()
        self._waiting.put((prompt_of(messages, self._words), answer))
        return say(read_said(answer.result(), self._words), tools)

    def learn(self, model: Decoder) -> None:
        """Go on with other parameters."""
        self._model = model

    def generate(self, rows: list[list[int]]) -> list[list[int]]:
        """What the model says to each row of tokens, of any number of rows."""
        said: list[list[int]] = []
        longest = bucket(max(map(len, rows)))
        most = max(rows for rows in AT_ONCE if rows * longest <= room())
        for first in range(0, len(rows), most):
            part = rows[first : first + most]
            tokens = np.full((bucket(len(part), AT_ONCE), bucket(max(map(len, part)))), PAD, np.int32)
            lengths = np.ones(len(tokens), np.int32)
            for number, row in enumerate(part):
                tokens[number, : len(row)], lengths[number] = row, len(row)
            self._key, key = jax.random.split(self._key)
            found = reply(self._model, tokens, lengths, key, temperature=self._temperature)
            said += np.asarray(found)[: len(part)].tolist()
        return said

    def _work(self) -> None:
        while True:
            requests = [self._waiting.get()]
            while len(requests) < AT_ONCE[-1] and not self._waiting.empty():
                requests.append(self._waiting.get())
            try:
                replies = self.generate([tokens for tokens, _ in requests])
            except Exception as error:
                for _, answer in requests:
                    answer.set_exception(ValueError(str(error)))
                continue
            for (_, answer), tokens in zip(requests, replies, strict=True):
                answer.set_result(tokens)


def room() -> int:
    """The most tokens that are read together, padding included."""
    return 2 ** (15 if jax.default_backend() == "cpu" else 17)


def prompt_of(messages: list[dict[str, Any]], words: Words) -> list[int]:
    """A chat as tokens, up to where the model speaks."""
    tokens, _ = encode(turns_of(messages), words, CONTEXT - LONGEST - 1)
    return [*tokens, REPLY]


def read_said(tokens: list[int], words: Words) -> Move:
    """What was said as a move; what is neither ``act`` nor ``ask`` is taken for an action."""
    tokens = tokens[: tokens.index(END)] if END in tokens else tokens
    tool, _, line = words.write(tokens).partition(" ")
    return Move(tool, line) if tool in ("act", "ask") else Move("act", f"{tool} {line}".strip())


def main() -> None:
    """Serve until Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--port", type=int, default=8001)
    parser.add_argument("--name", default="small")
    parser.add_argument("--temperature", type=float, default=0.0)
    options = parser.parse_args()
    model = SmallModel(options.model, options.temperature)
    with make_server(model, options.port, model=options.name) as server:
        print(f"the model is at http://{server.server_address[0]}:{server.server_port}/v1", flush=True)
        with suppress(KeyboardInterrupt):
            server.serve_forever()


if __name__ == "__main__":
    main()
