"""The grid world: its cells, its state, its rules, and what is seen of it."""
