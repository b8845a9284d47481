"""Queryable environments: they emit what is seen and what was answered, and know nothing of agents."""
