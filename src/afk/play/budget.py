"""A budget of tokens that several threads share and never exceed."""

import json
import threading
from pathlib import Path
from typing import Any

from afk.files import read_object, write_json
from afk.play.client import Endpoint, Reply, Send, TryAgain

_PER_MESSAGE = 16  # tokens that a server may put around a message
_FIXED = 256  # and around a request


class BudgetSpentError(ValueError):
    """There are too few tokens left for another request."""


class Budget:
    """Counts tokens; before a request is tried, as many as that may take at most are set aside.

    A try that failed after the server may have worked on it has taken as many. A file says at any moment what
    is spent or set aside, so that who goes on after a process was killed exceeds nothing either.
    """

    def __init__(self, most: int | None = None, path: Path | None = None, *, spent: int = 0) -> None:
        """Open a budget.

        Args:
            most: how many tokens there are; no end of them if None.
            path: the file, which is gone on with if it is there.
            spent: what was spent before there was a file.
        """
        self._most, self._path, self._aside, self._lock = most, path, 0, threading.Lock()
        self._spent = spent if path is None or not path.exists() else _read_spent(path)

    @property
    def spent(self) -> int:
        """Tokens of the requests that are over."""
        return self._spent

    def complete(
        self, endpoint: Endpoint, messages: list[dict[str, Any]], tools: list[dict[str, Any]]
    ) -> Reply:
        """A completion, if there are enough tokens left for it whatever happens."""
        prompt = bound(messages, tools)
        most = prompt + endpoint.max_tokens

        def attempt(send: Send) -> Reply:
            self._set_aside(most)
            taken = most
            try:
                reply = send()
                # What a server does not count is taken to be as much as it can have been.
                read = prompt if reply.prompt_tokens is None else reply.prompt_tokens
                said = endpoint.max_tokens if reply.completion_tokens is None else reply.completion_tokens
                taken = read + said
                return reply._replace(prompt_tokens=read, completion_tokens=said)
            except TryAgain as again:
                taken = most if again.is_taken else 0
                raise
            except ValueError:  # it was refused
                taken = 0
                raise
            finally:
                self._settle(most, taken)

        return endpoint.complete(messages, tools, attempt=attempt)

    def _set_aside(self, most: int) -> None:
        """Keep tokens for a request."""
        with self._lock:
            if self._most is not None and self._spent + self._aside + most > self._most:
                raise BudgetSpentError(
                    f"the budget of {self._most:,} tokens is spent but for {self._most - self._spent:,}"
                )
            self._aside += most
            self._write_down()

    def _settle(self, most: int, taken: int) -> None:
        """Put back what a request did not take of the tokens that were kept for it."""
        with self._lock:
            self._aside -= most
            self._spent += taken
            self._write_down()

    def _write_down(self) -> None:
        if self._path is not None:
            write_json(self._path, {"tokens": self._spent + self._aside})


def _read_spent(path: Path) -> int:
    """What a file says was spent; a ValueError if it is damaged."""
    tokens = read_object(path).get("tokens")
    if not isinstance(tokens, int) or tokens < 0:
        raise ValueError(f"{path} cannot be read: it holds no number of tokens")
    return tokens


def bound(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> int:
    """More tokens than a prompt can have: no token is shorter than a byte."""
    size = len(json.dumps([messages, tools], ensure_ascii=False).encode())
    return size + _PER_MESSAGE * len(messages) + _FIXED
