"""What a run came to: its log, and its agents on fresh levels, as a record."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from afk.agents.base import Agent
from afk.agents.variants import find_variant
from afk.envs.level_pool import draw_pool
from afk.learning.devices import stack
from afk.learning.rollout import Play
from afk.studies.record import CURVE, RunRecord, SeedRecord
from afk.training.build import env_of, play_of
from afk.training.config import read_config
from afk.training.evaluate import Episodes, fresh_keys, play_in_chunks, summarise
from afk.training.log import Row, evaluation_of, final_evaluation, read_log
from afk.training.machine import describe_machine
from afk.training.pretrained import load_agent

POINTS = 200  # of a curve, at most


def make_record(
    folder: Path, *, held_out: Sequence[str] = (), levels: int, compile_seconds: float | None = None
) -> RunRecord:
    """What is kept of a run that is over.

    Args:
        folder: of the run.
        held_out: tasks that its agents are evaluated on besides those of its configuration.
        levels: fresh levels for each agent and task.
        compile_seconds: what compiling took, if that is known.
    """
    config, log = read_config(folder), read_log(folder)
    evaluated = {row["seed"] for row in log if "evaluation" in row}
    if lacking := [seed for seed in config.seeds if seed not in evaluated]:
        raise ValueError(f"the log in {folder} lacks evaluations of seed {lacking[0]}: nothing to record")
    config = replace(config, held_out=tuple(dict.fromkeys((*config.held_out, *held_out))))
    agents = stack([load_agent(folder / f"last-{seed}.safetensors").network for seed in config.seeds])
    envs = {task: env_of(config, task) for task in dict.fromkeys((*config.tasks, *config.held_out))}
    fresh = {
        task: _evaluate(replace(play_of(config), env=env), agents, config.seeds, levels)
        for task, env in envs.items()
    }
    seeds = []
    for index, seed in enumerate(config.seeds):
        rows = [row for row in log if row["seed"] == seed and "evaluation" in row]
        final = {task: final_evaluation(_of_task(rows, task)) for task in config.tasks}
        mine = {task: measures[index] for task, measures in fresh.items()}
        by_task = {task: _curve(_of_task(rows, task))["success"] for task in config.tasks}
        seeds.append(SeedRecord(seed, final, mine, _curve(rows), by_task if len(by_task) > 1 else {}))
    return RunRecord(
        config=config.to_json(),
        variant=asdict(find_variant(config.agent)),
        machine=describe_machine(),
        seconds=log[-1]["seconds"],
        training_seconds=log[-1]["training_seconds"],
        compile_seconds=compile_seconds,
        steps_per_second=log[-1]["steps_per_second"],
        seeds=tuple(seeds),
    )


def _evaluate(play: Play, agents: Agent, seeds: Sequence[int], levels: int) -> list[dict[str, Any]]:
    """Stacked agents side by side on fresh levels, on which `afk eval` would find the same."""
    keys = [fresh_keys(seed) for seed in seeds]
    pools = stack([draw_pool(play.env, levels_key, levels) for levels_key, _ in keys])
    chunks = play_in_chunks(play, agents, pools, stack([play_key for _, play_key in keys]))
    played = jax.tree.map(lambda *fields: np.concatenate(fields, 1), *chunks)
    each = [jax.tree.map(lambda field, index=index: field[index], played) for index in range(len(seeds))]
    return [_measure(episodes) for episodes in each]


def _measure(episodes: Episodes) -> dict[str, Any]:
    """The paper's measures, and how many episodes had 0, 1, 2, ... queries."""
    return summarise([episodes]) | {"query_histogram": np.bincount(episodes.queries).tolist()}


def _of_task(rows: list[Row], task: str) -> list[Row]:
    """Lines of a log with the evaluations of one task of a mixture."""
    return [row | {"evaluation": evaluation_of(row, task)} for row in rows]


def _curve(rows: list[Row]) -> dict[str, list[float]]:
    """The evaluations of a seed, the first and the last among them, at most `POINTS`."""
    kept = np.linspace(0, len(rows) - 1, min(len(rows), POINTS)).round().astype(int)
    points = [{"steps": rows[index]["steps"], **rows[index]["evaluation"]} for index in kept]
    return {name: [round(point[name], 4) for point in points] for name in CURVE}
