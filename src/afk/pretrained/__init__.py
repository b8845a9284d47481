"""Trained agents that come with the package; see `afk.training.pretrained`."""
