"""Whether a run learns the same on 1, 2, 4 and 8 devices, and what devices exchange.

    python benchmarks/devices.py            # some minutes; prints results/devices-cpu.json
    python benchmarks/devices.py --show     # the table of the record that is there

A CPU pretends to have eight devices; they share its cores, so that nothing here is about speed. Each run is
small: its learning curve is compared with that on one device, line by line of the log, and so are its
parameters. What devices exchange is read from the compiled program, and computed for presets of full size.
"""

import argparse
import json
import re
from functools import partial
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import equinox as eqx
import jax
import numpy as np
from safetensors.numpy import load_file

from afk.files import read_object
from afk.learning import ppo
from afk.training.build import mesh_of, play_of, schedules_of
from afk.training.changes import change
from afk.training.config import Config
from afk.training.levels import draw_training_levels
from afk.training.log import Row, read_log
from afk.training.machine import describe_machine
from afk.training.presets import preset
from afk.training.starting import first_learners
from afk.training.trainer import spread_learner, start_run, train
from afk.training.update import CompiledUpdates

RECORD = Path("results/devices-cpu.json")
COUNTS = (1, 2, 4, 8)
LINES = 5
EVALUATED = {"log_every": 2, "evaluate_every": 2, "evaluation_episodes": 40, "levels": 256}
# Small runs: preset, task and what is smaller.
RUNS = {
    "ppo": (
        "laptop",
        "qbabyai/danger",
        EVALUATED | {"steps": LINES * 2 * 1280, "settings.environments": 32, "settings.minibatches": 4},
    ),
    "dqn": (
        "paper",
        "qtextworld/take-1",
        EVALUATED
        | {
            **{"size.width": 16, "size.head": 16, "size.view_layers": 1},
            **{"settings.environments": 16, "settings.batch": 16, "settings.samples_per_step": 1.0},
            **{"settings.capacity": 4096, "settings.warm_up": 8, "settings.target_every": 16},
            **{"log_every": 10, "evaluate_every": 10, "steps": LINES * 10 * 32},
        },
    ),
}
FULL = {"ppo": ("fast", "qbabyai/danger"), "dqn": ("paper-wide", "qtextworld/take-1")}
# For the sizes of arrays few episodes do.
LITTLE = {
    "fast": {"levels": 64, "settings.environments": 8, "settings.minibatches": 1},
    "paper-wide": {
        **{"levels": 64, "settings.environments": 8, "settings.batch": 8},
        **{"settings.samples_per_step": 1.0, "settings.capacity": 1024},
    },
}
BYTES = {"pred": 1, "u8": 1, "s8": 1, "u16": 2, "bf16": 2, "s32": 4, "u32": 4, "f32": 4}


def main() -> None:
    """Train, compare, and print."""
    parser = argparse.ArgumentParser(description="Training on several devices, which a CPU pretends to have.")
    parser.add_argument("--show", action="store_true", help="print the table of the record that is there")
    if parser.parse_args().show:
        print(write_table(read_object(RECORD)))
        return
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_num_cpu_devices", COUNTS[-1])
    found: dict[str, Any] = {"machine": describe_machine()}
    for name, (chosen, task, changes) in RUNS.items():
        config = change(preset(chosen, [task]), changes)
        found[name] = {
            "preset": chosen,
            "task": task,
            "changes": changes,
            "devices": compare(config),
            "exchanged": exchanged(config),
            "full_size": full_size(*FULL[name]),
        }
    print(json.dumps(found, indent=1))


def compare(config: Config) -> dict[str, Any]:
    """The run on each number of devices, and what in it is not as on one."""
    with TemporaryDirectory() as place:
        folders = {count: Path(place) / str(count) for count in COUNTS}
        for count, folder in folders.items():
            start_run(config, folder)
            list(train(folder, devices=count))
        rows = {count: read_log(folder) for count, folder in folders.items()}
        states = {count: load_file(folder / "last-24.safetensors") for count, folder in folders.items()}
    return {str(count): _difference(rows[count], states[count], rows[1], states[1]) for count in COUNTS}


