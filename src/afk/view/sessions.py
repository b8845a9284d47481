"""People who play: episodes under way, of which the server keeps the latest."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from afk.envs.asking import PAPERS_ORACLE, Asking
from afk.episodes.interactive import InteractiveEpisode
from afk.episodes.trace import Trace
from afk.training.build import play_by_plan
from afk.view.episode import Source, describe_ending, describe_now, describe_tracer

MOST_SESSIONS = 64
LONGEST_LINE = 200  # characters of a command or a question


class UnknownSessionError(ValueError):
    """There is no such session, or no longer."""


@dataclass
class Session:
    """Somebody's episode; the lock keeps steps one after the other."""

    source: Source
    game: InteractiveEpisode
    lock: Lock = field(default_factory=Lock)

    def say(self, line: str) -> dict[str, Any]:
        """Carry out a line, and tell what came of it."""
        with self.lock:
            self.game.say(_check_line(line))
            tracer = self.game.tracer
            return {"moment": describe_now(tracer), "ending": describe_ending(tracer.record())}

    def describe(self) -> dict[str, Any]:
        """The whole episode so far."""
        with self.lock:
            return describe_tracer(self.source, self.game.tracer)

    def record(self) -> Trace:
        """The same as a trace."""
        with self.lock:
            return self.game.tracer.record()


class Sessions:
    """The latest sessions; when there are too many, the one that was used longest ago is forgotten.

    Nothing is lost with it: the page knows all that was said, and begins anew with that.
    """

    def __init__(self, most: int = MOST_SESSIONS, asking: Asking = PAPERS_ORACLE) -> None:
        self._asking = asking
        self._most, self._lock = most, Lock()
        self._sessions: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def start(self, source: Source, lines: Sequence[str] = ()) -> tuple[str, Session]:
        """Begin an episode and carry some lines out; returns a name that nobody can guess as well."""
        play = play_by_plan(source.task, self._asking)
        game = InteractiveEpisode(play, seed=source.seed, level=source.level)
        for line in lines:
            game.say(_check_line(line))
        name, session = secrets.token_urlsafe(16), Session(source, game)
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
