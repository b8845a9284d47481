"""The ``afk`` command, one file a command."""
