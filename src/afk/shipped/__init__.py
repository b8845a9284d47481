"""Trained agents that come with the package; see `afk.experiments.shelf`."""
