"""Export episodes of the expert on all tasks in all modes, with macros, in many processes."""

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

MODES = ("asking", "asking", "all-told", "no-questions")  # of a quarter of the episodes each
SEED = 1_000  # the first part's if nothing else is said; `afk eval` plays seed 0


def write(task: str, first: int, episodes: int, folder: str) -> str:
    """Write a part of the episodes of one task."""
    from afk.files import keep_compiled_programs
    from afk.play.export import Export, play_episodes, write_episodes

    keep_compiled_programs()
    for number, mode in enumerate(MODES):
        seed = first + number
        export = Export(task, episodes=max(1, episodes // len(MODES)), seed=seed, mode=mode, macros=True)
        path = Path(folder) / f"{task.replace('/', '-')}-{mode}-{seed}.jsonl"
        write_episodes(path, export, list(play_episodes(export)))
    return f"{task}, seeds from {first} on"


def main() -> None:
    """Write all tasks."""
    from afk.envs.registry import WORLDS

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=1_000, help="of each task")
    parser.add_argument("--parts", type=int, default=2, help="files of each task and mode")
    parser.add_argument("--seed", type=int, default=SEED, help="of the first part")
    parser.add_argument("--out", required=True)
    parser.add_argument("--worlds", nargs="+", default=[*WORLDS], choices=[*WORLDS])
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    tasks = [task.name for name in options.worlds for task in WORLDS[name].paper_tasks()]
    tasks.sort(key=lambda name: -name.count("+"))  # what takes longest first
    seeds = [options.seed + part * len(MODES) for part in range(options.parts)]
    jobs = [(task, seed) for seed in seeds for task in tasks]
    os.environ["JAX_PLATFORMS"] = "cpu"
    with ProcessPoolExecutor(min(len(jobs), options.processes), get_context("spawn")) as pool:
        done = [
            pool.submit(write, task, seed, options.episodes // options.parts, options.out)
            for task, seed in jobs
        ]
        for each in done:
            print(each.result(), flush=True)


if __name__ == "__main__":
    main()
