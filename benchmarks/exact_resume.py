"""Whether a run that is stopped and goes on ends as one that was not, bit for bit, on this machine.

    python benchmarks/exact_resume.py [--preset fast] [--task TASK] [--lines 4]

Trains a run whole and once more in processes that are killed after each line of the log, compares everything
that the two end with, and prints what was found as JSON. Processes share a cache of compiled programs, as
runs do.
"""

import argparse
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from safetensors.numpy import load_file

from afk.training.machine import describe_machine
from afk.training.presets import preset
from afk.training.trainer import start_run

_TRAIN = """
import os, signal, sys
from pathlib import Path
from afk.training.trainer import train
for _ in train(Path(sys.argv[1])):
    if sys.argv[2] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
"""


def main() -> None:
    """Train twice, compare, and print."""
    parser = argparse.ArgumentParser(description="Exact resume on this machine.")
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--task", default="qbabyai/object-in-box")
    parser.add_argument("--lines", type=int, default=4, help="lines of the log")
    arguments = parser.parse_args()
    config = preset(arguments.preset, [arguments.task])
    config = replace(config, steps=arguments.lines * config.log_every * config.settings.steps_per_update)
    with TemporaryDirectory() as folder:
        place = Path(folder)
        environment = {"JAX_COMPILATION_CACHE_DIR": str(place / "compiled")} | os.environ
        kills = {}
        for name in ("whole", "killed"):
            start_run(config, place / name)
            command, kills[name] = [sys.executable, "-c", _TRAIN, str(place / name), name], 0
            while code := subprocess.run(command, env=environment, check=False).returncode:
                if code > 0:
                    sys.exit("error: training failed")
                kills[name] += 1
        # Both have the same arrays: otherwise the one that was killed could not have gone on.
        whole, pieced = (load_file(place / name / "state.safetensors") for name in kills)
    differing = [name for name in whole if not np.array_equal(whole[name], pieced[name])]
    found = {
        "machine": describe_machine(),
        "preset": arguments.preset,
        "task": arguments.task,
        "steps": config.steps,
        "kills": kills["killed"],
        "arrays": len(whole),
        "arrays_that_differ": differing,
    }
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
