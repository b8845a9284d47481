"""The server of `afk view`: a page, episodes as JSON, HTML and GIF, and games that people play."""

import errno
import json
import os
import re
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from threading import Thread
from typing import Any, TypeVar

import uvicorn
from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from afk.episodes.trace import Trace
from afk.view.episode import Source
from afk.view.guard import Guard, as_error, read_object, say_mistake, say_refusal, say_status
from afk.view.library import Library
from afk.view.page import export_page, serve_page
from afk.view.sessions import Session, Sessions, UnknownSessionError

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})  # what only this machine can reach
_LOCAL_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})  # the same, as addresses of pages have it
_STEPS_AT_ONCE, _EPISODES_AT_ONCE = 2, 2  # threads: a long episode must not keep others from their next step
_MOST_WAITING = 64  # requests in line for either; more are sent away
Value = TypeVar("Value")


class BusyError(Exception):
    """Too many requests are in line."""


class Viewer:
    """What requests are answered with; all that takes time is done in threads."""

    def __init__(self, library: Library, sessions: Sessions) -> None:
        self.library, self.sessions = library, sessions
        self._steps, self._episodes = CapacityLimiter(_STEPS_AT_ONCE), CapacityLimiter(_EPISODES_AT_ONCE)

    async def show_page(self, request: Request) -> Response:
        """The page itself."""
        del request
        return HTMLResponse(serve_page())

    async def describe(self, request: Request) -> Response:
        """What there is to choose from."""
        del request
        return _as_json(await _run(self._steps, self.library.describe))

    async def show_episode(self, request: Request) -> Response:
        """An episode of an agent."""
        source = _read_source(request.query_params)
        return _as_json(await _run(self._episodes, lambda: self.library.describe_episode(source)))

    async def export_episode(self, request: Request) -> Response:
        """An episode of an agent as a file."""
        source = _read_source(request.query_params)
        return await self._export(
            request.path_params["kind"],
            source,
            lambda: self.library.describe_episode(source),
            lambda: self.library.record(source)[1],
        )

    async def start_session(self, request: Request) -> Response:
        """Begin to play."""
        content = await read_object(request)
        lines = content.get("lines", [])
        if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
            raise ValueError("`lines` is a list of commands and questions")
        source = self.library.check(_read_source({**content, "agent": ""}), by_hand=True)
        name, session = await _run(self._episodes, lambda: self.sessions.start(source, lines))
        return _as_json({"session": name, "episode": await _run(self._steps, session.describe)})

    async def say(self, request: Request) -> Response:
        """Carry out a command or a question."""
        session = self._find_session(request)
        line = (await read_object(request)).get("line")
        if not isinstance(line, str):
            raise ValueError("`line` is a command or a question in words")
        return _as_json(await _run(self._steps, lambda: session.say(line)))

    async def export_session(self, request: Request) -> Response:
        """A game as a file."""
        session = self._find_session(request)
        return await self._export(
            request.path_params["kind"], session.source, session.describe, session.record
        )

    def _find_session(self, request: Request) -> Session:
        return self.sessions.find(request.path_params["session"])

    async def _export(
        self,
        kind: str,
        source: Source,
        describe: Callable[[], dict[str, Any]],
        record: Callable[[], Trace],
    ) -> Response:
        """An episode as one file, HTML or GIF."""
        if kind not in ("html", "gif"):
            raise HTTPException(404)
        if kind == "html":
            content = await _run(self._episodes, lambda: export_page(describe()).encode())
        else:
            content = await _run(self._episodes, lambda: _draw(record()))
        parts = (source.task, source.agent or "by-hand", source.seed, source.level)
        name = re.sub(r"[^a-z0-9]+", "-", "-".join(["afk", *map(str, parts)]).lower())
        headers = {"content-disposition": f'attachment; filename="{name}.{kind}"'}
        return Response(content, media_type={"html": "text/html", "gif": "image/gif"}[kind], headers=headers)


def _draw(trace: Trace) -> bytes:
    """An episode as a GIF; what draws it takes long to import."""
    from afk.episodes.gif import draw_gif

    return draw_gif(trace)


