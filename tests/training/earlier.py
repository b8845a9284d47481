"""Runs as they were written before: under the names of then, without what there was not yet."""

from pathlib import Path
from typing import Any

from safetensors.numpy import load_file

from afk.training import checkpoint, legacy
from afk.training.config import ADDED_LATER, Config

# Two runs as the code of then wrote them.
GRID_RUN = """
{"tasks": ["qbabyai/object-in-box+danger"], "agent": "afk-plus-no-turns", "seeds": [24, 42], "steps": 800000,
 "n_gram": 2, "alpha": 0.01, "size": {"width": 32, "head": 32, "view_layers": 1, "film_blocks": 2,
 "kernel": 1, "places": true, "instruction_words": 16, "notes": 8, "note_words": 5, "distinct_notes": 0},
 "settings": {"algorithm": "ppo", "environments": 64, "steps": 40, "bptt": 20, "minibatches": 8, "epochs": 3,
 "learning_rate": 0.001, "discount": 0.95, "trace": 0.95, "clip": 0.2, "clip_value": false,
 "advantage_floor": 0.3, "value_weight": 0.5, "entropy_weight": 0.02, "switch_entropy_weight": 0.02,
 "entropy_pays_for_asking": false, "gradient_norm": 0.5, "bonus": 0.03, "bonus_until": 0.5,
 "lend_bonus": true, "settle_after": 0.6, "reward_scale": 20.0, "half_precision": false}, "levels": 4096,
 "scattered": 0.25, "told": 0.125, "misled": 0.0625, "cluttered": 0.75, "chunk": 10, "evaluate_every": 10,
 "evaluation_episodes": 200, "first": "0123456789abcdef"}
"""
TEXT_RUN = """
{"tasks": ["qtextworld/take-1"], "agent": "afk", "seeds": [24], "steps": 10000000, "n_gram": 1, "alpha": 0.01,
 "size": {"width": 128, "head": 128, "view_layers": 4, "film_blocks": 2, "kernel": 7, "places": false,
 "instruction_words": 28, "notes": 16, "note_words": 12, "distinct_notes": 1024}, "settings":
 {"algorithm": "dqn", "environments": 1280, "steps": 1, "batch": 512, "samples_per_step": 1.6,
 "capacity": 500000, "multi_step": 3, "discount": 0.9, "learning_rate": 0.0005, "gradient_norm": 5.0,
 "target_every": 1000, "warm_up": 100, "noise": 0.5, "bonus": 0.1, "bonus_until": 1.0, "settle_after": 1.0,
 "half_precision": true}, "levels": 16384, "scattered": 0.0, "told": 0.0, "misled": 0.0, "cluttered": 0.0,
 "chunk": 32, "evaluate_every": 160, "evaluation_episodes": 500, "first": ""}
"""


def to_old(config: Config) -> dict[str, Any]:
    """A configuration as JSON of then."""
    names, settings, agents = map(_turn, (legacy._FIELDS, legacy._SETTINGS, legacy._AGENTS))
    content = {names.get(name, name): value for name, value in config.to_json().items()}
    for name in ("preset", "held_out", *ADDED_LATER):
        part, _, field = name.rpartition(".")
        (content[part] if part else content).pop(field, None)
    content["agent"] = agents.get(config.agent, config.agent)
    content["settings"] = {settings.get(name, name): value for name, value in content["settings"].items()}
    return content


def write_old(path: Path, config: Config, tree: object, **more: object) -> set[str]:
    """Write a checkpoint of then; returns the names of the parts that its arrays are of."""
    description, parts = checkpoint.describe(config, **more), _turn(legacy._PARTS)
    checkpoint.save(path, tree, description)
    arrays = {
        ".".join(parts.get(part, part) for part in name.split(".")): array
        for name, array in load_file(path).items()
    }
    checkpoint.save(path, arrays, description | {"config": to_old(config)})
    return {part for name in arrays for part in name.split(".")}


def _turn(names: dict[str, str]) -> dict[str, str]:
    return {new: old for old, new in names.items()}
