"""A run that takes seconds, and a process to train it in."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from afk.agents.agent import Size
from afk.experiments.config import Config
from afk.learn.ppo import Settings

# A preset in toy size; tests that train with it share its programs.
TINY_PRESET: dict[str, Any] = {
    "steps": 6 * 160,
    "size": Size(width=8, head=8, view_layers=1, film_blocks=1, distinct_notes=0),
    "settings": Settings(environments=8, steps=20, minibatches=2, epochs=1),
    "levels": 32,
    "chunk": 1,
    "evaluate_every": 3,
    "evaluation_episodes": 8,
}
TINY = Config(("qbabyai/danger",), **TINY_PRESET)
TRAIN = """
import sys
from pathlib import Path
from afk.experiments.train import train
list(train(Path(sys.argv[1])))
"""


def train_apart(folder: Path, **environment: str) -> None:
    """Train in a process of its own, whose environment may differ."""
    command = [sys.executable, "-c", TRAIN, str(folder)]
    subprocess.run(command, env=os.environ | environment, check=True, timeout=300)
