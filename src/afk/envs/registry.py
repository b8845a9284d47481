"""Environments by name, such as ``qbabyai/object-in-box``."""

from difflib import get_close_matches
from typing import overload

from afk.envs.qbabyai.environment import GridWorld, QBabyAI
from afk.envs.qbabyai.mixture import Mixture
from afk.envs.qbabyai.tasks import Task, paper_tasks

_registered: dict[str, Task] = {}


def task_names() -> tuple[str, ...]:
    """Every name that `make` takes, the paper's tasks first."""
    return tuple(_tasks())


def find_task(name: str) -> Task:
    """The task of that name; a ValueError that names the nearest ones if there is none."""
    tasks = _tasks()
    if name not in tasks:
        near = get_close_matches(name, tasks, n=3, cutoff=0.4)
        hint = f"did you mean {' or '.join(near)}?" if near else "`afk tasks` lists them all"
        raise ValueError(f"unknown task {name!r}; {hint}")
    return tasks[name]


@overload
def make(name: str, /) -> QBabyAI: ...
@overload
def make(*names: str) -> GridWorld: ...
def make(*names: str) -> GridWorld:
    """The environment of that name; with several names, levels of all these tasks in equal shares."""
    if not names:
        raise ValueError("name at least one task; `afk tasks` lists them all")
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"task {name!r} is given more than once; every task has an equal share")
    tasks = [find_task(name) for name in names]
    return QBabyAI(*tasks) if len(tasks) == 1 else Mixture(*tasks)


def register(task: Task) -> None:
    """Make a task of your own known by its name, for this process."""
    if task.name in _tasks():
        raise ValueError(f"a task named {task.name!r} is registered already")
    _registered[task.name] = task


def _tasks() -> dict[str, Task]:
    return {task.name: task for task in paper_tasks()} | _registered
