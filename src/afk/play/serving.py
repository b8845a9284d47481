"""A small server of Chat Completions on this machine, for whatever replies to messages."""

import json
import re
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from afk.files import parse_json
from afk.play.expert import Expert, Move, make_expert

HOST = "127.0.0.1"
Reply = Callable[[list[dict[str, Any]], list[dict[str, Any]]], dict[str, Any]]
_LARGEST = 16 * 2**20  # bytes of a request that are read


def make_server(reply: Reply, port: int = 0, *, model: str = "afk") -> ThreadingHTTPServer:
    """A server whose model replies to messages and tools with an assistant's message; port 0 is any."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            """The models that there are."""
            self._send(200, {"object": "list", "data": [{"id": model, "object": "model"}]})

        def do_POST(self) -> None:
            """A completion."""
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(min(length, _LARGEST))
            if not self.path.endswith("/chat/completions"):
                return self._send(404, _error("there are chat completions only"))
            try:
                request = parse_json(body)
                messages, tools = request["messages"], request.get("tools") or []
                message = reply(messages, tools)
            except (ValueError, KeyError, TypeError) as error:
                return self._send(400, _error(" ".join(str(error).split())))
            self._send(200, _completion(model, messages, tools, message))

        def _send(self, status: int, content: dict[str, Any]) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    return ThreadingHTTPServer((HOST, port), Handler)


def count_tokens(text: str) -> int:
    """Words, numbers and marks: about what a tokeniser makes of plain English."""
    return len(re.findall(r"\w+|[^\w\s]", text))


def say(move: Move, tools: list[dict[str, Any]]) -> dict[str, Any]:
    """A move as an assistant's message: a tool call if there are tools, else text."""
    if not tools:
        return {"role": "assistant", "content": f"{move.tool}: {move.line}"}
    arguments = json.dumps({"question" if move.tool == "ask" else "action": move.line})
    function = {"name": move.tool, "arguments": arguments}
    call = {"id": f"call_{time.monotonic_ns():x}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


class ExpertModel:
    """The expert who reads as a model: it replies to the messages of any number of episodes."""

    def __init__(self) -> None:
        self._experts: dict[tuple[str, ...], Expert] = {}
        self._lock = threading.Lock()

    def __call__(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
        """The expert's next message; what it has read before it remembers, or reads again."""
        rules = messages[0]["content"]
        read = [each["content"] for each in messages[1:] if each["role"] in ("user", "tool")]
        with self._lock:
            expert = self._experts.pop((rules, *read[:-1]), None)
        if expert is None:
            expert = make_expert(rules)
            for observation in read[:-1]:
                expert.reply(observation)
        move = expert.reply(read[-1])
        with self._lock:
            self._experts[rules, *read] = expert
        return say(move, tools)


def _completion(
    model: str, messages: list[dict[str, Any]], tools: list[dict[str, Any]], message: dict[str, Any]
) -> dict[str, Any]:
    """An answer in the protocol."""
    prompt = count_tokens(json.dumps([messages, tools]))
    said = count_tokens(json.dumps([message.get("content"), message.get("tool_calls")]))
    reason = "tool_calls" if message.get("tool_calls") else "stop"
    return {
        "id": f"chatcmpl-{time.monotonic_ns():x}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": said, "total_tokens": prompt + said},
    }


def _error(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "code": None, "param": None}}
