"""Environments by name, such as ``qbabyai/object-in-box`` or ``qtextworld/take-1``.

The paper's letters name tasks of Q-BabyAI, too: ``CS`` is Object in Box + Danger.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar, overload

from afk.envs.base import Environment
from afk.envs.qbabyai import tasks as qbabyai
from afk.envs.qbabyai.environment import GridWorld, QBabyAI
from afk.envs.qbabyai.mixture import Mixture
from afk.envs.qtextworld import tasks as qtextworld
from afk.envs.qtextworld.environment import QTextWorld
from afk.envs.qtextworld.mixture import TextMixture, is_alike

Task: TypeAlias = qbabyai.Task | qtextworld.Task
TaskT = TypeVar("TaskT", qbabyai.Task, qtextworld.Task)

_registered: dict[str, Task] = {}


def task_names() -> tuple[str, ...]:
    """The names of all tasks, the paper's first."""
    return tuple(_tasks())


def find_task(name: str) -> Task:
    """The task of a name or of letters; a ValueError that names the nearest ones if there is none."""
    tasks, name = _tasks(), tasks_by_letters().get(name, name)
    if name not in tasks:
        near = get_close_matches(name, tasks, n=3, cutoff=0.4)
        hint = f"did you mean {' or '.join(near)}?" if near else "`afk tasks` lists them all"
        raise ValueError(f"unknown task {name!r}; {hint}")
    return tasks[name]


def task_named(text: str) -> str:
    """The name of a task that is given by its name or by its letters; a ValueError if there is none."""
    return find_task(text).name


@lru_cache(maxsize=1)
def tasks_by_letters() -> dict[str, str]:
    """Names of the paper's tasks by its letters; the two-room form of Object in Box + Danger has none."""
    by_letters: dict[str, str] = {}
    for task in qbabyai.paper_tasks():
        by_letters.setdefault(task.symbol, task.name)
    return by_letters


def find_task_of(family: type[TaskT], name: str) -> TaskT:
    """The task of that name; a ValueError if there is none, or if it belongs to another family."""
    task = find_task(name)
    if not isinstance(task, family):
        names = (each for each in task_names() if isinstance(find_task(each), family))
        raise ValueError(f"task {name!r} is of another family; here it is one of {', '.join(names)}")
    return task


def find_grid_task(name: str) -> qbabyai.Task:
    """The task of Q-BabyAI of that name; a ValueError if there is none."""
    return find_task_of(qbabyai.Task, name)


def world_of(env: Environment[Any]) -> Environment[Any]:
    """What to step levels of an environment with: a level is data, so one program plays all of Q-BabyAI."""
    return QBabyAI(qbabyai.paper_tasks()[0]) if isinstance(env, GridWorld) else env


def make(*names: str) -> Environment[Any]:
    """The environment of that name; with several, levels of these tasks in turn, and one may come twice."""
    tasks = _find_some(names)
    if len(tasks) > 1:
        return _mix(tasks)
    return QTextWorld(tasks[0]) if isinstance(tasks[0], qtextworld.Task) else QBabyAI(tasks[0])


def make_roomy(*names: str) -> Environment[Any]:
    """The same in a world that has room for the paper's tasks, so that they can share compiled programs."""
    return _mix(_find_some(names), roomy=True)


def _mix(tasks: Sequence[Task], *, roomy: bool = False) -> Environment[Any]:
    """Tasks of one kind of world in turn."""
    grids = [task for task in tasks if isinstance(task, qbabyai.Task)]
    games = [task for task in tasks if isinstance(task, qtextworld.Task)]
    if grids and games:
        raise ValueError("tasks of Q-BabyAI and of Q-TextWorld cannot be mixed")
    if grids:
        return Mixture(*grids, beside=qbabyai.paper_tasks() if roomy else ())
    fitting = [task for task in qtextworld.paper_tasks() if is_alike(task, games[0])]
    return TextMixture(*games, beside=fitting if roomy else ())


@overload
def make_grid(name: str, /) -> QBabyAI: ...
@overload
def make_grid(*names: str) -> GridWorld: ...
def make_grid(*names: str) -> GridWorld:
    """`make` for what only Q-BabyAI can do."""
    tasks = [find_grid_task(name) for name in _check(names)]
    return QBabyAI(*tasks) if len(tasks) == 1 else Mixture(*tasks)


def _find_some(names: Sequence[str]) -> list[Task]:
    """The tasks of these names; a ValueError if there are none."""
    return [find_task(name) for name in _check(names)]


def _check(names: Sequence[str]) -> Sequence[str]:
    if not names:
        raise ValueError("name at least one task; `afk tasks` lists them all")
    return names


def register(task: Task) -> None:
    """Make a task of your own known by its name, for this process."""
    if task.name in (*_tasks(), *tasks_by_letters()):
        raise ValueError(f"a task named {task.name!r} is registered already")
    _registered[task.name] = task


def _tasks() -> dict[str, Task]:
    tasks: tuple[Task, ...] = (*qbabyai.paper_tasks(), *qtextworld.paper_tasks())
    return {task.name: task for task in tasks} | _registered