def make_app(
    library: Library, *, sessions: Sessions | None = None, hosts: frozenset[str] | None = _LOCAL_NAMES
) -> Starlette:
    """The application.

    Args:
        library: tasks and agents.
        sessions: where games are kept.
        hosts: the names that it may be called by; any if nothing.
    """
    viewer = Viewer(library, sessions or Sessions(asking=library.asking))

    @asynccontextmanager
    async def warm_up(app: Starlette) -> AsyncIterator[None]:
        """Have the first episode ready before somebody asks for it."""
        del app
        Thread(target=partial(_try, lambda: library.record(library.first())), daemon=True).start()
        yield

    return Starlette(
        routes=[
            Route("/", viewer.show_page),
            Mount("/static", StaticFiles(directory=str(files("afk.view") / "static"))),
            Route("/api/about", viewer.describe),
            Route("/api/episode", viewer.show_episode),
            Route("/episode.{kind}", viewer.export_episode),
            Route("/api/play", viewer.start_session, methods=["POST"]),
            Route("/api/play/{session}", viewer.say, methods=["POST"]),
            Route("/play/{session}/episode.{kind}", viewer.export_session),
        ],
        middleware=[Middleware(Guard, hosts=hosts), Middleware(GZipMiddleware, minimum_size=2048)],
        exception_handlers={
            UnknownSessionError: lambda _, error: as_error(404, str(error)),
            BusyError: lambda _, error: as_error(503, str(error)),
            ValueError: say_refusal,
            HTTPException: say_status,
            Exception: say_mistake,
        },
        lifespan=warm_up,
    )


def serve(library: Library, *, host: str, port: int, announce: Callable[[str], None]) -> None:
    """Serve until somebody presses Ctrl-C; a ValueError if the host or the port cannot be had.

    Args:
        library: tasks and agents.
        host: the address to listen at.
        port: the port; any that is free if 0.
        announce: is given the address of the page.
    """
    listener = _listen(host, port)
    app = make_app(library, hosts=_LOCAL_NAMES if host in LOOPBACK else None)
    announce(f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}/")
    config = uvicorn.Config(app, log_level="warning", limit_concurrency=256, timeout_keep_alive=30)
    uvicorn.Server(config).run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    """A socket at an address of this machine; a ValueError that says whether host or port is to blame."""
    if not host:
        raise ValueError("--host is empty; it is an address of this machine, such as 127.0.0.1")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        socket.getaddrinfo(host, port, family)  # what makes a server says of any error that it is its own
        return socket.create_server((host, port), family=family)
    except (socket.gaierror, ValueError) as error:
        raise ValueError(
            f"the host {host!r} cannot be resolved; --host is an address of this machine, such as 127.0.0.1"
        ) from error
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:
            raise ValueError(f"--host is an address of this machine, which {host} is not") from error
        reason = os.strerror(error.errno) if error.errno else error
        raise ValueError(f"cannot listen at {host}, port {port}: {reason}; --port names another") from error


def _read_source(fields: Mapping[str, Any]) -> Source:
    """Where an episode is to come from; a ValueError if a part is missing or of the wrong kind."""
    task, agent = fields.get("task"), fields.get("agent")
    if not isinstance(task, str) or not isinstance(agent, str):
        raise ValueError("say which task, and which agent plays it")
    return Source(task, agent, _read_number("seed", fields), _read_number("level", fields))


def _read_number(name: str, fields: Mapping[str, Any]) -> int:
    given = fields.get(name, 0)
    text = str(given)
    if isinstance(given, bool | float) or not re.fullmatch(r"[0-9]{1,12}", text, re.ASCII):
        raise ValueError(f"the {name} is a number such as 7, not {text[:40]!r}")
    return int(text)


async def _run(limiter: CapacityLimiter, work: Callable[[], Value]) -> Value:
    """Do work in a thread, when it is its turn."""
    if limiter.statistics().tasks_waiting >= _MOST_WAITING:
        raise BusyError("too many people are waiting for the viewer; try again in a moment")
    return await to_thread.run_sync(work, limiter=limiter)


def _as_json(content: Any) -> Response:
    return Response(json.dumps(content, separators=(",", ":")), media_type="application/json")


def _try(work: Callable[[], Any]) -> None:
    """Do what somebody will ask for later; what goes wrong is said to them."""
    try:
        work()
    except Exception:
        return
