"""Language models and people play, ask and are measured: one episode in text, and all that is built on it."""

from afk.play.player import Player

__all__ = ["Player"]
