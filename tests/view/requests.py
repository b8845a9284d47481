"""What tests of the viewer send to it, and a server to send it to."""

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

import httpx
import uvicorn

from afk.view.library import Library
from afk.view.server import make_app

GRID, TEXT = "qbabyai/danger", "qtextworld/take-1"
JSON = {"content-type": "application/json"}


@contextmanager
def served(library: Library) -> Iterator[str]:
    """A server in a thread, on any free port; gives the address of its page."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(make_app(library), log_level="critical"))
    thread = Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()
        # It has been at work on this since it started; a thread that compiles as Python ends brings it down.
        library.record(library.first())


def watch(client: httpx.Client, **fields: Any) -> dict[str, Any]:
    """An episode of the expert, if nobody else is named."""
    answer = client.get("api/episode", params={"agent": "expert", "seed": 0, "level": 0} | fields)
    assert answer.status_code == 200, answer.text
    return answer.json()


def start(client: httpx.Client, task: str = GRID, **fields: Any) -> dict[str, Any]:
    """A game that has begun."""
    answer = client.post("api/play", json={"task": task, "seed": 0, "level": 0, **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()


def check_refusal(answer: httpx.Response, status: int, said: str) -> None:
    """Whether something is refused in one sentence that says it, and nothing of our insides."""
    assert answer.status_code == status, answer.text
    (sentence,) = answer.json().values()
    assert re.search(said, sentence) and "\n" not in sentence and "Traceback" not in answer.text


def send_raw(address: str, content: bytes, *, hang_up: bool = False) -> bytes:
    """What the server answers to bytes that no client would send."""
    url = httpx.URL(address)
    with socket.create_connection((url.host, url.port or 80), timeout=20) as connection:
        connection.sendall(content)
        if hang_up:
            connection.shutdown(socket.SHUT_WR)
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)
