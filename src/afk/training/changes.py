"""Runs that differ from a preset: values by name, files of values, and what each value means."""

import inspect
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from afk.agents.base import Size
from afk.learning.algorithm import find_algorithm
from afk.training.config import Config, flatten, nest

# What other libraries call some settings, for whoever types it.
_ALIASES = {
    "lr": "learning_rate",
    "gamma": "discount",
    "lambda": "gae_lambda",
    "gae": "gae_lambda",
    "ent_coef": "entropy_coef",
    "vf_coef": "value_coef",
    "clip_range": "clip",
    "clip_coef": "clip",
    "num_envs": "environments",
    "n_envs": "environments",
    "envs": "environments",
    "num_steps": "rollout_steps",
    "n_steps": "rollout_steps",
    "n_epochs": "epochs",
    "update_epochs": "epochs",
    "num_minibatches": "minibatches",
    "batch_size": "batch",
    "beta": "bonus",
    "hidden_size": "width",
    "total_timesteps": "steps",
}


def change(config: Config, changes: Mapping[str, Any]) -> Config:
    """A run with other numbers; a ValueError that names the first that it does not have, or cannot have.

    Args:
        config: the run.
        changes: values by name, as in the file of a run: ``hint_fraction``, ``settings.bonus``.
    """
    values = flatten(config.to_json())
    numbers = {name for name, value in values.items() if isinstance(value, int | float)}
    for name, value in changes.items():
        if name not in numbers:
            raise ValueError(f"a run has no number {name!r}; {_suggest(name, numbers)}")
        kind = type(values[name])
        if isinstance(value, bool) != (kind is bool) or not isinstance(value, kind | int):
            raise ValueError(f"{name} is like {json.dumps(values[name])}, not {json.dumps(value)}")
        values[name] = kind(value)
    return Config.from_json(nest(values))


def _suggest(name: str, names: Collection[str]) -> str:
    """What somebody may have meant who wrote a name that is none of some."""
    word = name.rpartition(".")[2]
    alias = _ALIASES.get(word, word)
    near = [each for each in names if each.rpartition(".")[2] == alias]
    if not near:
        words = {each.rpartition(".")[2]: each for each in names}
        near = [words[match] for match in get_close_matches(word, words, n=1)]
    return f"did you mean {near[0]}?" if near else "`afk config` lists them all"


def merge(config: Config, content: Mapping[str, Any]) -> Config:
    """A run with the values that a file of a user's has, in the form of a run's ``config.json``.

    Args:
        config: the run.
        content: some of its values, those of ``size`` and ``settings`` in objects of their own or by names
            such as ``settings.bonus``; with another algorithm, its own defaults are what settings begin with.
    """
    base, values = flatten(config.to_json()), flatten(content)
    algorithm = values.get("settings.algorithm", base["settings.algorithm"])
    if algorithm != base["settings.algorithm"]:
        base = flatten(replace(config, settings=find_algorithm(algorithm).settings()).to_json())
    for name in values:
        if name not in base:
            raise ValueError(f"a run has no {name!r}; {_suggest(name, base)}")
    return Config.from_json(nest(base | values))


def meanings(config: Config) -> dict[str, str]:
    """What each value of a run means, by names such as ``settings.bonus``: what docstrings say of it."""
    parts = {"": Config, "size.": Size, "settings.": type(config.settings)}
    found = {"settings.algorithm": "the algorithm that trains the network"}
    for prefix, part in parts.items():
        found |= {prefix + name: meaning for name, meaning in _attributes(part).items()}
    return {name: found.get(name, "") for name in flatten(config.to_json())}


def _attributes(part: type) -> dict[str, str]:
    """The section on attributes of a class's docstring: a sentence or more by name."""
    _, _, section = inspect.cleandoc(part.__doc__ or "").partition("\nAttributes:\n")
    entries = re.findall(r"^    (\w+): (.*(?:\n {5,}.*)*)", section, re.M)
    return {name: " ".join(text.split()) for name, text in entries}
