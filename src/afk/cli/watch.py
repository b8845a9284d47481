"""``afk watch``."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from afk.cli.options import (
    AgentArgument,
    AnyTaskOption,
    BudgetOption,
    LiesOption,
    ModeOption,
    OwnTaskOption,
    PriceOption,
    SeedOption,
    SilenceOption,
    SourceOption,
    make_console,
    read_asking,
)


def watch(
    agent: AgentArgument,
    task: OwnTaskOption = None,
    seed: SeedOption = 0,
    gif: Annotated[Path | None, typer.Option(help="Write the episode to this file as well.")] = None,
    any_task: AnyTaskOption = False,
    source: SourceOption = "oracle",
    price: PriceOption = None,
    question_budget: BudgetOption = None,
    lies: LiesOption = None,
    silence: SilenceOption = None,
    mode: ModeOption = "asking",
) -> None:
    """Watch an agent think: what it sees, does, asks, hears and notes, step by step."""
    from afk.api import watch as play_episode
    from afk.episodes.terminal import check_gif, show_episode, write_gif
    from afk.training.pretrained import own_task

    if gif is not None:
        check_gif(gif)
    asking = read_asking(source, price, question_budget, lies, silence, mode)
    task = own_task(agent) if task is None else task
    trace = play_episode(agent, task, seed=seed, any_task=any_task, asking=asking)
    show_episode(make_console(), trace)
    if gif is not None:
        write_gif(gif, trace)
        print(f"written: {gif}", file=sys.stderr)
