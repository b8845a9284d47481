"""Checks that settings of several kinds have in common; each is a ValueError of one line."""

import sys
from dataclasses import fields
from typing import Any, TypeGuard

MOST = 1_000_000  # of anything that is counted, where nothing else is said
_KINDS: dict[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a finite number",
    str: "a text",
    tuple[int, ...]: "a list of whole numbers",
    tuple[str, ...]: "a list of texts",
}


def is_number(value: Any, *, whole: bool = False) -> TypeGuard[float]:
    """Whether a value out of JSON is a number that can be computed with; truth values are none.

    Args:
        value: anything.
        whole: whether it has to be an int.
    """
    # Compared as it is: a huge int cannot be made a float.
    kinds = int if whole else int | float
    return isinstance(value, kinds) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def check_types(settings: Any) -> None:
    """Refuse a field of a dataclass that is not what its annotation says; a whole number may be a float.

    Fields whose annotation is no plain type are left to whoever made the class.
    """
    for each in fields(settings):
        value = getattr(settings, each.name)
        if each.type in _KINDS and not _is_kind(value, each.type):
            shown = repr(value) if len(repr(value)) < 80 else f"{repr(value)[:77]}..."
            raise ValueError(f"{each.name} is {_KINDS[each.type]}, not {shown}")


def _is_kind(value: Any, kind: Any) -> bool:
    if kind in (int, float):
        return is_number(value, whole=kind is int)
    if kind in (bool, str):
        return isinstance(value, kind)
    inner = int if kind == tuple[int, ...] else str
    return isinstance(value, tuple) and all(_is_kind(each, inner) for each in value)


def check_counts(settings: Any, *names: str, least: int = 1, most: int = MOST) -> None:
    """Refuse a field of that name, which counts something, outside of a range."""
    for name in names:
        value = getattr(settings, name)
        if value < least:
            raise ValueError(f"{name} is at least {least}, not {value}")
        if value > most:
            raise ValueError(f"{name} is at most {most:,}, not {value:,}")


def check_shares(settings: Any, *names: str) -> None:
    """Refuse a field of that name that is not a part of the whole."""
    for name in names:
        if not 0 <= getattr(settings, name) <= 1:
            raise ValueError(f"{name} is a share from 0 to 1, not {getattr(settings, name)}")
