"""Export episodes of the expert on all tasks, with macros, in as many processes as there are cores."""

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

SEED = 1  # `afk eval` plays seed 0


def write(task: str, episodes: int, folder: str) -> str:
    """Write the episodes of one task."""
    from afk.files import keep_compiled_programs
    from afk.play.export import Export, play_episodes, write_episodes

    keep_compiled_programs()
    export = Export(task, episodes=episodes, seed=SEED, macros=True)
    write_episodes(Path(folder) / f"{task.replace('/', '-')}.jsonl", export, list(play_episodes(export)))
    return task


def main() -> None:
    """Write all tasks."""
    from afk.envs.registry import WORLDS

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=500)
    parser.add_argument("--out", required=True)
    parser.add_argument("--worlds", nargs="+", default=[*WORLDS], choices=[*WORLDS])
    options = parser.parse_args()
    tasks = [task.name for name in options.worlds for task in WORLDS[name].paper_tasks()]
    with ProcessPoolExecutor(min(len(tasks), os.cpu_count() or 1), get_context("spawn")) as pool:
        done = pool.map(write, tasks, [options.episodes] * len(tasks), [options.out] * len(tasks))
        for task in done:
            print(task, flush=True)


if __name__ == "__main__":
    main()
