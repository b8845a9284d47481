"""The key of a model's endpoint: it comes from the environment, and only the endpoint ever sees it."""

import os
from typing import Any
from urllib.parse import urlsplit

KEY_NAME = "OPENAI_API_KEY"
_SHORTEST = 8  # letters of a key that is hidden: shorter ones, such as x and null, are no secrets but words
_AT_HOME = ("127.0.0.1", "::1", "localhost")


def check_way(address: str) -> None:
    """A ValueError if there is a key, and others could read it on its way to an address."""
    parts = urlsplit(address)
    if read_key() and parts.scheme == "http" and parts.hostname not in _AT_HOME:
        raise ValueError(f"{KEY_NAME} is sent over https or to this machine only, not to {parts.hostname}")


def read_key() -> str:
    """The key, empty if there is none; a ValueError, which does not show it, if it cannot be one."""
    key = os.environ.get(KEY_NAME, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ValueError(f"{KEY_NAME} holds characters that no key has")
    return key


def key_header() -> dict[str, str]:
    """The header that holds the key; none without a key."""
    key = read_key()
    return {"Authorization": f"Bearer {key}"} if key else {}


def without_key(said: str) -> str:
    """A text of an endpoint, which may hold what it was sent; JSON is read first, or it would be spoilt."""
    key = read_key()
    return said.replace(key, "***") if len(key) >= _SHORTEST else said


def without_key_in(content: Any) -> Any:
    """JSON that was read, with every text of it `without_key`."""
    if isinstance(content, str):
        return without_key(content)
    if isinstance(content, list):
        return [without_key_in(each) for each in content]
    if isinstance(content, dict):
        return {without_key(name): without_key_in(each) for name, each in content.items()}
    return content
