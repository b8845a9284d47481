"""How the small model reads and writes: a token for every word, and an episode as one row of tokens."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

PAD, UNKNOWN, REPLY, END = range(4)  # REPLY begins what the model says, END ends it
SPECIAL = ("<pad>", "<unknown>", "<reply>", "<end>")
CONTEXT = 3072  # tokens that the model sees; of longer episodes the latest
_TOKEN = re.compile(r"\w+|[^\w\s]|\n")


class Words:
    """A vocabulary of words; texts are read in lower case."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self._numbers = {word: number for number, word in enumerate(words)}

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Words":
        """All words of some texts, the most frequent first."""
        counts = Counter(word for text in texts for word in _TOKEN.findall(text.lower()))
        return cls([*SPECIAL, *(word for word, _ in counts.most_common())])

    def read(self, text: str) -> list[int]:
        """A text as tokens."""
        return [self._numbers.get(word, UNKNOWN) for word in _TOKEN.findall(text.lower())]

    def write(self, tokens: Iterable[int]) -> str:
        """Tokens as a text."""
        return " ".join(self.words[token] for token in tokens if token >= len(SPECIAL))

    def save(self, path: Path) -> None:
        """Write the words to a file."""
        path.write_text(json.dumps(self.words))

    @classmethod
    def load(cls, path: Path) -> "Words":
        """Read the words from a file."""
        return cls(json.loads(path.read_text()))


def turns_of(messages: list[dict[str, Any]]) -> list[tuple[bool, str]]:
    """The turns of a chat without its rules: whether the model speaks, and what is said."""
    turns = []
    for message in messages:
        if message["role"] in ("user", "tool"):
            turns.append((False, message["content"]))
        elif message["role"] == "assistant":
            turns.append((True, _said(message)))
    return turns


def _said(message: dict[str, Any]) -> str:
    """What an assistant says, a tool call as a line."""
    if not message.get("tool_calls"):
        return str(message.get("content") or "")
    function = message["tool_calls"][0]["function"]
    arguments = json.loads(function["arguments"])
    return f"{function['name']} {' '.join(map(str, arguments.values()))}"


def encode(turns: list[tuple[bool, str]], words: Words) -> tuple[list[int], list[bool]]:
    """Turns as tokens, and which of them are the model's to say."""
    tokens: list[int] = []
    mine: list[bool] = []
    for speaks, text in turns:
        said = [REPLY, *words.read(text), END] if speaks else words.read(text)
        tokens += said
        mine += [speaks and token != REPLY for token in said]
    return tokens, mine
