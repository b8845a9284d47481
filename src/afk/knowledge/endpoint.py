"""The endpoint of a language model: where it is, and how something is sent there and comes back."""

import json
import os
import re
import urllib.error
import urllib.request
from concurrent.futures import Future
from http.client import HTTPException
from threading import Thread
from typing import IO, Any, NamedTuple
from urllib.parse import urlsplit

from afk.knowledge.keys import check_way, key_header, without_key

_DEFAULT_ADDRESS = "https://api.openai.com/v1"
# What newer models refuse, and what they take in its place, if anything.
_REPLACED = {"max_tokens": "max_completion_tokens", "max_completion_tokens": None, "temperature": None}
_LARGEST, _LONGEST_REASON = 1_000_000, 100  # bytes of a page that are read, and letters that say why


class Page(NamedTuple):
    """What an endpoint answers: the number and the reason of its status, and the text."""

    status: int
    reason: str
    text: str


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Goes nowhere else: the key, and what is asked, are for the endpoint."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """No request."""


def read_address() -> str:
    """The address of the endpoint; a ValueError if it makes no sense, or if the key may not be sent there."""
    address = (os.environ.get("OPENAI_BASE_URL") or _DEFAULT_ADDRESS).rstrip("/")
    if not _is_address(address):
        raise ValueError("OPENAI_BASE_URL is an address such as http://127.0.0.1:8000/v1")
    check_way(address)
    return address


def _is_address(text: str) -> bool:
    """Whether a text is an address, in which neither a user nor a password stands."""
    if not text.isascii() or not text.isprintable() or " " in text:
        return False
    try:
        parts = urlsplit(text)
        is_port = parts.port is None or parts.port > 0
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and is_port and parts.username is None


def without_refused(content: dict[str, Any], complaint: str) -> dict[str, Any] | None:
    """A request as an endpoint may take it that complains of some of its parameters; None if of no other.

    Args:
        content: the request that it answered with status 400.
        complaint: what it said then.
    """
    changed: dict[str, Any] = {}
    for name, value in content.items():
        if name not in _REPLACED or not re.search(rf"\b{name}\b", complaint):
            changed[name] = value
        elif other := _REPLACED[name]:
            changed[other] = value
    return None if changed == content else changed


def post(address: str, content: dict[str, Any], seconds: float) -> Page:
    """Send JSON to an address, and read what comes back.

    Time is counted until all of it is there: a server may send a byte now and then for ever.

    Raises:
        ConnectionError: of one line, if nothing comes back in time, or nothing that is HTTP.
    """
    headers = {"Content-Type": "application/json"} | key_header()
    request = urllib.request.Request(address, json.dumps(content).encode(), headers, method="POST")
    page: Future[Page] = Future()

    def read() -> None:
        try:
            page.set_result(_read(request, seconds))
        except Exception as error:
            page.set_exception(error)

    Thread(target=read, daemon=True).start()
    try:
        return page.result(timeout=seconds)
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", error)
        if isinstance(error, TimeoutError) or isinstance(reason, TimeoutError):
            raise ConnectionError(f"gave no answer within {seconds:g} seconds") from None
        if isinstance(error, OSError):
            raise ConnectionError(f"cannot be reached: {_shorten(str(reason))}") from error
        raise ConnectionError("answers something that is no HTTP") from error


def _read(request: urllib.request.Request, seconds: float) -> Page:
    """What an endpoint answers; without encryption it is on this machine, and no proxy hears the key."""
    unproxied = [urllib.request.ProxyHandler({})] if request.type == "http" else []
    opener = urllib.request.build_opener(_NoRedirects, *unproxied)
    try:
        with opener.open(request, timeout=seconds) as reply:
            return Page(reply.status, _shorten(reply.reason), _text_of(reply))
    except urllib.error.HTTPError as error:
        with error:
            return Page(error.code, _shorten(str(error.reason)), _text_of(error))


def _text_of(reply: IO[bytes]) -> str:
    """What a reply holds."""
    return reply.read(_LARGEST).decode(errors="replace")


def _shorten(reason: str) -> str:
    """A reason in one line, without the key."""
    return without_key(" ".join(reason.split()))[:_LONGEST_REASON]
