"""``afk eval``."""

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from afk.cli.options import (
    MOST,
    AgentArgument,
    AnyTaskOption,
    JsonOption,
    SeedOption,
    TaskOption,
    make_console,
)


def evaluate(
    agent: AgentArgument,
    task: TaskOption,
    episodes: Annotated[int, typer.Option(min=1, max=MOST, help="How many fresh levels are played.")] = 500,
    seed: SeedOption = 0,
    any_task: AnyTaskOption = False,
    as_json: JsonOption = False,
) -> None:
    """Play fresh levels of a task and print the paper's measures."""
    from rich.progress import track

    from afk.envs.registry import task_named
    from afk.training.evaluate import summarise
    from afk.training.pretrained import play_fresh

    task = task_named(task)
    summary, chunks = play_fresh(agent, task, episodes=episodes, seed=seed, any_task=any_task)
    chunks = track(chunks, f"{agent} on {task}", console=Console(stderr=True), transient=True, total=None)
    summary |= summarise(chunks)
    if as_json:
        print(json.dumps(summary, indent=2))
        return
    low, high = summary.pop("success_interval")
    table = Table("measure", "value")
    for name, value in summary.items():
        shown = f"{value:.3f}" if isinstance(value, float) else str(value)
        title = "|Q_t|" if name == "good_queries" else name.replace("_", " ")
        table.add_row(title, f"{shown} (95%: {low:.3f} to {high:.3f})" if name == "success" else shown)
    make_console().print(table)
