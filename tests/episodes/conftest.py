"""Text games are played with a small bank of texts."""

from ..text_bank import bank, kept

__all__ = ["bank", "kept"]