def _difference(
    rows: list[Row], state: dict[str, np.ndarray], expected: list[Row], wanted: dict[str, np.ndarray]
) -> dict[str, Any]:
    """A learning curve, how much of it is the same, and how far the rest is off."""
    pairs = list(zip(rows, expected, strict=True))
    losses = [
        abs(value - other["losses"][name]) / max(abs(other["losses"][name]), 1e-3)
        for row, other in pairs
        for name, value in row["losses"].items()
        if name != "ratio_error"  # it is nothing but rounding
    ]
    return {
        "steps": [row["steps"] for row in rows],
        "success": [row["training"]["success"] for row in rows],
        "lines": len(rows),
        "lines_with_the_same_episodes": sum(row["episodes"] == other["episodes"] for row, other in pairs),
        "lines_with_the_same_evaluation": sum(
            row["evaluation"] == other["evaluation"] for row, other in pairs
        ),
        "losses_differ_by": max(losses),
        "parameters_differ_by": max(float(np.abs(state[name] - wanted[name]).max()) for name in wanted),
    }


def exchanged(config: Config) -> dict[str, Any]:
    """Bytes that the compiled program of eight devices adds up and gathers, each in its loop once."""
    mesh = mesh_of(config, COUNTS[-1])
    learner = spread_learner(first_learners(config), mesh)
    program = CompiledUpdates(config, learner, draw_training_levels(config, 0), mesh).program
    found: dict[str, Any] = {"parameters": _parameters(learner.agent)}
    for kind in ("all-reduce", "all-gather", "all-to-all", "collective-permute"):
        results = re.findall(rf"= (.*?) {kind}(?:-start)?\(", program)
        found[kind] = {"operations": len(results), "bytes": sum(map(_bytes, results))}
    return found


def _bytes(result: str) -> int:
    """The size of what an operation of a compiled program gives: ``f32[8,2]{1,0}``, or some of them."""
    shapes = re.findall(r"(\w+)\[([\d,]*)\]", result)
    return sum(BYTES[kind] * prod(int(each) for each in shape.split(",") if each) for kind, shape in shapes)


def full_size(name: str, task: str) -> dict[str, Any]:
    """What a preset exchanges: gradients of a batch, and experience of an update, in bytes."""
    config = preset(name, [task])
    settings, little = config.settings, change(config, LITTLE[name])
    learner = jax.tree.map(_first, first_learners(little))
    if isinstance(settings, ppo.Settings):
        levels = jax.tree.map(_first, draw_training_levels(little, 0))
        schedules, gradients = schedules_of(little, 0), settings.epochs * settings.minibatches
        collect = partial(ppo.gather, play_of(little), little.settings, learner, levels, schedules)
        sequences = jax.eval_shape(collect, jax.random.key(0))[1]
        step = _size(sequences) / little.settings.steps_per_update
    else:  # what was before a step and what came after it
        gradients, step = settings.gradients, 2 * _size(jax.tree.map(_first, learner.replay.steps))
    return {
        "preset": name,
        "parameters": _parameters(learner.agent),
        "gradient_bytes": 4 * _parameters(learner.agent),
        "gradients_an_update": gradients,
        "experience_bytes_an_update": step * settings.steps_per_update,
    }


def _first(leaf: Any) -> Any:
    return leaf[0] if eqx.is_array(leaf) else leaf


def _parameters(agent: Any) -> int:
    """How many numbers a gradient of one network has."""
    return sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(agent, eqx.is_inexact_array)))


def _size(tree: Any) -> int:
    """Bytes of arrays, or of what has their shapes."""
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))


def write_table(record: dict[str, Any]) -> str:
    """The record as a table of Markdown."""
    lines = [
        "| run | devices | same episodes | same evaluations | losses | parameters |",
        "|---|---|---|---|---|---|",
    ]
    for name in RUNS:
        for count, found in record[name]["devices"].items():
            of = found["lines"]
            same = f"{found['lines_with_the_same_episodes']} of {of} lines"
            played = f"{found['lines_with_the_same_evaluation']} of {of}"
            off = f"{found['losses_differ_by']:.0e} | {found['parameters_differ_by']:.0e}"
            lines.append(f"| {name.upper()} | {count} | {same} | {played} | {off} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
