"""Evaluates the agents that come with the package on fresh levels: ``python benchmarks/pretrained.py``.

Leaves ``results/pretrained.json``, which `benchmarks/report.py` prints; rows of tasks that are not played
stay. The tasks are those that the agents were trained on and, for Q-BabyAI, the same with the paper's own
levels.
"""

import argparse
from pathlib import Path

from rich.progress import track

from afk.envs.registry import WORLDS, make_roomy, task_named
from afk.files import read_object, write_json
from afk.training.evaluate import play_agent, summarise
from afk.training.machine import describe_machine
from afk.training.pretrained import PRETRAINED, find_agent, play_on, pretrained_tasks

RESULT = Path(__file__).parents[1] / "results" / "pretrained.json"
EPISODES, SEED = 1000, 0


def main() -> None:
    """Play the tasks, and write what came of it."""
    known = (*pretrained_tasks(), *(task.name for world in WORLDS.values() for task in world.editions()))
    parser = argparse.ArgumentParser(description="The pretrained agents on fresh levels.")
    parser.add_argument("--task", nargs="+", type=task_named, choices=known, default=known, metavar="TASK")
    rows = {row["task"]: row for row in read_object(RESULT)["tasks"]} if RESULT.exists() else {}
    for task in track(parser.parse_args().task, "evaluating"):
        agent = find_agent(PRETRAINED, (task,), any_task=True)
        play = play_on(agent, make_roomy(task), name=PRETRAINED)
        played = play_agent(play, agent.network, episodes=EPISODES, seed=SEED)
        rows[task] = {"task": task, "agent": agent.config.agent, **summarise(played)}
    tasks = [rows[task] for task in known if task in rows]
    write_json(RESULT, {"machine": describe_machine(), "seed": SEED, "tasks": tasks})


if __name__ == "__main__":
    main()
