"""Serve the small model, and play it with `afk eval openai:small` on every task in every mode.

What each evaluation leaves is under ``--out``; the results are gathered in ``--record`` as they come, with
how the model was trained. The same command goes on where it was stopped.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from afk.envs.registry import WORLDS
from afk.files import read_object, write_json
from afk.play.rules import MODES

HERE = Path(__file__).parent
FIRST_PORT = 8101
PATIENCE = 180.0  # seconds until a server has to answer


def evaluate(task: str, mode: str, address: str, options: argparse.Namespace) -> dict[str, Any]:
    """Run the command for one task and mode; returns its result."""
    folder = options.out / f"{task.replace('/', '-')}-{mode}"
    command = [sys.executable, "-m", "afk", "eval", f"openai:{options.name}", "--base-url", address]
    command += ["--task", task, "--episodes", str(options.episodes), "--mode", mode, "--macros"]
    command += ["--max-tokens", "64", "--at-once", "25", "--out", str(folder)]
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"{task}, {mode}: {(done.stderr.strip() or done.stdout)[-300:]}")
    return json.loads((folder / "result.json").read_text())


def wait_for(address: str) -> None:
    """Wait until a server answers."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            with urllib.request.urlopen(f"{address}/models", timeout=5):
                return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.5)


def main() -> int:
    """Serve, play, gather."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--name", default="small")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--record", type=Path, required=True)
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--modes", nargs="+", default=["asking", "all-told", "no-questions"], choices=MODES)
    parser.add_argument("--tasks", nargs="+", help="all if none is named")
    parser.add_argument("--servers", type=int, default=1)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    tasks = options.tasks or [task.name for world in WORLDS.values() for task in world.paper_tasks()]
    addresses = [f"http://127.0.0.1:{FIRST_PORT + number}/v1" for number in range(options.servers)]
    jobs = [(task, mode) for mode in options.modes for task in tasks]
    learned = options.model / "training.json"
    training = read_object(learned) if learned.exists() else {}
    results, failed = [], 0
    with ExitStack() as stack:
        for number in range(options.servers):
            command = [sys.executable, str(HERE / "serve.py"), "--model", str(options.model)]
            command += ["--name", options.name, "--port", str(FIRST_PORT + number)]
            stack.callback(subprocess.Popen(command).terminate)
        for address in addresses:
            wait_for(address)
        pool = stack.enter_context(ThreadPoolExecutor(options.processes))
        futures = [
            pool.submit(evaluate, task, mode, addresses[number % len(addresses)], options)
            for number, (task, mode) in enumerate(jobs)
        ]
        for future in as_completed(futures):
            try:
                result = future.result()
            except ValueError as error:
                failed += 1
                print(error, flush=True)
                continue
            results.append(result)
            results.sort(key=lambda each: (each["task"], each["mode"]))
            write_json(options.record, {"training": training, "results": results})
            print(f"{result['task']}, {result['mode']}: {result['success']:.1%}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
