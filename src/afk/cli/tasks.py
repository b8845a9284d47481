"""``afk tasks``."""

import json
from typing import TYPE_CHECKING, Any

from rich.table import Column, Table

from afk.cli.options import JsonOption, make_console

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


def _row(task: "Task") -> dict[str, Any]:
    """What there is to say about a task."""
    from afk.envs.registry import tasks_by_letters, world_of

    world, letters = world_of(task), getattr(task, "symbol", None)
    row: dict[str, Any] = {"world": world.title, "task": task.name}
    if letters is not None:
        row["symbol"] = letters if tasks_by_letters().get(letters) == task.name else ""
    return row | world.describe(task)


def _spell(value: Any) -> str:
    """A value as a cell of a table."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, list) else str(value)
