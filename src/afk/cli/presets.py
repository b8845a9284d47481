"""``afk presets`` and ``afk config``."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Column, Table

from afk.cli.options import JsonOption, make_console

if TYPE_CHECKING:
    from afk.training.config import Config


def presets(as_json: JsonOption = False) -> None:
    """List the presets: hyperparameters for training, by world and agent."""
    from afk.training.presets import ABOUT, PRESETS, agents_of

    rows = [
        {"world": world, "agents": agents_of(group), "preset": name, "about": ABOUT[name]}
        for world, groups in PRESETS.items()
        for group, names in groups.items()
        for name in names
    ]
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    table = Table("world", "agents", "preset", "what it is", box=None)
    for row in rows:
        whole = [name for name in row["agents"] if "-no-" not in name]
        table.add_row(row["world"], ", ".join(whole), row["preset"], row["about"])
    make_console().print(table)
    print(
        "\nAn agent without a part, such as afk-no-bonus, has the presets of the whole one.\n"
        "afk config PRESET --task TASK --agent AGENT shows all values of one; "
        "afk train TASK --agent AGENT --preset PRESET trains with it."
    )


def config(
    preset: Annotated[
        str | None, typer.Argument(help="A preset; `afk presets` lists them.", show_default="by the device")
    ] = None,
    task: Annotated[str, typer.Option("--task", help="The task, whose values may differ.")] = "danger",
    agent: Annotated[str, typer.Option(help="The variant.")] = "afk",
    algorithm: Annotated[str | None, typer.Option(help="Another algorithm, with its own settings.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show every hyperparameter: its value in a preset, and what it means."""
    from afk.learning.algorithm import find_algorithm
    from afk.training.changes import meanings
    from afk.training.config import flatten
    from afk.training.presets import default_preset
    from afk.training.presets import preset as find_preset

    settings = {} if algorithm is None else {"settings": find_algorithm(algorithm).settings()}
    found: Config = find_preset(preset or default_preset(), [task], agent=agent, **settings)
    meant, values = meanings(found), flatten(found.to_json())
    if as_json:
        rows = [{"name": name, "value": values[name], "meaning": meant[name]} for name in meant]
        print(json.dumps(rows, indent=2))
        return
    table = Table("name", "value", Column("what it means", ratio=1), box=None)
    for name, meaning in meant.items():
        table.add_row(name, _spell(values[name]), meaning)
    make_console().print(table)
    print("\nafk train TASK --set NAME=VALUE changes one; --config FILE takes many.")


def _spell(value: Any) -> str:
    """A value as it is written after ``--set``."""
    return ", ".join(map(str, value)) if isinstance(value, list) else json.dumps(value)
