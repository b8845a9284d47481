"""``afk play``."""

from typing import Annotated

import typer

from afk.cli.options import SeedOption, make_console


def play(
    task: Annotated[
        str, typer.Argument(help="What to play, a name or letters; `afk tasks` lists the tasks.")
    ],
    seed: SeedOption = 0,
) -> None:
    """Play a task yourself, in the terminal."""
    from afk.envs.registry import make
    from afk.episodes.prompt import play as play_episode

    play_episode(make_console(), make(task), seed=seed)
