"""``afk demo``."""

from afk.cli.options import SeedOption, make_console


def demo(seed: SeedOption = 0) -> None:
    """See a trained agent play and ask, and a small one learn to, in minutes."""
    from afk.cli.demonstration import show

    show(make_console(), seed=seed)
