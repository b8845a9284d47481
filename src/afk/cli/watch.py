"""``afk watch``."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from afk.cli.options import AnyTaskOption, SeedOption, TaskOption, make_console


def watch(
    agent: Annotated[
        str,
        typer.Argument(help="Who plays: pretrained (it comes with afk), a run's folder, or a checkpoint."),
    ],
    task: TaskOption,
    seed: SeedOption = 0,
    gif: Annotated[Path | None, typer.Option(help="Write the episode to this file as well.")] = None,
    any_task: AnyTaskOption = False,
) -> None:
    """Watch an agent think: what it sees, does, asks, hears and notes, step by step."""
    from afk.envs.registry import make
    from afk.episodes.terminal import check_gif, show_episode, write_gif
    from afk.episodes.tracer import trace_episode
    from afk.training.pretrained import find_agent, play_on

    env = make(task)
    if gif is not None:
        check_gif(gif)
    found = find_agent(agent, (task,), any_task=any_task)
    trace = trace_episode(play_on(found, env, name=agent), found.network, seed=seed)
    show_episode(make_console(), trace)
    if gif is not None:
        write_gif(gif, trace)
        print(f"written: {gif}", file=sys.stderr)
