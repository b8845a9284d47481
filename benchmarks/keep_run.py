"""Keeps the evaluations of a run that has no record among the results, such as one that was stopped.

    python benchmarks/keep_run.py NAME FOLDER MACHINE [RECORD]

Adds a line to ``results/recipe-runs.json``: the configuration, and for each seed and task
``[steps, success, episode length, queries, F1]`` of every evaluation; given its record, also what the last
agents came to on tasks that they were not trained on.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from afk.files import write_file
from afk.studies.record import RunRecord, read_record
from afk.training.config import read_config
from afk.training.log import evaluation_of, read_log

RESULTS = Path(__file__).parents[1] / "results" / "recipe-runs.json"
MEASURES = ("success", "episode_length", "queries", "f1")


def main() -> None:
    """Add the run, or put it in the place of one of that name."""
    name, folder, machine, *record = sys.argv[1:]
    kept = json.loads(RESULTS.read_text())
    added = describe(name, Path(folder), machine)
    if record:
        added["unseen"] = describe_unseen(read_record(Path(record[0])))
    runs = [run for run in kept["runs"] if run["run"] != name] + [added]
    lines = ",\n".join(map(json.dumps, runs))
    content = f'{{"what": {json.dumps(kept["what"])}, "runs": [\n{lines}\n]}}\n'
    write_file(RESULTS, content.encode())


def describe(name: str, folder: Path, machine: str) -> dict[str, Any]:
    """What is kept of a run."""
    config, log = read_config(folder), read_log(folder)
    return {
        "run": name,
        "machine": machine,
        "config": config.to_json(),
        "steps": log[-1]["steps"],
        "training_seconds": round(log[-1]["training_seconds"], 1),
        "evaluations": {
            str(seed): {
                task: [
                    _point(row["steps"], evaluation_of(row, task))
                    for row in log
                    if row["seed"] == seed and "evaluation" in row
                ]
                for task in dict.fromkeys(config.tasks)
            }
            for seed in config.seeds
        },
    }


def describe_unseen(record: RunRecord) -> dict[str, Any]:
    """What the last agent of each seed came to on fresh levels of the tasks that it was not trained on."""
    return {
        str(seed.seed): {
            task: _point(record.config["steps"], found)
            for task, found in seed.fresh.items()
            if task not in record.tasks
        }
        for seed in record.seeds
    }


def _point(steps: int, found: Mapping[str, Any]) -> list[float]:
    """What was found on a task after so many steps."""
    return [steps, *(round(found[measure], 3) for measure in MEASURES)]


if __name__ == "__main__":
    main()
