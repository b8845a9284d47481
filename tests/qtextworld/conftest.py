"""A small text bank for all tests, so that none of them touches the user's cache."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from afk.envs.qtextworld.bank import Bank, fill_bank
from afk.envs.qtextworld.grammar import expand_templates


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip everything here where the package is missing that the texts come from."""
    if find_spec("textworld") is None:
        skip = pytest.mark.skip(reason="textworld is not installed; it takes a C compiler")
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(skip)


@pytest.fixture(scope="session")
def bank() -> Bank:
    return fill_bank(expand_templates(96, seed=0, progress=lambda share: None))
