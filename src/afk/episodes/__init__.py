"""One episode at a time: traced, shown, drawn, and played by a person."""
