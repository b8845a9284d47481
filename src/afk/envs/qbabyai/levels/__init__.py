"""Tasks as data, and how their levels are drawn."""
