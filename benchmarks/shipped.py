"""Evaluates the agents that come with the package on fresh levels: ``python benchmarks/shipped.py``.

Leaves ``results/shipped.json``, which `benchmarks/report.py` prints.
"""

from pathlib import Path

from rich.progress import track

from afk.bench import describe_machine
from afk.envs.registry import make_roomy
from afk.experiments.evaluate import play_agent, summarise
from afk.experiments.shelf import SHIPPED, find_agent, play_on, shipped_tasks
from afk.records import write_json

RESULTS = Path(__file__).parents[1] / "results"
EPISODES, SEED = 1000, 0


def main() -> None:
    """Play every task that an agent is shipped for."""
    rows = []
    for task in track(shipped_tasks(), "evaluating"):
        agent = find_agent(SHIPPED, (task,))
        play = play_on(agent, make_roomy(task), name=SHIPPED)
        played = play_agent(play, agent.network, episodes=EPISODES, seed=SEED)
        rows.append({"task": task, "agent": agent.config.agent, **summarise(played)})
    record = {"machine": describe_machine(), "seed": SEED, "tasks": rows}
    write_json(RESULTS / "shipped.json", record)


if __name__ == "__main__":
    main()
