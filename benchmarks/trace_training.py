"""Where the time of training goes on a GPU, kernel by kernel.

    python benchmarks/trace_training.py --preset fast --seeds 5 [--task TASK] [--agent AGENT] [--updates 5]
        [--changes '{"settings.batch": 1024}']

Compiles some updates, runs them some times, traces them once, and prints a JSON record: milliseconds an
update by kind of kernel, and the kernels that take longest, each with the operation that it computes.
"""

import argparse
import json
import re
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import jax

from afk.training.build import mesh_of, schedules_of
from afk.training.changes import change
from afk.training.levels import draw_training_levels
from afk.training.machine import describe_machine
from afk.training.presets import preset
from afk.training.starting import first_learners
from afk.training.update import CompiledUpdates

# Kinds of kernels by what their names have in them; the first that fits.
KINDS = {
    "attention": "sdpa|flash",
    "convolutions": "xmma|fprop|wgrad|dgrad|convolve|nhwc",
    "products": "gemm|nvjet|cutlass|dot",
    "putting in another order": "transpose|concatenate|copy|memcpy|slice|gather|scatter",
    "sums and norms": "reduce|softmax",
    "the rest": "",
}
LONGEST = 40  # kernels that are named
REPEATS = 4


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Where the time of training goes on a GPU.")
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--agent", default="afk")
    parser.add_argument("--task", action="append")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--updates", type=int, default=5)
    parser.add_argument("--changes", type=json.loads, default={}, help="numbers that are not the preset's")
    options = parser.parse_args()
    if jax.default_backend() == "cpu":
        sys.exit("error: this traces the kernels of a GPU, and there is none")
    tasks = options.task or ["qbabyai/object-in-box"]
    config = preset(options.preset, tasks, agent=options.agent, seeds=tuple(range(options.seeds)))
    config = change(
        config, {"log_every": options.updates, "evaluate_every": options.updates} | options.changes
    )
    learner, levels, schedules = (
        first_learners(config),
        draw_training_levels(config, 0),
        schedules_of(config, 0),
    )
    run_updates = CompiledUpdates(config, learner, levels, mesh_of(config, 1))
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        learner, _, losses = run_updates(learner, levels, schedules)
        jax.block_until_ready(losses)
        seconds.append(time.perf_counter() - start)
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            jax.block_until_ready(run_updates(learner, levels, schedules)[2])
        kernels = read_kernels(Path(folder))
    steps = config.settings.steps_per_update * options.seeds * options.updates
    record = {
        "preset": options.preset,
        "agent": options.agent,
        "tasks": tasks,
        "seeds": options.seeds,
        "changes": options.changes,
        "machine": describe_machine(),
        "compile_seconds": sum(run_updates.seconds.values()),
        "steps_per_second": steps / min(seconds),
        "milliseconds_an_update": 1e3 * min(seconds) / options.updates,
        **summarise(kernels, options.updates, operations(run_updates.program)),
    }
    print(json.dumps(record, indent=1))


def read_kernels(folder: Path) -> dict[str, list[float]]:
    """Milliseconds of every run of each kernel, in all streams of the first GPU."""
    (path,) = folder.rglob("*.xplane.pb")
    planes = jax.profiler.ProfileData.from_file(str(path)).planes
    lines = (line for plane in planes if plane.name == "/device:GPU:0" for line in plane.lines)
    runs = defaultdict(list)
    for event in (event for line in lines if line.name.startswith("Stream") for event in line.events):
        runs[event.name].append(event.duration_ns / 1e6)
    return runs


def operations(program: str) -> dict[str, str]:
    """Where in the program the kernels come from that are named after instructions of the compiled one."""
    found = re.findall(r'%?([\w.\-]+) = .*?op_name="([^"]*)"', program)
    return {re.sub(r"[.\-]", "_", name): operation for name, operation in found}


def summarise(kernels: dict[str, list[float]], updates: int, known: dict[str, str]) -> dict[str, Any]:
    """What is kept of a trace; streams may run at once, so that kinds may add up to more than an update."""
    kinds = dict.fromkeys(KINDS, 0.0)
    for name, runs in kernels.items():
        kind = next(kind for kind, pattern in KINDS.items() if re.search(pattern, name, re.IGNORECASE))
        kinds[kind] += sum(runs) / updates
    longest = sorted(kernels.items(), key=lambda item: -sum(item[1]))[:LONGEST]
    return {
        "kernels_an_update": sum(map(len, kernels.values())) / updates,
        "milliseconds_by_kind": kinds,
        "longest": [
            {
                "kernel": name[:80],
                "times": len(runs),
                "milliseconds": sum(runs),
                "operation": known.get(name, ""),
            }
            for name, runs in longest
        ],
    }


if __name__ == "__main__":
    main()
