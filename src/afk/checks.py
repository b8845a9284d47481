"""Checks that settings of several kinds have in common."""

from typing import Any


def check_counts(settings: Any, *names: str) -> None:
    """A ValueError if a field of that name, of which there must be one at least, is less."""
    for name in names:
        if getattr(settings, name) < 1:
            raise ValueError(f"{name} is at least 1, not {getattr(settings, name)}")


def check_shares(settings: Any, *names: str) -> None:
    """A ValueError if a field of that name is not a part of the whole."""
    for name in names:
        if not 0 <= getattr(settings, name) <= 1:
            raise ValueError(f"{name} is a share from 0 to 1, not {getattr(settings, name)}")
