"""Evaluates agents that were trained with sources, by the price of a question or by the rate of lies.

    python benchmarks/knowledge.py runs/knowledge --out results/knowledge-agents.json

Agents with one source are swept over its price. Those with several are swept over how often all of them lie,
and over how often all but one do, which is another one in each level. All points have the same levels. Rows
are written point by point; what is there already is not played again.
"""

import argparse
import json
import sys
from collections.abc import Container, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from afk.envs.level_pool import Pool, draw_pool, pool_of
from afk.files import keep_compiled_programs, read_object, write_json
from afk.knowledge.traits import RANGES
from afk.learning.devices import stack
from afk.training.build import play_of
from afk.training.evaluate import fresh_keys, play_agents, summarise_by_task
from afk.training.pretrained import load_agent

PRICES = (0.0, 0.02, 0.04, 0.06, 0.08, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3, 0.36, 0.42, 0.48, 0.54, 0.6, 0.8, 1.0)
RATES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
LEVELS = 0  # the seed that they are drawn with


def main() -> None:
    """Play, and write a row for each agent, task and point."""
    parser = argparse.ArgumentParser(description="Agents with sources, by price or by rate of lies.")
    parser.add_argument("runs", type=Path, nargs="+", help="folders of runs, or folders that hold some")
    parser.add_argument("--episodes", type=int, default=1000, help="fresh levels of each task a point")
    parser.add_argument("--out", type=Path, required=True, help="where to write the rows, as JSON")
    options = parser.parse_args()
    keep_compiled_programs()
    try:
        rows: list[dict[str, Any]] = read_object(options.out)["rows"] if options.out.exists() else []
        for folder in find_runs(options.runs):
            done = {(row["run"], row["swept"], row["at"], row["episodes"]) for row in rows}
            for found in sweep(folder, options.episodes, done):
                rows += found
                write_json(options.out, {"seed": LEVELS, "rows": rows})
                print(json.dumps(found[-1]), flush=True)
    except ValueError as error:
        sys.exit(f"error: {error}")


def find_runs(folders: list[Path]) -> list[Path]:
    """Runs that have been evaluated once at least; a ValueError if there are none."""
    inside = [path for folder in folders for path in (folder, *sorted(folder.glob("*/")))]
    found = [path for path in inside if any(path.glob("last-*.safetensors"))]
    if not found:
        raise ValueError(f"no run in {', '.join(map(str, folders))} has an agent yet")
    return found


def sweep(folder: Path, episodes: int, done: Container[Any]) -> Iterator[list[dict[str, Any]]]:
    """The rows of a run, point by point, without those that are done; its seeds play side by side."""
    agents = [load_agent(path) for path in sorted(folder.glob("last-*.safetensors"))]
    config = agents[0].config
    play, sources = play_of(config), len(config.sources)
    levels_key, play_key = fresh_keys(LEVELS)
    levels = draw_pool(play.env, levels_key, episodes * len(config.tasks))
    networks = stack([agent.network for agent in agents])
    keys = jnp.stack([play_key] * len(agents))
    for swept, point in points_of(sources):
        if (config.identity, swept, point, episodes) in done:
            continue
        pool = with_terms(levels, play.env, swept, point)
        played = play_agents(play, networks, stack([pool] * len(agents)), keys)
        rows = []
        for number, agent in enumerate(agents):
            own = jax.tree.map(lambda field, number=number: field[number], played)
            for task, found in summarise_by_task(own, config.tasks).items():
                about = {"run": config.identity, "seed": agent.seed, "task": task, "sources": sources}
                rows.append(about | {"swept": swept, "at": point} | found)
        yield rows


def points_of(sources: int) -> list[tuple[str, float]]:
    """What is swept with so many sources, and where."""
    if sources == 1:
        return [("price", price) for price in PRICES]
    return [(swept, rate) for swept in ("lies", "lies of all but one") for rate in RATES]


def with_terms(levels: Pool[Any], env: Any, swept: str, point: float) -> Pool[Any]:
    """The same levels with another price, or with other rates of lies."""
    dealings = levels.states.dealings
    name, _, but_one = swept.partition(" ")
    column = dealings.character[:, :, RANGES.index(name)]
    honest = jax.random.randint(jax.random.key(LEVELS), (len(column), 1), 0, column.shape[1])
    is_swept = jnp.arange(column.shape[1]) != honest if but_one else jnp.ones(column.shape, bool)
    changed = dealings.character.at[:, :, RANGES.index(name)].set(jnp.where(is_swept, point, 0))
    return pool_of(env, replace(levels.states, dealings=replace(dealings, character=changed)))


if __name__ == "__main__":
    main()
