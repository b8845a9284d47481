"""Worlds and tasks by name, such as ``qbabyai/object-in-box`` or ``qtextworld/take-1``; ``take-1`` for short.

The paper's letters name tasks of Q-BabyAI, too: ``CS`` is Object in Box + Danger, and ``released/CS`` is it
in the edition that has the levels of the authors' released code.
"""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar

from afk.envs.adapters.ids import Listed, announce
from afk.envs.core import Environment
from afk.envs.qbabyai import registration as qbabyai
from afk.envs.qbabyai.levels.tasks import Task as GridTask
from afk.envs.qtextworld import registration as qtextworld
from afk.envs.qtextworld.levels.tasks import Task as TextTask
from afk.envs.world import World
from afk.plugins import load_plugins

Task: TypeAlias = GridTask | TextTask
TaskT = TypeVar("TaskT")

WORLDS: dict[str, World] = {world.name: world for world in (qbabyai.QBABYAI, qtextworld.QTEXTWORLD)}
_registered: dict[str, Any] = {}


def register_world(world: World) -> None:
    """Make a world known, with its tasks, for this process."""
    if world.name in WORLDS:
        raise ValueError(f"a world named {world.name!r} is registered already")
    WORLDS[world.name] = world


def world_of(subject: Environment[Any] | Any) -> World:
    """The world of an environment or of a task; a TypeError if it is neither."""
    if isinstance(subject, Environment):
        return WORLDS[subject.world]
    for world in WORLDS.values():
        if isinstance(subject, world.task_type):
            return world
    raise TypeError(f"{subject!r} is neither an environment nor a task")


def shared_program(env: Environment[Any]) -> Environment[Any]:
    """What to step levels of an environment with, so that as many as possible share a compiled program."""
    return world_of(env).shared(env)


def task_names() -> tuple[str, ...]:
    """The names of all tasks, the paper's first."""
    return tuple(_tasks())


def find_task(name: str) -> Task:
    """The task of a name, or of letters; a ValueError that names the nearest ones if there is none.

    The world can be left out of a name: ``danger`` is ``qbabyai/danger``, the first of that name. If there is
    none it is read as a title is written: ``Object in Box + Danger``, ``Take 1``, ``cs``.
    """
    tasks = _tasks()
    plain = re.sub(r" ?\+ ?", "+", name.lower()).replace(" ", "-")
    full = _find_name(name, tasks) or _find_name(plain, tasks)
    if full is None:
        near = get_close_matches(name, tasks, n=3, cutoff=0.4)
        hint = f"did you mean {' or '.join(near)}?" if near else "`afk tasks` lists them all."
        raise ValueError(f"unknown task {name!r}; {hint} A task of your own takes --import MODULE")
    return tasks[full]


def _find_name(name: str, tasks: Iterable[str]) -> str | None:
    """The name of a task by its name, long or short, or its letters; letters may be small."""
    if name in tasks:
        return name
    edition, slash, letters = name.rpartition("/")
    full = tasks_by_letters().get(f"{edition}{slash}{letters.upper()}")
    return full or next((each for each in tasks if each.partition("/")[2] == name), None)


def task_named(text: str) -> str:
    """The name of a task that is given by its name, long or short, or by its letters."""
    return find_task(text).name


@lru_cache(maxsize=1)
def tasks_by_letters() -> dict[str, str]:
    """Names of the paper's tasks by its letters; the two-room form of Object in Box + Danger has none."""
    by_letters: dict[str, str] = {}
    for task in (*qbabyai.QBABYAI.paper_tasks(), *qbabyai.QBABYAI.editions()):
        by_letters.setdefault(task.symbol, task.name)
    return by_letters


def find_task_of(family: type[TaskT], name: str) -> TaskT:
    """The task of that name; a ValueError if there is none, or if it belongs to another world."""
    task = find_task(name)
    if not isinstance(task, family):
        names = (each for each in task_names() if isinstance(find_task(each), family))
        raise ValueError(f"task {name!r} is of another world; here it is one of {', '.join(names)}")
    return task


def make(*names: str) -> Environment[Any]:
    """The environment of that name; with several, levels of these tasks in turn, and one may come twice."""
    world, tasks = _find_some(names)
    return world.make(tasks[0]) if len(tasks) == 1 else world.mix(tasks, ())


def make_roomy(*names: str) -> Environment[Any]:
    """The same in a world that has room for the paper's tasks, so that they can share compiled programs."""
    world, tasks = _find_some(names)
    return world.mix(tasks, world.beside(tasks[0]))


def _find_some(names: Sequence[str]) -> tuple[World, list[Any]]:
    """The tasks of these names and their world; a ValueError if there are none, or if they have several."""
    if not names:
        raise ValueError("name at least one task; `afk tasks` lists them all")
    tasks = [find_task(name) for name in names]
    worlds = {world_of(task).title: world_of(task) for task in tasks}
    if len(worlds) > 1:
        raise ValueError(f"tasks of {' and of '.join(worlds)} cannot be mixed")
    return next(iter(worlds.values())), tasks


def register(task: Any) -> None:
    """Make a task of your own known by its name, for this process; the same one again changes nothing.

    It has an id for Gymnasium from then on: ``mine/dangerous-toys`` is ``Mine-DangerousToys-v0``.
    """
    listed = list_task(task)
    if _registered.get(task.name) == task:
        return
    if task.name in (*_tasks(), *tasks_by_letters()):
        raise ValueError(f"a task named {task.name!r} is registered already")
    _registered[task.name] = task
    announce({task.name: listed})


def list_task(task: Any) -> Listed:
    """How Gymnasium lists a task."""
    return Listed(world_of(task).name, family_of(task.name), task.max_steps)


def family_of(name: str) -> str:
    """What the id of a task begins with: the title of its world, or the family of one's own tasks."""
    family = name.partition("/")[0]
    return WORLDS[family].title.replace("-", "") if family in WORLDS else family.capitalize()


def _tasks() -> dict[str, Any]:
    load_plugins()
    tasks = [task for world in WORLDS.values() for task in world.paper_tasks()]
    tasks += [task for world in WORLDS.values() for task in world.editions()]
    return {task.name: task for task in tasks} | _registered
