"""``afk tasks`` and ``afk play``."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Column, Table

from afk.cli_bench import JsonOption, SeedOption, make_console

if TYPE_CHECKING:
    from afk.envs.registry import Task

# The columns of each world's table: what stands in the row, and its heading.
_COLUMNS = {
    "Q-BabyAI": {
        "symbol": "letters",
        "rooms": "rooms",
        "room_size": "size",
        "max_steps": "max steps",
        "good_queries": "|Q_t|",
        "early_termination": "ends early",
        "questions": "good queries",
    },
    "Q-TextWorld": {
        "ingredients": "ingredients",
        "cut": "cut",
        "cook": "cook",
        "knife": "knife",
        "pieces": "furniture",
        "max_steps": "max steps",
        "good_queries": "|Q_t|",
    },
}


def tasks(as_json: JsonOption = False) -> None:
    """List the tasks."""
    from afk.envs.registry import find_task, task_names

    rows = [_row(find_task(name)) for name in task_names()]
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    for world, columns in _COLUMNS.items():
        table = Table(Column("task", no_wrap=True), *columns.values(), title=world, title_justify="left")
        for row in rows:
            if row["world"] == world:
                table.add_row(row["task"], *(_spell(row[name]) for name in columns))
        make_console().print(table)


def play(
    task: Annotated[
        str, typer.Argument(help="What to play, a name or letters; `afk tasks` lists the tasks.")
    ],
    seed: SeedOption = 0,
) -> None:
    """Play a task yourself, in the terminal."""
    from afk.envs.registry import make
    from afk.experiments.play import play as play_episode

    play_episode(make_console(), make(task), seed=seed)


def _row(task: "Task") -> dict[str, Any]:
    """What there is to say about a task."""
    from afk.envs.qbabyai.tasks import Task as GridTask
    from afk.envs.registry import tasks_by_letters

    if isinstance(task, GridTask):
        return {
            "world": "Q-BabyAI",
            "task": task.name,
            "symbol": task.symbol if tasks_by_letters().get(task.symbol) == task.name else "",
            "rooms": task.plan.rooms,
            "room_size": task.plan.room_size,
            "max_steps": task.max_steps,
            "good_queries": len(task.questions),
            "early_termination": task.ends_early,
            "questions": list(task.questions),
        }
    return {
        "world": "Q-TextWorld",
        "task": task.name,
        "ingredients": task.ingredients,
        "cut": task.cut,
        "cook": task.cook,
        "knife": "to be found" if task.finds_knife else "held" if task.cut else "not needed",
        "pieces": task.pieces,
        "max_steps": task.max_steps,
        "good_queries": task.good_queries,
    }


def _spell(value: Any) -> str:
    """A value as a cell of a table."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, list) else str(value)
