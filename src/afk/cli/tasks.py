"""``afk tasks``."""

import json
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Column, Table

from afk.cli.options import JsonOption, make_console

if TYPE_CHECKING:
    from afk.envs.registry import Task

# The columns of each world's table, what matters most first: what stands in the row, and its heading.
_COLUMNS = {
    "Q-BabyAI": {
        "symbol": "letters",
        "max_steps": "steps",
        "good_queries": "|Q_t|",
        "rooms": "rooms",
        "room_size": "size",
        "early_termination": "ends early",
        "questions": "good queries",
    },
    "Q-TextWorld": {
        "ingredients": "ingredients",
        "cut": "cut",
        "cook": "cook",
        "knife": "knife",
        "max_steps": "steps",
        "good_queries": "|Q_t|",
        "pieces": "furniture",
    },
}
_WIDEST = 44  # characters of a cell; longer ones go on in the next line


def tasks(as_json: JsonOption = False) -> None:
    """List the tasks."""
    from afk.envs.registry import find_task, task_names

    rows = [_row(find_task(name)) for name in task_names()]
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    console, left_out = make_console(), []
    for world in _COLUMNS:
        table, narrow = _fit(console, world, [row for row in rows if row["world"] == world])
        console.print(table, "")
        left_out += narrow
    if left_out:
        console.print(f"A wider terminal, or --json, also says: {', '.join(left_out)}.", style="dim")


def _fit(console: Console, world: str, rows: list[dict[str, Any]]) -> tuple[Table, list[str]]:
    """The table of a world with as many columns as there is room for, and the headings of the others."""
    columns = list(_COLUMNS[world])
    while True:
        table = _draw(world, columns, rows)
        wanted = console.measure(table, options=console.options.update(max_width=1000)).maximum
        if wanted <= console.width or not columns:
            return table, [heading for name, heading in _COLUMNS[world].items() if name not in columns]
        columns.pop()


def _draw(world: str, columns: list[str], rows: list[dict[str, Any]]) -> Table:
    """A table of tasks with some columns."""
    shown = [Column(_COLUMNS[world][name], max_width=_WIDEST) for name in columns]
    table = Table(Column("task", overflow="fold"), *shown, title=world, title_justify="left", box=SIMPLE_HEAD)
    table.show_edge = table.pad_edge = False
    for row in rows:
        # The edition stands in the task's name already: "released/CS" is "CS" here.
        cells = row | {"symbol": row.get("symbol", "").rpartition("/")[2]}
        table.add_row(row["task"], *(_spell(cells[name]) for name in columns))
    return table


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
