"""The endpoint of a language model: where it is."""

import os
from urllib.parse import urlsplit

from afk.knowledge.keys import check_way

_DEFAULT_ADDRESS = "https://api.openai.com/v1"


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
