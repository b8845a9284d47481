"""Tasks as data, and how their games are drawn."""
