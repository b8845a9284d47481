"""One level played by a chat model: messages, a transcript that grows line by line, and what came of it.

A transcript is all there is to remember: what a model said is read back from it and played again, so that a
level which was cut off goes on where it stopped.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from afk.files import append_file, parse_json, read_bytes, write_file
from afk.play.client import Reply
from afk.play.episode import Episode
from afk.play.tools import Call, describe_form, describe_tools, read_reply

GIVES_UP = 10  # lines in a row that cannot be read end an episode
# What a result counts, beside saying how the level ended.
_COUNTS = (
    *("success", "reward", "steps", "queries", "good", "wanted", "invalid"),
    *("prompt_tokens", "completion_tokens", "requests", "seconds"),
)
_LONGEST = 4_000  # letters of a message that the model gets to see again

Message = dict[str, Any]
Complete = Callable[[list[Message], list[Message]], Reply]


class Transcript:
    """The lines of a level in a JSONL file, or nowhere.

    Attributes:
        said: the assistant's lines that were there already, in order.
        result: what came of the level, if it was played to the end.
    """

    def __init__(self, path: Path | None) -> None:
        self._path, self._added = path, 0
        self._lines = self._read()
        self.said = [line for line in self._lines if line.get("role") == "assistant"]
        self.result: Message | None = next((line["result"] for line in self._lines if "result" in line), None)

    def add(self, line: Message) -> None:
        """Add a line, unless it is there already; a ValueError if another is there in its place."""
        if self._added < len(self._lines):
            before = self._lines[self._added]
            self._added += 1
            if parse_json(json.dumps(line)) != before:
                raise ValueError(
                    f"{self._path} was begun with another line {self._added}; name another folder with --out"
                )
        elif self._path is not None:
            append_file(self._path, (json.dumps(line) + "\n").encode())

    def _read(self) -> list[Message]:
        """The lines so far; a last one that was not written to its end is dropped."""
        if self._path is None:
            return []
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if not self._path.exists():
            return []
        whole, lines = b"", []
        for raw in read_bytes(self._path).splitlines(keepends=True):
            if not raw.endswith(b"\n"):
                break
            try:
                line = parse_json(raw)
            except ValueError:
                line = None
            if not isinstance(line, dict) or not _is_whole(line):
                raise ValueError(
                    f"{self._path} cannot be read: line {len(lines) + 1} is none of a transcript"
                )
            whole, lines = whole + raw, [*lines, line]
        if len(whole) != self._path.stat().st_size:
            write_file(self._path, whole)
        return lines


@dataclass
class Conversation:
    """A model at a level.

    Attributes:
        episode: what it plays.
        mode: see `Episode`.
        tools: whether it has tools, or plain text.
        history: how many of its latest turns it sees again; questions and answers always. 0 is all.
        messages: rules and first observation, then a list for each turn.
    """

    episode: Episode
    mode: str
    tools: bool
    history: int = 0
    turns: list[tuple[bool, list[Message]]] = field(default_factory=list)

    def play(self, complete: Complete, transcript: Transcript) -> Message:
        """Play to the end; returns what came of it."""
        schemas = describe_tools(self.mode) if self.tools else []
        form = describe_form(self.mode, tools=self.tools)
        opening = [
            {"role": "system", "content": f"{self.episode.rules}\n{form}"},
            {"role": "user", "content": self.episode.observation},
        ]
        for message in opening:
            transcript.add(message)
        known, counts, in_vain = iter(transcript.said), {"prompt": 0, "completion": 0}, 0
        requests, seconds = 0, 0.0
        while not self.episode.is_over and in_vain < GIVES_UP:
            line = next(known, None)
            if line is None:
                line = _write_down(complete([*opening, *self._visible()], schemas))
            transcript.add(line)
            requests, seconds = requests + 1, seconds + line["seconds"]
            for name in counts:
                counts[name] += line["usage"][f"{name}_tokens"]
            in_vain = self._answer(line["message"], transcript, in_vain)
        result = self._result(in_vain) | {f"{name}_tokens": count for name, count in counts.items()}
        result |= {"requests": requests, "seconds": round(seconds, 3)}
        transcript.add({"result": result})
        return result

    def _answer(self, message: Message, transcript: Transcript, in_vain: int) -> int:
        """Do what a message says, and answer it; returns how many lines in a row could not be read."""
        calls, asks = read_reply(message), False
        answers: list[Message] = []
        for call in calls:
            before = self.episode.invalid
            seen = self._do(call)
            in_vain = in_vain + 1 if self.episode.invalid > before else 0
            asks |= call.tool == "ask"
            role: Message = (
                {"role": "tool", "tool_call_id": call.identity} if call.identity else {"role": "user"}
            )
            answers.append(role | {"content": seen})
        for answer in answers:
            transcript.add(answer)
        self.turns.append((asks, [_say_again(message, calls), *answers]))
        return in_vain

    def _do(self, call: Call) -> str:
        if not call.tool:
            form = describe_form(self.mode, tools=self.tools)
            return self.episode.reject(f"{call.line}. {form}")
        return self.episode.ask(call.line) if call.tool == "ask" else self.episode.act(call.line)

    def _visible(self) -> list[Message]:
        """The turns that the model sees again."""
        first = len(self.turns) - self.history if self.history else 0
        return [
            message
            for number, (asks, messages) in enumerate(self.turns)
            if asks or number >= first
            for message in messages
        ]

    def _result(self, in_vain: int) -> Message:
        episode, stats = self.episode, self.episode.stats
        return {
            "success": episode.success,
            "ending": "given up" if in_vain >= GIVES_UP and not episode.is_over else episode.ending,
            "reward": episode.reward,
            "steps": int(stats.steps),
            "queries": int(stats.queries),
            "good": int(stats.good),
            "wanted": int(stats.wanted),
            "invalid": episode.invalid,
            "labels": episode.labels,
        }


def _is_whole(line: Message) -> bool:
    """Whether a line of a transcript has all that is read of it."""
    if "result" in line:
        result = line["result"]
        is_named = isinstance(result, dict) and isinstance(result.get("ending"), str)
        return is_named and has_numbers(result, _COUNTS)
    if line.get("role") != "assistant":
        return True
    usage = line.get("usage")
    return (
        isinstance(line.get("message"), dict)
        and isinstance(usage, dict)
        and has_numbers(usage, ("prompt_tokens", "completion_tokens"))
        and has_numbers(line, ("seconds",))
    )


def has_numbers(found: Mapping[Any, Any], names: Iterable[Any]) -> bool:
    """Whether there is a number for each of these names."""
    return all(isinstance(found.get(name), int | float) for name in names)


def _write_down(reply: Reply) -> Message:
    """A reply as a line of a transcript."""
    return {
        "role": "assistant",
        "message": reply.message,
        "finish_reason": reply.finish_reason,
        "usage": {
            "prompt_tokens": reply.prompt_tokens or 0,
            "completion_tokens": reply.completion_tokens or 0,
        },
        "seconds": round(reply.seconds, 3),
    }


def _say_again(message: Message, calls: list[Call]) -> Message:
    """A message as the model gets it back: whole tool calls, and no more text than is sensible."""
    content = message.get("content")
    again: Message = {"role": "assistant", "content": content[:_LONGEST] if isinstance(content, str) else ""}
    if any(call.identity for call in calls):
        again["tool_calls"] = [
            {
                "id": call.identity,
                "type": "function",
                "function": {"name": call.tool or "act", "arguments": json.dumps(_arguments(call))},
            }
            for call in calls
            if call.identity
        ]
    return again


def _arguments(call: Call) -> dict[str, str]:
    return {"question" if call.tool == "ask" else "action": call.line} if call.tool else {}
