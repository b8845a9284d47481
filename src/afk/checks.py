"""Checks that settings of several kinds have in common."""

from typing import Any


def check_counts(settings: Any, *names: str) -> None:
    """A ValueError if a field of that name, of which there must be one at least, is less."""
    for name in names:
        if getattr(settings, name) < 1:
            raise ValueError(f"{name} is at least 1, not {getattr(settings, name)}")
