"""``afk export``."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from afk.cli.options import SeedOption, TaskOption


def export(
    task: TaskOption,
    out: Annotated[Path, typer.Option(help="The JSONL file; a data card is written beside it.")],
    agent: Annotated[
        str, typer.Option(help="expert, pretrained, a run's folder or a checkpoint.")
    ] = "expert",
    episodes: Annotated[int, typer.Option(min=1, help="How many episodes.")] = 100,
    seed: SeedOption = 1,
    mode: Annotated[str, typer.Option(help="Of the expert: no-questions, asking or all-told.")] = "asking",
    macros: Annotated[bool, typer.Option(help="Of the expert: macros instead of single steps.")] = False,
) -> None:
    """Write episodes as chats with tool calls, a label for every question, to fine-tune models on."""
    from rich.progress import track

    from afk.envs.registry import task_named
    from afk.play.export import Export, card_of, play_episodes, write_episodes

    what = Export(task_named(task), agent, episodes, seed, mode, macros)
    if out.suffix == card_of(out).suffix:
        raise ValueError(f"--out is a JSONL file, not {out}: the data card has that ending")
    console = Console(stderr=True)
    played = track(play_episodes(what), "episodes", total=episodes, console=console, transient=True)
    write_episodes(out, what, list(played))
    print(f"{out} and {card_of(out)} are written")
