"""What these tests share."""

from ..text_bank import bank, kept

__all__ = ["bank", "kept"]
