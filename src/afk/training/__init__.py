"""Training one run: its configuration, its loop, its evaluation, its checkpoints."""
