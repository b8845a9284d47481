"""A small bank of TextWorld's own texts, so that no test touches the user's cache.

Folders whose tests need it name these fixtures in their ``conftest.py``.
"""

from importlib.util import find_spec

import pytest

from afk.envs.qtextworld.levels import bank as bank_module
from afk.envs.qtextworld.levels.bank import Bank, fill_bank
from afk.envs.qtextworld.levels.grammar import expand_templates

__all__ = ["bank", "kept"]


@pytest.fixture(scope="session")
def bank() -> Bank:
    """The texts; whoever needs them is skipped where the package is missing that they come from."""
    if find_spec("textworld") is None:
        pytest.skip("textworld is not installed; it takes a C compiler")
    return fill_bank(expand_templates(96, seed=0, progress=lambda share: None))


@pytest.fixture
def kept(bank: Bank, monkeypatch: pytest.MonkeyPatch) -> Bank:
    """The small bank as the one that is in the cache."""
    monkeypatch.setattr(bank_module, "_kept_bank", lambda path: bank)
    return bank
