"""Ids that are known for one test, and texts in a cache folder of the tests' own."""

from collections.abc import Iterator
from importlib.util import find_spec

import gymnasium
import pytest

from afk.envs.adapters.gymnasium import register_all
from afk.envs.qtextworld.levels import bank as bank_module


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Ids that are known for one test, and windows that open nowhere."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    before = set(gymnasium.registry)
    register_all()
    yield
    for name in set(gymnasium.registry) - before:
        del gymnasium.registry[name]


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A small text bank in a cache folder of its own."""
    if find_spec("textworld") is None:
        pytest.skip("textworld is not installed; it takes a C compiler")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(bank_module, "VARIANTS", 96)
        yield
