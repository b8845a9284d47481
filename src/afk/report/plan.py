"""What to train: the runs that items of the paper take, or those that a file names."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from afk.agents.variants import find_variant
from afk.envs.registry import task_named
from afk.experiments.run_record import is_number, read_object
from afk.experiments.study import SEEDS, Run
from afk.report.items import find_item

_STUDY = ("preset", "agents", "tasks", "also", "seeds", "steps", "changes")  # what a file may say


def plan_items(
    items: Sequence[str],
    *,
    preset: str,
    agents: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    steps: int | None = None,
) -> list[Run]:
    """The runs that items of `afk reproduce` take, each once.

    Args:
        items: their names.
        preset: the settings of all runs.
        agents: only these, if any are given.
        tasks: only runs on these, by name or by the paper's letters, if any are given.
        seeds: of every run; the paper's five if none are given.
        steps: environment steps a seed; those of the preset if None.
    """
    only = {task_named(task) for task in tasks or ()}
    for agent in agents or ():
        find_variant(agent)
    wanted = {(each.agent, each.tasks): each for item in items for each in find_item(item).runs}
    plan = [
        Run(preset, agent, each.tasks, each.also, tuple(seeds or SEEDS), steps)
        for (agent, _), each in wanted.items()
        if (not agents or agent in agents) and only.issuperset(each.tasks if only else ())
    ]
    if not plan:
        raise ValueError(f"there is nothing to train for {', '.join(items)} with these options")
    return plan


def read_study(path: Path, *, preset: str) -> list[Run]:
    """The runs of a study that a JSON file describes, each agent on each task.

        {"tasks": ["qbabyai/danger", ["SD", "CD"]], "agents": ["afk", "query"], "seeds": [24, 42],
         "preset": "laptop", "steps": 500000, "changes": {"settings.bonus": 0.05}, "also": []}

    A list of tasks is trained on together; `also` is played unseen; changes are numbers of a run that are not
    the preset's, see `change`. Only the tasks have to be there.

    Args:
        path: of the file; a ValueError of one line if it makes no sense.
        preset: the settings if the file names none.
    """
    content = read_object(path)
    unknown = [name for name in content if name not in _STUDY]
    if unknown:
        raise ValueError(f"{path} says {unknown[0]!r}; a study has {', '.join(_STUDY)}")
    settings, steps = content.get("preset", preset), content.get("steps")
    if not isinstance(settings, str):
        raise ValueError(f"preset in {path} is a name, not {settings!r}")
    if steps is not None and (not _is_count(steps) or steps < 1):
        raise ValueError(f"steps in {path} is a number from 1 on, not {steps!r}")
    seeds = content.get("seeds", list(SEEDS))
    if not isinstance(seeds, list) or not seeds or not all(map(_is_count, seeds)):
        raise ValueError(f"seeds in {path} is a list of numbers, not {seeds!r}")
    changes = content.get("changes", {})
    if not isinstance(changes, dict) or not all(
        isinstance(each, bool) or is_number(each) for each in changes.values()
    ):
        raise ValueError(f"changes in {path} are numbers by name, not {changes!r}")
    groups = _list(path, content, "tasks", [])
    together = [group if isinstance(group, list) else [group] for group in groups]
    agents = _names(path, "agents", _list(path, content, "agents", ["afk"]))
    also = _names(path, "also", content.get("also", []))
    for agent in agents:
        find_variant(agent)
    return [
        Run(
            settings,
            agent,
            tuple(_names(path, "tasks", group)),
            tuple(also),
            tuple(seeds),
            steps,
            tuple(changes.items()),
        )
        for group in together
        for agent in agents
    ]


def _list(path: Path, content: dict[str, Any], name: str, default: list[str]) -> list[Any]:
    """A list of a study that is not empty."""
    found = content.get(name, default)
    if not isinstance(found, list) or not found:
        raise ValueError(f"{name} in {path} is a list of at least one name")
    return found


def _names(path: Path, name: str, found: Any) -> list[str]:
    """A list of names."""
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ValueError(f"{name} in {path} is a list of names, not {found!r}")
    return found


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
