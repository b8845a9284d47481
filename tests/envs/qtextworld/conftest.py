"""All tests play with a small bank of texts, or need the package that texts come from."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from ...text_bank import bank

__all__ = ["bank"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip everything here where the package is missing that the texts come from."""
    if find_spec("textworld") is None:
        skip = pytest.mark.skip(reason="textworld is not installed; it takes a C compiler")
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(skip)
