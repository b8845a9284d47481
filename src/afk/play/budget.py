"""A budget of tokens that several threads share and never exceed."""

import json
import threading
from typing import Any

from afk.play.client import Endpoint, Reply

_PER_MESSAGE = 16  # tokens that a server may put around a message
_FIXED = 256  # and around a request


class BudgetSpentError(ValueError):
    """There are too few tokens left for another request."""


class Budget:
    """Counts tokens; before a request, as many as it may take at most are set aside.

    Attributes:
        spent: tokens of the requests that were answered.
    """

    def __init__(self, most: int | None = None, spent: int = 0) -> None:
        self._most, self.spent, self._aside, self._lock = most, spent, 0, threading.Lock()

    def complete(
        self, endpoint: Endpoint, messages: list[dict[str, Any]], tools: list[dict[str, Any]]
    ) -> Reply:
        """A completion, if there are enough tokens left for it whatever happens."""
        prompt = bound(messages, tools)
        most = prompt + endpoint.max_tokens
        with self._lock:
            if self._most is not None and self.spent + self._aside + most > self._most:
                raise BudgetSpentError(
                    f"the budget of {self._most:,} tokens is spent but for {self._most - self.spent:,}"
                )
            self._aside += most
        try:
            reply = endpoint.complete(messages, tools)
        finally:
            with self._lock:
                self._aside -= most
        # What a server does not count is taken to be as much as it can have been.
        read = prompt if reply.prompt_tokens is None else reply.prompt_tokens
        said = endpoint.max_tokens if reply.completion_tokens is None else reply.completion_tokens
        with self._lock:
            self.spent += read + said
        return reply._replace(prompt_tokens=read, completion_tokens=said)


def bound(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> int:
    """More tokens than a prompt can have: no token is shorter than a byte."""
    size = len(json.dumps([messages, tools], ensure_ascii=False).encode())
    return size + _PER_MESSAGE * len(messages) + _FIXED
