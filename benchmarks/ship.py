"""Puts trained agents into the package, in half precision: ``python benchmarks/ship.py CHECKPOINT ...``."""

import sys
from pathlib import Path

import afk.shipped
from afk.experiments.shelf import load_agent, save_small


def main() -> None:
    """Ship the agent of each checkpoint for the task that it was trained on."""
    for name in sys.argv[1:]:
        agent = load_agent(Path(name))
        (task,) = agent.config.tasks
        path = Path(afk.shipped.__path__[0]) / f"{task.replace('/', '--')}.safetensors"
        save_small(path, agent)
        print(f"{task}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
