"""A viewer that runs in this process, with short texts of our own for Q-TextWorld."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pytest
import uvicorn

from afk.experiments import config
from afk.view.library import Library
from afk.view.server import make_app

from ..small_games import small_bank


@pytest.fixture(scope="module")
def short_texts() -> Iterator[None]:
    """Games with texts that need neither `textworld` nor anybody's cache."""
    bank = small_bank()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("afk.envs.qtextworld.environment.load_bank", lambda: bank)
        config._make_play.cache_clear()
        yield
    config._make_play.cache_clear()


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


@pytest.fixture(scope="module")
def viewer(short_texts: None) -> Iterator[str]:
    with served(Library()) as address:
        yield address
