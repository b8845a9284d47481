"""``afk leaderboard``."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from afk.cli.options import MOST, JsonOption, SeedOption, TaskOption, make_console

# A column: its title, the measure, and how it is written.
_COLUMNS = (
    ("steps", "episode_length", "{:.1f}"),
    ("queries", "queries", "{:.1f}"),
    ("precision", "precision", "{:.2f}"),
    ("recall", "recall", "{:.2f}"),
    ("F1", "f1", "{:.2f}"),
    ("tokens", "tokens", "{:,.0f}"),
    ("invalid", "invalid", "{:.1f}"),
    ("seconds", "seconds", "{:.1f}"),
)


def leaderboard(
    task: TaskOption,
    episodes: Annotated[int, typer.Option(min=1, max=MOST, help="How many levels our agents play.")] = 100,
    seed: SeedOption = 0,
    models: Annotated[
        Path | None, typer.Option(help="Where results of models are.", show_default="runs/models")
    ] = None,
    records: Annotated[Path, typer.Option(help="A folder with the paper's numbers.")] = Path("results"),
    as_json: JsonOption = False,
) -> None:
    """Compare the expert, our agents, the paper's and language models on the same levels of a task."""
    from afk.envs.registry import task_named
    from afk.play.evaluation import MODELS
    from afk.play.leaderboard import make_leaderboard

    if models is None and MODELS.is_dir():
        models = MODELS
    entries, gaps = make_leaderboard(task_named(task), models, records, episodes=episodes, seed=seed)
    if as_json:
        found = {"entries": [asdict(each) for each in entries], "gaps": [asdict(each) for each in gaps]}
        print(json.dumps(found, indent=2))
        return
    table = Table("who", "how", "levels", "success, 95%", *(title for title, *_ in _COLUMNS))
    for entry in entries:
        measures = _with_tokens(entry.measures)
        cells = [form.format(measures[name]) if name in measures else "" for _, name, form in _COLUMNS]
        table.add_row(entry.who, entry.how, str(measures.get("episodes", "")), _success(measures), *cells)
    console = make_console()
    console.print(table)
    for gap in gaps:
        interval = f" [{gap.interval[0]:.0%}, {gap.interval[1]:.0%}]" if gap.interval else ""
        console.print(
            f"{gap.who}: asking recovers {gap.share:.0%}{interval} of what lies between no questions and all "
            "told",
            markup=False,
            highlight=False,
        )


def _with_tokens(measures: dict[str, Any]) -> dict[str, Any]:
    """Measures with the tokens of a level, read and said."""
    if "prompt_tokens" not in measures:
        return measures
    return measures | {"tokens": measures["prompt_tokens"] + measures["completion_tokens"]}


def _success(measures: dict[str, Any]) -> str:
    """The success rate in percent, with its interval where there is one."""
    interval = measures.get("success_interval")
    spread = f" [{100 * interval[0]:.1f}, {100 * interval[1]:.1f}]" if interval else ""
    return f"{100 * measures['success']:.1f}{spread}"
