"""Agents: they keep a notebook of what was answered, and decide to act or to ask."""
