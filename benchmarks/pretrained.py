"""Evaluates the agents that come with the package on fresh levels: ``python benchmarks/pretrained.py``.

Leaves ``results/pretrained.json``, which `benchmarks/report.py` prints.
"""

from pathlib import Path

from rich.progress import track

from afk.envs.registry import make_roomy
from afk.files import write_json
from afk.training.evaluate import play_agent, summarise
from afk.training.machine import describe_machine
from afk.training.pretrained import PRETRAINED, find_agent, play_on, pretrained_tasks

RESULTS = Path(__file__).parents[1] / "results"
EPISODES, SEED = 1000, 0


def main() -> None:
    """Play every task that an agent is pretrained for."""
    rows = []
    for task in track(pretrained_tasks(), "evaluating"):
        agent = find_agent(PRETRAINED, (task,))
        play = play_on(agent, make_roomy(task), name=PRETRAINED)
        played = play_agent(play, agent.network, episodes=EPISODES, seed=SEED)
        rows.append({"task": task, "agent": agent.config.agent, **summarise(played)})
    record = {"machine": describe_machine(), "seed": SEED, "tasks": rows}
    write_json(RESULTS / "pretrained.json", record)


if __name__ == "__main__":
    main()
