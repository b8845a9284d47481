"""The tools of a chat model, made of `Player`'s signatures, and how its replies are read.

A reply may call tools, or say in plain text ``act: ...`` or ``ask: ...``. Models write tool calls as text,
forget quotes and send numbers for texts: what cannot be read is a `Call` with a reason, which costs a step.
"""

import inspect
import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from afk.files import parse_json
from afk.play.player import Player

PLAIN = "Reply with one line and nothing else: `act: ` and an action"
PLAIN_ASKING = f"{PLAIN}, or `ask: ` and a question."
WITH_TOOLS = "Use your tools, one call at a time."
_LINE = re.compile(r"^\W*(act|ask)\W*[:(]\s*(.+?)\W*$", re.I | re.M)
_JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}
_LONGEST = 1_000  # letters of a line that are looked at


class Call(NamedTuple):
    """What a reply asks for.

    Attributes:
        tool: ``act`` or ``ask``; empty if it cannot be read.
        line: what to do or to ask; why it cannot be read.
        identity: of the tool call; empty in plain text.
    """

    tool: str
    line: str
    identity: str = ""


def tool_names(mode: str) -> tuple[str, ...]:
    """The tools that there are in a mode."""
    return ("act", "ask") if mode == "asking" else ("act",)


def describe_form(mode: str, *, tools: bool) -> str:
    """How to reply, as a sentence for the prompt."""
    if tools:
        return WITH_TOOLS
    return PLAIN_ASKING if mode == "asking" else f"{PLAIN}."


def describe_tools(mode: str) -> list[dict[str, Any]]:
    """The tools of a mode as Chat Completions take them."""
    return [
        {"type": "function", "function": describe_tool(getattr(Player, name))} for name in tool_names(mode)
    ]


def describe_tool(method: Callable[..., Any]) -> dict[str, Any]:
    """A method's name, docstring and parameters as a JSON schema."""
    about, _, listed = inspect.cleandoc(method.__doc__ or "").partition("\n\nArgs:\n")
    texts = dict(re.findall(r"^\s*(\w+): (.*)$", listed, re.M))
    hints = inspect.get_annotations(method, eval_str=True)
    properties = {
        name: {"type": _JSON_TYPES[hint], "description": texts[name]}
        for name, hint in hints.items()
        if name != "return"
    }
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": method.__name__, "description": about, "parameters": parameters}


def read_reply(message: dict[str, Any]) -> list[Call]:
    """What an assistant's message asks for, at least one call."""
    calls = message.get("tool_calls")
    if isinstance(calls, list) and calls:
        return [_read_tool_call(call) for call in calls]
    text = message.get("content")
    if isinstance(text, list):  # in parts, as some servers have it
        text = "\n".join(str(part["text"]) for part in text if isinstance(part, dict) and "text" in part)
    if not isinstance(text, str) or not text.strip():
        return [Call("", "you said nothing")]
    return [_read_text(text[-20 * _LONGEST :])]


def _read_tool_call(call: Any) -> Call:
    """A tool call of the protocol."""
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        return Call("", "that is no tool call")
    identity = str(call.get("id") or "")
    name, arguments = function.get("name"), function.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = parse_json(arguments or "{}")
        except ValueError:
            return Call("", "the arguments of your tool call are not JSON", identity)
    return _read_call(name, arguments, identity)


def _read_call(name: Any, arguments: Any, identity: str = "") -> Call:
    """A tool's name and its arguments."""
    if name not in ("act", "ask"):
        return Call("", f"there is no tool {str(name)[:40]!r}", identity)
    parameter = "action" if name == "act" else "question"
    line = arguments.get(parameter) if isinstance(arguments, dict) else None
    if not isinstance(line, str) or not line.strip():
        return Call("", f"{name} takes {parameter!r}, which is text", identity)
    return Call(name, line.strip()[:_LONGEST], identity)


def _read_text(text: str) -> Call:
    """Plain text: the last line that says what to do, a tool call written out, or one line alone."""
    for start in re.finditer(r'\{\s*"name"', text):
        try:
            found, _ = json.JSONDecoder().raw_decode(text, start.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return _read_call(found["name"], found.get("arguments", found.get("parameters")))
    if lines := _LINE.findall(text):
        tool, line = lines[-1]
        return Call(tool.lower(), line.strip()[:_LONGEST])
    stripped = text.strip()
    if "\n" in stripped or len(stripped) > 200:
        return Call("", "no line begins with `act:` or `ask:`")
    return Call("act", stripped)
