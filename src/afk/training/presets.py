"""Presets: hyperparameters by name, world, agent and group of tasks.

A run begins with the defaults of `Config`; then the rules of `afk.training.preset_rules` apply.
"""

from collections.abc import Sequence
from typing import Any

import jax

from afk.agents.base import Size
from afk.agents.variants import VARIANTS
from afk.envs.registry import find_task, task_named, world_of
from afk.learning.algorithm import find_algorithm
from afk.training.config import Config
from afk.training.preset_rules import AGENTS, RULES

ABOUT = {
    "paper": "what the paper says; where its text is silent, what the authors' released code does",
    "released": "what the authors' released code does",
    "paper-wide": "as many samples a step as published, but enough at once for a large GPU",
    "fast": "as many episodes at once as make good use of one GPU",
    "plain": "as fast, without the curriculum",
    "laptop": "what two cores can train",
}
# The presets there are, by world and group of agents.
PRESETS = {
    "qbabyai": {"published": ("paper", "released", "fast", "laptop"), "plus": ("fast", "laptop", "plain")},
    "qtextworld": {"any": ("paper", "paper-wide", "fast", "laptop")},
}


def default_preset() -> str:
    """What is trained with where nobody says: what this machine can do."""
    return "laptop" if jax.default_backend() == "cpu" else "fast"


def preset(name: str, tasks: Sequence[str], *, agent: str = Config.agent, **changes: Any) -> Config:
    """A preset for some tasks with some fields changed; a ValueError if there is none of that name."""
    values = preset_values(name, tasks, agent)
    parts = {
        prefix: {key.partition(".")[2]: values.pop(key) for key in [*values] if key.startswith(f"{prefix}.")}
        for prefix in ("size", "settings")
    }
    algorithm = find_algorithm(parts["settings"].pop("algorithm", "ppo"))
    fields = {"size": Size(**parts["size"]), "settings": algorithm.settings(**parts["settings"]), **values}
    return Config(tuple(tasks), agent, preset=name, **(fields | changes))


def preset_values(name: str, tasks: Sequence[str], agent: str) -> dict[str, Any]:
    """What a preset sets for a run, by name; a ValueError if there is none of that name."""
    if not tasks:
        raise ValueError("name at least one task; `afk tasks` lists them all")
    world = world_of(find_task(tasks[0])).name
    # Another edition of a task is trained as the task is.
    chosen = {f"{world}/{task_named(task).partition('/')[2]}" for task in tasks}
    if world not in PRESETS:
        raise ValueError(f"there is no preset for {world}: add its names to PRESETS and its rules to RULES")
    known = next(names for group, names in PRESETS[world].items() if AGENTS[group](agent))
    if name not in known:
        raise ValueError(f"{_tell_unknown(name, world, agent)}; it is one of {', '.join(known)}")
    values: dict[str, Any] = {}
    for rule in RULES:
        if rule.applies(name, world, agent, chosen):
            values |= rule.values
            values |= {
                key: max(values.get(key, getattr(Config, key, 0)), least * len(tasks))
                for key, least in rule.per_task.items()
            }
    return values


def agents_of(group: str) -> list[str]:
    """The agents of a group of `AGENTS`."""
    return [name for name in VARIANTS if AGENTS[group](name)]


def _tell_unknown(name: str, world: str, agent: str) -> str:
    """That there is no such preset for an agent in a world, and who has one, if anybody."""
    places = [
        (other, group)
        for other, groups in PRESETS.items()
        for group, names in groups.items()
        if name in names
    ]
    if not places:
        return f"unknown preset {name!r}"
    other, group = next((each for each in places if each[0] == world), places[0])
    if other != world:
        return f"preset {name!r} is for tasks of {other}, not of {world}"
    return f"preset {name!r} is for {agents_of(group)[0]}, not for {agent}"
