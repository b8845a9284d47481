"""People who play: episodes under way, of which the server keeps the latest."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from afk.experiments.by_hand import HandPlay
from afk.experiments.recording import Recording
from afk.view.episode import Source, describe_diary, describe_ending, describe_now
from afk.view.library import play_by_hand

MOST_SESSIONS = 64
LONGEST_LINE = 200  # characters of a command or a question


class UnknownSessionError(ValueError):
    """There is no such session, or no longer."""


@dataclass
class Session:
    """Somebody's episode; the lock keeps steps one after the other."""

    source: Source
    hand: HandPlay
    lock: Lock = field(default_factory=Lock)

    def say(self, line: str) -> dict[str, Any]:
        """Carry out a line, and tell what came of it."""
        with self.lock:
            self.hand.say(_check_line(line))
            diary = self.hand.diary
            return {"moment": describe_now(diary), "ending": describe_ending(diary.record())}

    def describe(self) -> dict[str, Any]:
        """The whole episode so far."""
        with self.lock:
            return describe_diary(self.source, self.hand.diary)

    def record(self) -> Recording:
        """The same as a recording."""
        with self.lock:
            return self.hand.diary.record()


class Sessions:
    """The latest sessions; when there are too many, the one that was used longest ago is forgotten.

    Nothing is lost with it: the page knows all that was said, and begins anew with that.
    """

    def __init__(self, most: int = MOST_SESSIONS) -> None:
        self._most, self._lock = most, Lock()
        self._sessions: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def start(self, source: Source, lines: Sequence[str] = ()) -> tuple[str, Session]:
        """Begin an episode and carry some lines out; returns a name that nobody can guess as well."""
        hand = HandPlay(play_by_hand(source.task), seed=source.seed, level=source.level)
        for line in lines:
            hand.say(_check_line(line))
        name, session = secrets.token_urlsafe(16), Session(source, hand)
        with self._lock:
            self._sessions[name] = session
            while len(self._sessions) > self._most:
                del self._sessions[next(iter(self._sessions))]
        return name, session

    def find(self, name: str) -> Session:
        """The session of a name, which is the latest then."""
        with self._lock:
            if name not in self._sessions:
                raise UnknownSessionError("this game is no longer kept by the viewer; begin it anew")
            session = self._sessions.pop(name)
            self._sessions[name] = session
            return session


def _check_line(line: str) -> str:
    if len(line) > LONGEST_LINE:
        raise ValueError(f"a command or a question has at most {LONGEST_LINE} letters, not {len(line)}")
    return line
