"""Asking for Knowledge: environments that answer, and agents that learn when and what to ask."""

__version__ = "0.1.0"
