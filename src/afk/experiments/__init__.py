"""Playing, measuring and recording."""
