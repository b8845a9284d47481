"""Evaluates agents that were trained with sources, by the price of a question or by the rate of lies.

    python benchmarks/knowledge.py runs/knowledge --out results/knowledge-sweeps.json

Agents with one source are swept over its price, those with several over how often all of them lie.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

from afk.api import evaluate, load_agent
from afk.envs.asking import Asking
from afk.files import write_json

PRICES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8)
RATES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)


def main() -> None:
    """Play, and write a row for each agent, task and point."""
    parser = argparse.ArgumentParser(description="Agents with sources, by price or by rate of lies.")
    parser.add_argument("runs", type=Path, help="the folder of runs")
    parser.add_argument("--episodes", type=int, default=1000, help="fresh levels a point")
    parser.add_argument("--out", type=Path, required=True, help="where to write the rows, as JSON")
    options = parser.parse_args()
    rows = []
    for path in sorted(options.runs.glob("*/last-*.safetensors")):
        agent = load_agent(path)
        sources = agent.config.sources
        name, points = ("price", PRICES) if len(sources) == 1 else ("lies", RATES)
        for task in agent.config.tasks if sources else ():
            for point in points:
                swept = tuple(replace(source, **{name: (point, point)}) for source in sources)
                found = evaluate(agent, task, episodes=options.episodes, asking=Asking(sources=swept))
                rows.append(
                    {"run": path.parent.name, "swept": name, "sources": len(sources), name: point, **found}
                )
                print(json.dumps(rows[-1]), flush=True)
    write_json(options.out, {"rows": rows})


if __name__ == "__main__":
    main()
