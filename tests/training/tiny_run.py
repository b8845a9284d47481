"""A run that takes seconds, as a configuration and as a preset, and a process to train it in."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from afk.training import presets
from afk.training.changes import change
from afk.training.config import Config
from afk.training.log import MEASURES
from afk.training.preset_rules import Rule

# The values of a preset in toy size; tests that train with it share its programs.
TINY_PRESET: dict[str, Any] = {
    "steps": 6 * 160,
    "size.width": 8,
    "size.head": 8,
    "size.view_layers": 1,
    "size.film_blocks": 1,
    "size.distinct_notes": 0,
    "settings.environments": 8,
    "settings.rollout_steps": 20,
    "settings.minibatches": 2,
    "settings.epochs": 1,
    "levels": 32,
    "log_every": 1,
    "evaluate_every": 3,
    "evaluation_episodes": 8,
}
TINY = change(Config(("qbabyai/danger",)), TINY_PRESET)
TRAIN = """
import sys
from pathlib import Path
from afk.training.trainer import train
list(train(Path(sys.argv[1])))
"""


def log_row(**changes: Any) -> dict[str, Any]:
    """A line of a log with an evaluation, in which something is otherwise."""
    measures = dict.fromkeys(MEASURES, 0.5)
    row = {"seed": 24, "updates": 1, "steps": 160, "episodes": 4, "training": {"success": 0.5}}
    row |= {"losses": {"policy": 0.1}, "evaluation": {"episodes": 8, **measures}}
    return row | dict.fromkeys(("seconds", "training_seconds", "steps_per_second"), 2.0) | changes


def add_tiny_preset(patch: pytest.MonkeyPatch) -> None:
    """Let all agents of Q-BabyAI have a preset `tiny`, until the patch is undone."""
    rule = Rule(("tiny",), "qbabyai", "any", TINY_PRESET)
    patch.setattr(presets, "RULES", (*presets.RULES, rule))
    known = {group: (*names, "tiny") for group, names in presets.PRESETS["qbabyai"].items()}
    patch.setitem(presets.PRESETS, "qbabyai", known)


def train_apart(folder: Path, **environment: str) -> None:
    """Train in a process of its own, whose environment may differ."""
    command = [sys.executable, "-c", TRAIN, str(folder)]
    subprocess.run(command, env=os.environ | environment, check=True, timeout=300)
