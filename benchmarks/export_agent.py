"""Puts a trained agent into the package, in half precision.

python benchmarks/export_agent.py NAME CHECKPOINT
"""

import sys
from pathlib import Path

import afk.pretrained
from afk.training.pretrained import load_agent, save_small


def main() -> None:
    """Export the agent of a checkpoint for the tasks that it was trained on."""
    name, checkpoint = sys.argv[1:]
    agent = load_agent(Path(checkpoint))
    path = Path(afk.pretrained.__path__[0]) / f"{name}.safetensors"
    save_small(path, agent)
    print(f"{', '.join(agent.config.tasks)}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
