"""How the small model reads and writes: a token for every word, and an episode as one row of tokens."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

PAD, UNKNOWN, REPLY, END = range(4)  # REPLY begins what the model says, END ends it
SPECIAL = ("<pad>", "<unknown>", "<reply>", "<end>")
CONTEXT = 3072  # tokens that the model sees; of longer episodes the beginning and the latest
RULES = ("You may ask", "has to be prepared")  # all that it is told of the rules: whether they say so
_TOKEN = re.compile(r"\w+|[^\w\s]|\n")

Turn = tuple[bool, str]  # whether the model speaks, and what is said


class Words:
    """A vocabulary of words; texts are read in lower case."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self._numbers = {word: number for number, word in enumerate(words)}

    @classmethod
    def of(cls, counts: Counter[str]) -> "Words":
        """All words of some texts, the most frequent first."""
        return cls([*SPECIAL, *(word for word, _ in counts.most_common())])

    def read(self, text: str) -> list[int]:
        """A text as tokens."""
        return [self._numbers.get(word, UNKNOWN) for word in split(text)]

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


def split(text: str) -> list[str]:
    """The words of a text."""
    return _TOKEN.findall(text.lower())


def turns_of(messages: list[dict[str, Any]]) -> list[Turn]:
    """The turns of a chat, of its rules only what is in `RULES`."""
    turns = []
    for message in messages:
        if message["role"] == "system":
            turns.append((False, begin(message["content"])))
        elif message["role"] in ("user", "tool"):
            turns.append((False, message["content"]))
        elif message["role"] == "assistant":
            turns.append((True, _said(message)))
    return turns


def begin(rules: str) -> str:
    """What the model is told of the rules."""
    return "; ".join(sentence for sentence in RULES if sentence in rules)


def _said(message: dict[str, Any]) -> str:
    """What an assistant says, a tool call as a line."""
    if not message.get("tool_calls"):
        return re.sub(r"^(act|ask): ", r"\1 ", str(message.get("content") or ""))
    function = message["tool_calls"][0]["function"]
    arguments = json.loads(function["arguments"])
    return f"{function['name']} {' '.join(map(str, arguments.values()))}"


def encode(turns: list[Turn], words: Words, room: int = CONTEXT) -> tuple[list[int], list[bool]]:
    """Turns as tokens, and which of them are the model's to say.

    Where there is no room for all of them, the oldest turns after the first two, which say what the task is,
    are left out.
    """
    parts = [[REPLY, *words.read(text), END] if speaks else words.read(text) for speaks, text in turns]
    first, size = min(2, len(parts)), sum(map(len, parts))
    while size > room and first < len(parts):
        size -= len(parts[first])
        first += 1
    kept = [*range(min(2, len(parts))), *range(first, len(parts))]
    tokens = [token for number in kept for token in parts[number]]
    mine = [turns[number][0] and token != REPLY for number in kept for token in parts[number]]
    return tokens[-room:], mine[-room:]
