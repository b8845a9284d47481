"""Servers of Chat Completions in this process, for tests, and what is said to them."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from rich.console import Console

from afk.play.client import Endpoint
from afk.play.evaluation import Settings, evaluate_model
from afk.play.serving import Reply, make_server

BODY = "body"  # the name of what came after the headers of a request, among them
TOOL_CALL = {"id": "a", "type": "function"}


def say(content: Any, **more: Any) -> dict[str, Any]:
    """An assistant's message."""
    return {"role": "assistant", "content": content, **more}


def call(name: Any, arguments: Any) -> dict[str, Any]:
    """A message that calls a tool."""
    return say(None, tool_calls=[{**TOOL_CALL, "function": {"name": name, "arguments": arguments}}])


def evaluate(
    reply: Reply,
    folder: Path,
    *,
    budget: int | None = None,
    statuses: Iterator[int] | None = None,
    at_once: int = 4,
    console: Console | None = None,
    **settings: Any,
) -> dict[str, Any]:
    """What comes of a model on two levels, if nothing else is said."""
    with served(reply, statuses) as address:
        endpoint = Endpoint(address, "model", sleep=lambda seconds: None)
        chosen = Settings("model", "C", **{"episodes": 2, **settings})
        return evaluate_model(chosen, endpoint, folder, budget=budget, at_once=at_once, console=console)


def lines_of(folder: Path) -> list[dict[str, Any]]:
    """All lines of the transcripts in a folder."""
    return [
        json.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in path.read_text().splitlines()
    ]


@contextmanager
def served(reply: Reply, statuses: Iterator[int] | None = None) -> Iterator[str]:
    """A server on this machine while the block runs; its address. Other statuses than 200 it ends with."""
    with make_server(reply) as server:
        if statuses is not None:
            server.RequestHandlerClass = _moody(server.RequestHandlerClass, statuses)
        with _running(server):
            yield f"http://127.0.0.1:{server.server_port}/v1"


@contextmanager
def _running(server: ThreadingHTTPServer) -> Iterator[None]:
    """Serve while the block runs, whatever comes of it: a thread that outlives its server's socket spins."""
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()


def _moody(handler: Any, statuses: Iterator[int]) -> Any:
    """A handler that refuses requests with these statuses; those with 200 it lets through."""

    class Moody(handler):
        def do_POST(self) -> None:  # noqa: N802
            status = next(statuses)
            if status == 200:
                return super().do_POST()
            self.rfile.read(int(self.headers["Content-Length"]))
            self._send(status, {"error": {"message": "not now"}})

    return Moody


@contextmanager
def rude(
    *answers: tuple[int, dict[str, str], bytes], pause: float = 0.0
) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """A server that gives these answers in turn, the last for ever; its address, and headers that came.

    With a pause it lets so many seconds go by before each byte.
    """
    seen: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = self.rfile.read(int(self.headers["Content-Length"]))
            status, headers, body = answers[min(len(seen), len(answers) - 1)]
            seen.append(dict(self.headers) | {BODY: asked.decode()})
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(OSError):  # whoever asked has hung up
                for part in [body] if pause == 0 else map(bytes, zip(body, strict=False)):
                    time.sleep(pause)
                    self.wfile.write(part)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server, _running(server):
        yield f"http://127.0.0.1:{server.server_port}", seen
