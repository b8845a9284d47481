"""A client of Chat Completions over HTTP, of the standard library: retries, rate limits, and no redirects."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from afk.files import parse_json
from afk.knowledge.keys import check_way, key_header, without_key, without_key_in

_LARGEST = 4 * 2**20  # bytes of a reply that are read
_LONGEST_WAIT = 120.0  # seconds that a server may make us wait before we try again
# What the most tokens of a reply are called. Newer models refuse the one; servers that do not know the other
# may pass over it, so that it is sent to who asks for it.
_LIMIT, _NEW_LIMIT = "max_tokens", "max_completion_tokens"
_NOT_NOW = (408, 409, 425, 429, 503)  # the statuses of requests that were not worked on


class Reply(NamedTuple):
    """What a model said.

    Attributes:
        message: the assistant's message.
        finish_reason: why it stopped.
        prompt_tokens: what the server counted; if it does not, None.
        completion_tokens: likewise.
        seconds: how long it took, waiting and retries included.
    """

    message: dict[str, Any]
    finish_reason: str
    prompt_tokens: int | None
    completion_tokens: int | None
    seconds: float


class TryAgain(Exception):  # noqa: N818  (caught where requests are tried)
    """Something that may go away.

    Attributes:
        after: how long the server says that takes.
        is_taken: whether the server may have worked on the request.
    """

    def __init__(self, why: str, after: float | None = None, *, is_taken: bool = True) -> None:
        super().__init__(why)
        self.after, self.is_taken = after, is_taken


Send = Callable[[], Reply]


def _send(send: Send) -> Reply:
    """Try once, and count nothing."""
    return send()


@dataclass(frozen=True)
class Endpoint:
    """A model behind an address.

    Attributes:
        base_url: what ``/chat/completions`` comes after, such as ``http://127.0.0.1:8000/v1``.
        model: its name.
        max_tokens: of a reply.
        temperature: what it is drawn with; None leaves that to the server.
        timeout: seconds that a request may take until it is tried again.
        tries: how often a request is tried.
        pause: seconds before the second try; twice as long before each that follows.
        sleep: how to wait.
    """

    base_url: str
    model: str
    max_tokens: int = 512
    temperature: float | None = None
    timeout: float = 120.0
    tries: int = 6
    pause: float = 1.0
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False, compare=False)
    _takes_new_limit: threading.Event = field(
        default_factory=threading.Event, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        address = urlsplit(self.base_url)
        if address.scheme not in ("http", "https") or not address.hostname or address.username:
            raise ValueError(
                f"--base-url is an address such as http://127.0.0.1:8000/v1, not {_host_of(self.base_url)!r}"
            )
        check_way(self.base_url)

    def complete(
        self,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]],
        *,
        attempt: Callable[[Send], Reply] = _send,
    ) -> Reply:
        """The model's next message; a ValueError of one line if there is none to be had.

        Args:
            messages: what was said.
            tools: what may be called.
            attempt: each try goes through it: it sends the request, and passes on what comes of that.
        """
        body: dict[str, Any] = {"model": self.model, "messages": messages}
        body |= {"temperature": self.temperature} if self.temperature is not None else {}
        body |= {"tools": tools} if tools else {}
        start, pause, problem = time.monotonic(), self.pause, ""

        def send() -> Reply:
            limit = _NEW_LIMIT if self._takes_new_limit.is_set() else _LIMIT
            return _read(self._post(body | {limit: self.max_tokens}), time.monotonic() - start)

        for number in range(self.tries):
            try:
                return attempt(send)
            except TryAgain as again:
                problem = str(again)
                if number + 1 < self.tries:
                    self.sleep(min(pause if again.after is None else again.after, _LONGEST_WAIT))
                pause *= 2
        raise ValueError(f"{self.model} did not answer after {self.tries} tries: {problem}")

    def _post(self, body: dict[str, Any]) -> str:
        """The body of the answer to a request."""
        address = urlsplit(self.base_url)
        kind = HTTPSConnection if address.scheme == "https" else HTTPConnection
        headers = {"Content-Type": "application/json"} | key_header()
        connection = kind(address.hostname or "", address.port, timeout=self.timeout)
        is_late = threading.Event()
        try:
            connection.connect()
        except OSError as error:
            connection.close()
            raise TryAgain(f"{type(error).__name__} at {address.hostname}", is_taken=False) from error
        try:
            with _ended_after(self.timeout, connection.sock, is_late):
                path = f"{address.path.rstrip('/')}/chat/completions"
                connection.request("POST", path, json.dumps(body).encode(), headers)
                with connection.getresponse() as response:
                    content = response.read(_LARGEST + 1)
        except (OSError, HTTPException) as error:
            why = "no whole answer in time" if is_late.is_set() else type(error).__name__
            raise TryAgain(f"{why} at {address.hostname}") from error
        finally:
            connection.close()
        if is_late.is_set():
            raise TryAgain(f"no whole answer in time at {address.hostname}")
        if len(content) > _LARGEST:
            raise TryAgain(f"a reply of more than {_LARGEST:,} bytes")
        said = content.decode(errors="replace")
        if response.status == 400 and _LIMIT in body and _NEW_LIMIT in said:
            self._takes_new_limit.set()
            raise TryAgain(f"it wants {_NEW_LIMIT}", after=0.0, is_taken=False)
        return _check(response, said)


@contextmanager
def _ended_after(seconds: float, sock: socket.socket, is_late: threading.Event) -> Iterator[None]:
    """End a connection if the block takes longer: a socket's own timeout begins again with every byte."""

    def end() -> None:
        is_late.set()
        with suppress(OSError):  # the other side was quicker
            socket.socket.shutdown(sock, socket.SHUT_RDWR)  # of TLS, too, without a word to its layer

    alarm = threading.Timer(seconds, end)
    alarm.daemon = True
    alarm.start()
    try:
        yield
    finally:
        alarm.cancel()


def _check(response: HTTPResponse, content: str) -> str:
    """The content of a good answer; what else there is is raised."""
    if response.status == 200:
        return content
    why = f"{response.status} {without_key(response.reason)}: {' '.join(without_key(content)[:300].split())}"
    if response.status in _NOT_NOW or response.status >= 500:
        after = _wait_of(response.getheader("Retry-After"))
        raise TryAgain(why, after, is_taken=response.status not in _NOT_NOW)
    raise ValueError(f"the server refused: {why}")


def _wait_of(header: str | None) -> float | None:
    """The seconds that a ``Retry-After`` header asks for: a number, or a date."""
    if header is None:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except ValueError:
        return None


def _read(content: str, seconds: float) -> Reply:
    """The reply in the body of an answer."""
    try:
        answer = without_key_in(parse_json(content))
        choice = answer["choices"][0]
        message = choice["message"]
        usage = answer.get("usage") or {}
        counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
        counts = [count if isinstance(count, int) and count >= 0 else None for count in counts]
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise TryAgain("the answer is no chat completion") from error
    if not isinstance(message, dict):
        raise TryAgain("the answer holds no message")
    return Reply(message, str(choice.get("finish_reason")), counts[0], counts[1], seconds)


def _host_of(text: str) -> str:
    """An address as it may be shown: without what stands before an @."""
    return text.rpartition("@")[2]
