"""Records of runs that never were, with numbers that a test chooses."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from afk.agents.variants import VARIANTS
from afk.envs.registry import task_named
from afk.studies.record import RunRecord, SeedRecord
from afk.training.changes import change
from afk.training.presets import preset as find_preset

RESULTS = Path(__file__).parents[2] / "results"
SEEDS = (24, 42, 123, 321, 3407)


def make_run(
    agent: str,
    tasks: str | Sequence[str],
    success: Sequence[float],
    *,
    preset: str = "fast",
    unseen: Mapping[str, Sequence[float]] | None = None,
    length: float = 20.0,
    steps: int = 5_000_000,
    changes: Mapping[str, Any] | None = None,
) -> RunRecord:
    """A run of which each seed had a success.

    Args:
        agent: its name, which nobody needs to know.
        tasks: what it was trained on, by letters.
        success: of each of the first seeds.
        preset: what it was made from.
        unseen: success on tasks that it was not trained on.
        length: of episodes.
        steps: of training.
        changes: numbers that are not the preset's.
    """
    names = tuple(map(task_named, [tasks] if isinstance(tasks, str) else tasks))
    held_out = {task_named(task): values for task, values in (unseen or {}).items()}
    seeds = []
    for index, (seed, value) in enumerate(zip(SEEDS, success, strict=False)):
        played = dict.fromkeys(names, value)
        played |= {task: values[index] for task, values in held_out.items()}
        seeds.append(
            SeedRecord(
                seed,
                {task: make_measures(value, length) for task in names},
                {task: make_measures(each, length) | _fresh(each) for task, each in played.items()},
                make_curve(value, steps),
                {task: make_curve(value, steps)["success"] for task in names} if len(names) > 1 else {},
            )
        )
    known = agent if agent in VARIANTS else "afk"
    config = find_preset(preset, names, agent=known, steps=steps, held_out=tuple(held_out))
    config = change(replace(config, seeds=tuple(each.seed for each in seeds)), changes or {})
    return RunRecord(
        config=config.to_json() | {"agent": agent},
        variant=asdict(VARIANTS[known]),
        machine={"device": "a machine"},
        seconds=70.0,
        training_seconds=60.0,
        compile_seconds=None,
        steps_per_second=100_000.0,
        seeds=tuple(seeds),
    )


def only(record: RunRecord, seed: int) -> RunRecord:
    """A record as if its run had had one seed."""
    seeds = tuple(each for each in record.seeds if each.seed == seed)
    return replace(record, config=record.config | {"seeds": [seed]}, seeds=seeds)


def make_measures(success: float, length: float) -> dict[str, float]:
    """What an evaluation comes to."""
    return {
        "success": success,
        "episode_length": length,
        "reward": 0.9 * success,
        "queries": 2 + success,
        "precision": success,
        "recall": success / 2,
        "f1": 2 * success / 3,
    }


def make_curve(success: float, steps: int, points: int = 20) -> dict[str, list[float]]:
    """A straight way up."""
    shares = [(point + 1) / points for point in range(points)]
    return {
        "steps": [int(share * steps) for share in shares],
        "success": [share * success for share in shares],
        "episode_length": [50 - 20 * share for share in shares],
        "reward": [share * success for share in shares],
        "queries": [9 - 5 * share for share in shares],
        "f1": [share * success for share in shares],
    }


def _fresh(success: float) -> dict[str, object]:
    """What fresh levels add."""
    return {
        "episodes": 1000,
        "success_interval": [max(0.0, success - 0.01), min(1.0, success + 0.01)],
        "good_queries": 4.0,
        "query_histogram": [0, 0, 100, 200, 600, 50, *[0] * 8, 50],
    }
