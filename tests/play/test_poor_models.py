"""Models that play badly, and servers that fail: each has its result, and nothing is lost."""

import json
from collections.abc import Callable, Iterator
from itertools import chain, cycle, product, repeat
from pathlib import Path
from typing import Any

import pytest

from afk.envs.registry import make
from afk.play.serving import ExpertModel, Reply

from .chat_server import TOOL_CALL, call, evaluate, lines_of, say

Message = dict[str, Any]
STEPS = 81  # of a level
WORDS = make("C").vocabulary
QUESTIONS = list(map(" ".join, product(WORDS.functions[1:], WORDS.adjectives[1:], WORDS.nouns[1:])))
FORMS = [pytest.param(True, id="tools"), pytest.param(False, id="plain", marks=pytest.mark.slow)]


def always(message: Message) -> Callable[[bool], Reply]:
    return lambda tools: lambda *_: message


def silent(tools: bool) -> Reply:
    return lambda *_: call("act", '{"action": "turn left"}') if tools else say("act: turn left")


def curious(tools: bool) -> Reply:
    """Asks everything that there is to ask, one question after the other."""

    def reply(messages: list[Message], _: list[Message]) -> Message:
        question = QUESTIONS[sum(each["role"] == "assistant" for each in messages)]
        return call("ask", json.dumps({"question": question})) if tools else say(f"ask: {question}")

    return reply


def written(tools: bool) -> Reply:
    """The expert, whose tool calls come as text."""
    expert = ExpertModel()

    def reply(messages: list[Message], schemas: list[Message]) -> Message:
        function = expert(messages, [{}])["tool_calls"][0]["function"]
        calls = {"name": function["name"], "arguments": json.loads(function["arguments"])}
        return say(f"<think>\nlet me see\n</think><tool_call>\n{json.dumps(calls)}\n</tool_call>")

    return reply


UNREADABLE = {
    "half a JSON": call("act", '{"action": "turn left"'),
    "a list": call("act", "[]"),
    "a number": call("act", '{"action": 3}'),
    "another parameter": call("act", '{"action": null, "question": "where kitchen"}'),
    "no such tool": call("fly", '{"action": "up"}'),
    "a tool of no name": call(None, None),
    "a call of no form": say(None, tool_calls=["act"]),
    "two calls of no form": say(None, tool_calls=[TOOL_CALL, None]),
    "calls that are none": say(3, tool_calls={"act": "left"}),
    "empty": say(""),
    "nothing": say(None),
    "a refusal": say(None, refusal="I would rather not."),
    "a long refusal": say("I cannot help with that.\nPlease ask somebody else."),
    "endless": say("la " * 40_000),
    "endless braces": say([{"type": "text", "text": "{" * 30_000}]),
    "no such action": call("act", '{"action": "dance"}'),
}
LAST = {"out of time": {"success": 0, "invalid": 0, "episode_length": STEPS}}
LAST["given up"] = {"success": 0, "invalid": 10, "episode_length": 10, "queries": 0}
LAST["success"] = {"success": 1, "invalid": 0, "precision": 1, "recall": 1}
POOR = {
    "never asks": (silent, "out of time", {"queries": 0}),
    "asks everything": (curious, "out of time", {"queries": STEPS}),
    "calls in text": (written, "success", {}),
    **{name: (always(message), "given up", {}) for name, message in UNREADABLE.items()},
}


def without_seconds(lines: list[Message]) -> list[Message]:
    kept = [{name: value for name, value in line.items() if name != "seconds"} for line in lines]
    return [line | {"result": None} if "result" in line else line for line in kept]


def breaking(reply: Reply, after: int) -> Reply:
    """The same until so many requests; then the server wants no more."""
    left = iter(range(after))

    def replies(messages: list[Message], tools: list[Message]) -> Message:
        if next(left, None) is None:
            raise ValueError("no more")
        return reply(messages, tools)

    return replies


@pytest.mark.parametrize("tools", FORMS)
@pytest.mark.parametrize("name", POOR)
def test_the_result_is_as_documented_and_nothing_is_lost(name: str, tools: bool, tmp_path: Path) -> None:
    model, ending, more = POOR[name]
    whole = evaluate(model(tools), tmp_path / "whole", tools=tools, episodes=1)
    assert whole["endings"] == {ending: 1}
    assert {key: whole[key] for key in LAST[ending] | more} == LAST[ending] | more
    read = [line["content"] for line in lines_of(tmp_path / "whole") if line.get("role") in ("tool", "user")]
    if ending == "given up":
        assert len(read) == 1 + 10 and all(each.startswith("Invalid: ") for each in read[1:])
    folder = tmp_path / "cut"
    with pytest.raises(ValueError, match=r"0 of 1 levels are done, .* the server refused: 400 .*no more"):
        evaluate(breaking(model(tools), 3), folder, tools=tools, episodes=1)
    before = lines_of(folder)
    assert sum(line.get("role") == "assistant" for line in before) == 3
    again = evaluate(model(tools), folder, tools=tools, episodes=1)
    assert again | {"seconds": 0} == whole | {"seconds": 0}
    after = lines_of(folder)
    assert after[: len(before)] == before
    assert without_seconds(after) == without_seconds(lines_of(tmp_path / "whole"))


@pytest.mark.parametrize("tools", FORMS)
@pytest.mark.parametrize("status", [429, pytest.param(500, marks=pytest.mark.slow)])
def test_a_server_that_fails_at_times_or_for_good(status: int, tools: bool, tmp_path: Path) -> None:
    def play(folder: str, statuses: Iterator[int]) -> Message:
        found = evaluate(ExpertModel(), tmp_path / folder, statuses=statuses, tools=tools, at_once=1)
        return found | {"seconds": 0}

    whole = play("whole", repeat(200))
    assert whole["success"] == 1
    assert play("at times", cycle([status, status, 200])) == whole
    with pytest.raises(ValueError, match=rf"of 2 levels are done, .* after 6 tries: {status} .*not now"):
        play("for good", chain(repeat(200, 9), repeat(status)))
    before = lines_of(tmp_path / "for good")
    assert sum(line.get("role") == "assistant" for line in before) == 9
    assert play("for good", repeat(200)) == whole
