"""Trains and evaluates agents on the four tasks of level 1 by the paper's protocol (section 4, table 1).

    python benchmarks/level_one.py --agent afk --task qbabyai/danger --runs runs/level-1

Five seeds are trained side by side. Writes ``results/level-1/AGENT--TASK.json``. A run that was stopped goes
on.
"""

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console

from afk.bench import describe_machine
from afk.experiments.config import preset, read_config
from afk.experiments.evaluate import play_agent, summarise
from afk.experiments.progress import train_with_bar
from afk.experiments.shelf import load_agent
from afk.experiments.train import final_evaluation, read_log, start_run
from afk.records import write_json

RESULTS = Path(__file__).parents[1] / "results" / "level-1"
TASKS = ("qbabyai/object-in-box", "qbabyai/danger", "qbabyai/go-to-favorite", "qbabyai/open-door")
SEEDS = (24, 42, 123, 321, 3407)
_CURVE = ("success", "episode_length", "queries", "f1")


def main() -> None:
    """Train, evaluate, and write records."""
    parser = argparse.ArgumentParser(description="Level 1 of Q-BabyAI by the paper's protocol.")
    parser.add_argument("--agent", nargs="+", default=["afk", "query", "no-query"])
    parser.add_argument("--task", nargs="+", default=list(TASKS))
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--steps", type=int, help="environment steps a seed; as the preset has it")
    parser.add_argument("--episodes", type=int, default=2000, help="fresh levels for the agent at the end")
    parser.add_argument("--runs", type=Path, default=Path("runs/level-1"), help="where runs are kept")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where records are written")
    arguments = parser.parse_args()
    steps = {} if arguments.steps is None else {"steps": arguments.steps}
    for task in arguments.task:
        for agent in arguments.agent:
            name = f"{agent}--{task.split('/')[-1]}"
            folder = arguments.runs / name
            config = preset(arguments.preset, [task], agent=agent, seeds=SEEDS, **steps)
            if not folder.exists():
                start_run(config, folder)
            if read_config(folder) != config:
                raise SystemExit(f"error: {folder} holds a run with other settings; choose another --runs")
            if not train_with_bar(folder, Console(stderr=True)):
                raise SystemExit(130)
            write_json(arguments.results / f"{name}.json", _record(folder, task, agent, arguments.episodes))


def _record(folder: Path, task: str, agent: str, episodes: int) -> dict[str, Any]:
    """What is kept of a run: the protocol's metric, fresh episodes of the last agent, and the curve."""
    log = read_log(folder)
    config = read_config(folder)
    seeds = []
    for seed in config.seeds:
        rows = [row for row in log if row["seed"] == seed]
        network = load_agent(folder / f"last-{seed}.safetensors").network
        fresh = summarise(play_agent(config.play, network, episodes=episodes, seed=seed))
        curve = [
            {"steps": row["steps"], **{name: round(row["evaluation"][name], 4) for name in _CURVE}}
            for row in rows
            if "evaluation" in row
        ]
        seeds.append({"seed": seed, "final": final_evaluation(rows), "fresh": fresh, "curve": curve})
    return {
        "agent": agent,
        "task": task,
        "machine": describe_machine(),
        "config": config.to_json(),
        "seconds": log[-1]["seconds"],
        "steps_per_second": log[-1]["steps_per_second"],
        "seeds": seeds,
    }


if __name__ == "__main__":
    main()
