"""A run as one watches it: a bar with what matters."""

from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from afk.experiments.config import read_config
from afk.experiments.train import train


def show_progress(folder: Path, console: Console) -> None:
    """Train the run of a folder under a progress bar; on Ctrl-C say how to go on."""
    config = read_config(folder)
    bar = Progress(
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[measures]}"),
        TimeRemainingColumn(),
        console=console,
    )
    total = config.updates * config.settings.steps_per_update
    try:
        with bar:
            task = bar.add_task(f"{config.agent} on {config.task}", total=total, measures="compiling")
            for row in train(folder):
                seen = row["training"]
                measures = (
                    f"{row['steps_per_second']:,.0f} steps/s, success {seen['success']:.1%}, "
                    f"length {seen['steps']:.1f}, queries {seen['queries']:.1f}"
                )
                bar.update(task, completed=row["steps"], measures=measures)
    except KeyboardInterrupt:
        console.print(f"stopped; go on with: afk train --resume {folder}")
        raise
    console.print(f"done; evaluate it with: afk eval {folder} --task {config.task}")
