"""What these tests share."""

from ..registries import registries

__all__ = ["registries"]
