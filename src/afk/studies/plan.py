"""What to train: the runs behind the paper's tables, or those that a file names."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from afk.agents.variants import find_variant
from afk.checks import is_number
from afk.envs.registry import WORLDS, task_named
from afk.files import read_object
from afk.knowledge.traits import read_specs
from afk.studies.study import SEEDS
from afk.training.changes import change
from afk.training.checkpoint import digest
from afk.training.config import Config
from afk.training.presets import preset as find_preset
from afk.training.pretrained import PRETRAINED, agent_to_begin_with

GRID_TASKS = tuple(task.name for task in WORLDS["qbabyai"].paper_tasks()[:15])  # one has a second form
RELEASED_TASKS = tuple(task.name for task in WORLDS["qbabyai"].editions())  # the same with the paper's levels
TEXT_TASKS = tuple(task.name for task in WORLDS["qtextworld"].paper_tasks())
PAPER_AGENTS = ("no-query", "query", "afk")
ABLATIONS = ("afk-no-notebook", "afk-no-pointer", "afk-no-bonus")
ABLATED_TASKS = tuple(map(task_named, ("C", "S", "D", "H", "CH")))
# Tasks that are played without having been trained on, and what is trained on instead (paper, section 4.4).
HELD_OUT = tuple(
    (task_named(target), tuple(map(task_named, sources)))
    for target, sources in (("CS", ("SD", "CD")), ("SD", ("CS", "CD")))
)
QUALITY_TASKS = tuple(map(task_named, ("CH", "DH", "SD")))
# What a file may say.
_STUDY = ("preset", "agents", "tasks", "held_out", "seeds", "steps", "changes", "sources", "source", "from")

Wanted = tuple[str, tuple[str, ...], tuple[str, ...]]  # an agent, its tasks, and those that it plays unseen


def _each(agents: Sequence[str], tasks: Sequence[str]) -> tuple[Wanted, ...]:
    return tuple((agent, (task,), ()) for task in tasks for agent in agents)


_GRID, _TEXT = _each(PAPER_AGENTS, GRID_TASKS), _each(PAPER_AGENTS, TEXT_TASKS)
_ZERO_SHOT = tuple(("afk", sources, (target,)) for target, sources in HELD_OUT)
# Trained on the paper's levels, and played on ours, too.
_RELEASED = tuple(
    (agent, (released,), (sound,))
    for released, sound in zip(RELEASED_TASKS, GRID_TASKS, strict=True)
    for agent in PAPER_AGENTS
)
_ALONE = _each(["afk"], [target for target, _ in HELD_OUT])
# The runs that each item of `afk reproduce` takes.
RUNS: dict[str, tuple[Wanted, ...]] = {
    "table-1": _GRID,
    "lengths": _GRID,
    "released": _RELEASED,
    "textworld": _TEXT,
    "ablation": _each([*ABLATIONS, "afk"], ABLATED_TASKS),
    "generalisation": _ZERO_SHOT,
    "query-quality": _each(["afk"], QUALITY_TASKS),
    "query-histogram": (*_ALONE, *_ZERO_SHOT),
    "curves": (*_GRID, *_TEXT),
}


def plan_items(
    items: Sequence[str],
    *,
    preset: str,
    agents: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    steps: int | None = None,
) -> list[Config]:
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
    wanted = {(agent, trained): held_out for item in items for agent, trained, held_out in RUNS.get(item, ())}
    chosen = [
        (agent, trained, held_out)
        for (agent, trained), held_out in wanted.items()
        if (not agents or agent in agents) and only.issuperset(trained if only else ())
    ]
    if not chosen:
        near = [match for item in items for match in get_close_matches(item, RUNS, n=1) if item not in RUNS]
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ValueError(f"there is nothing to train for {', '.join(items)} with these options{hint}")
    fields = {"seeds": tuple(seeds or SEEDS)} | ({} if steps is None else {"steps": steps})
    return [
        _make(preset, trained, agent, fields | {"held_out": held_out}) for agent, trained, held_out in chosen
    ]


def read_study(path: Path, *, preset: str) -> list[Config]:
    """The runs of a study that a JSON file describes, each agent on each task.

        {"tasks": ["qbabyai/danger", ["SD", "CD"]], "agents": ["afk", "query"], "seeds": [24, 42],
         "preset": "laptop", "steps": 500000, "changes": {"settings.bonus": 0.05}, "held_out": []}

    A list of tasks is trained on together; `held_out` is played unseen; changes are hyperparameters of a run
    that are not the preset's, see `change`; `sources` and `source` are those of `Config`, such as
    ``[{"price": [0, 0.5]}]`` and ``"sql"``. With ``"from": "pretrained"`` training begins with the agent of
    the package. Only the tasks have to be there.

    Args:
        path: of the file; a ValueError of one line if it makes no sense.
        preset: the settings if the file names none.
    """
    content = read_object(path)
    unknown = [name for name in content if name not in _STUDY]
    if unknown:
        raise ValueError(f"{path} says {unknown[0]!r}; a study has {', '.join(_STUDY)}")
    name, steps = content.get("preset", preset), content.get("steps")
    if not isinstance(name, str):
        raise ValueError(f"preset in {path} is a name, not {name!r}")
    if steps is not None and (not is_number(steps, whole=True) or steps < 1):
        raise ValueError(f"steps in {path} is a number from 1 on, not {steps!r}")
    seeds = content.get("seeds", list(SEEDS))
    if not isinstance(seeds, list) or not seeds or not all(is_number(seed, whole=True) for seed in seeds):
        raise ValueError(f"seeds in {path} is a list of numbers, not {seeds!r}")
    changes = content.get("changes", {})
    if not isinstance(changes, dict) or not all(
        isinstance(each, bool) or is_number(each) for each in changes.values()
    ):
        raise ValueError(f"changes in {path} are numbers by name, not {changes!r}")
    groups = _list(path, content, "tasks", [])
    together = [_names(path, "tasks", group if isinstance(group, list) else [group]) for group in groups]
    agents = _names(path, "agents", _list(path, content, "agents", ["afk"]))
    held_out = tuple(_names(path, "held_out", content.get("held_out", [])))
    fields = {"seeds": tuple(seeds), "held_out": held_out} | ({} if steps is None else {"steps": steps})
    fields["sources"] = read_specs(content.get("sources", []))
    fields |= {"source": content["source"]} if "source" in content else {}
    if (start := content.get("from", PRETRAINED)) != PRETRAINED:
        raise ValueError(
            f"a study begins with {PRETRAINED} or with new agents, not from {start!r} as in {path}"
        )
    runs = [_make(name, group, agent, fields, changes) for group in together for agent in agents]
    return list(map(_with_pretrained, runs)) if "from" in content else runs


def _with_pretrained(config: Config) -> Config:
    """A run that begins with the agent of the package."""
    return replace(config, initial_agent=digest(agent_to_begin_with(PRETRAINED, config)))


def _make(
    name: str,
    tasks: Sequence[str],
    agent: str,
    fields: Mapping[str, Any],
    changes: Mapping[str, float] | None = None,
) -> Config:
    """A run of a study; a ValueError that names it if there can be none such."""
    try:
        return change(find_preset(name, tasks, agent=agent, **fields), changes or {})
    except ValueError as error:
        raise ValueError(f"{agent} on {' + '.join(tasks)}: {error}") from error


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
