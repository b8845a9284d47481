"""``python -m afk`` is the ``afk`` command."""

from afk.cli.main import main

if __name__ == "__main__":
    main()
