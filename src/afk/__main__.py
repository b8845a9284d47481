"""``python -m afk`` is the ``afk`` command."""

from afk.cli import main

if __name__ == "__main__":
    main()
