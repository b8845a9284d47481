"""``afk play``."""

from typing import Annotated

import typer

from afk.cli.options import (
    BudgetOption,
    LiesOption,
    PriceOption,
    SeedOption,
    SilenceOption,
    SourceOption,
    make_console,
    read_asking,
)


def play(
    task: Annotated[
        str, typer.Argument(help="What to play, a name or letters; `afk tasks` lists the tasks.")
    ],
    seed: SeedOption = 0,
    source: SourceOption = "oracle",
    price: PriceOption = None,
    question_budget: BudgetOption = None,
    lies: LiesOption = None,
    silence: SilenceOption = None,
) -> None:
    """Play a task yourself, in the terminal."""
    from afk.envs.registry import make
    from afk.episodes.prompt import play as play_episode

    env = read_asking(source, price, question_budget, lies, silence).put_into(make(task))
    play_episode(make_console(), env, seed=seed)
