"""A viewer that runs in this process, with short texts of our own for Q-TextWorld."""

from collections.abc import Iterator

import httpx
import pytest

from afk.envs.qtextworld.levels.bank import Bank
from afk.view.library import Library

from ..small_games import small_bank
from .requests import served


@pytest.fixture(scope="session")
def short_bank() -> Bank:
    """One for all: games of equal texts share compiled programs."""
    return small_bank()


@pytest.fixture(scope="module")
def short_texts(short_bank: Bank) -> Iterator[None]:
    """Games with texts that need neither `textworld` nor anybody's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("afk.envs.qtextworld.environment.load_bank", lambda: short_bank)
        yield


@pytest.fixture(scope="session")
def one_viewer() -> Iterator[str]:
    """The server that the tests of this process share; what it has played once it keeps."""
    with served(Library()) as address:
        yield address


@pytest.fixture(scope="module")
def viewer(short_texts: None, one_viewer: str) -> str:
    """The address of the page."""
    return one_viewer


@pytest.fixture(scope="module")
def client(viewer: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=viewer, timeout=60) as client:
        yield client
