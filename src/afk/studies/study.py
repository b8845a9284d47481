"""Studies: runs that are trained one after another, each of which leaves a record.

    RUNS/fast--afk--CS--9f3c1a20ab--seeds-24+42/    the folder of a run, see `afk.training.trainer`
    RECORDS/fast--afk--CS--9f3c1a20ab.json          the record of all its seeds, which every table reads

What has a record is not trained again, seeds that a record lacks are, and a run that was stopped goes on: a
study can be stopped at any moment and started again with the same command.
"""

import time
from collections.abc import Sequence
from concurrent import futures
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
from rich.console import Console
from rich.table import Table

from afk.checks import MOST
from afk.studies.record import (
    RunRecord,
    find_record,
    keep_record,
    merge_records,
    preset_changes,
    read_record,
    run_name,
    short_name,
    write_record,
)
from afk.studies.summarise import make_record
from afk.training.config import Config, read_config, run_difference
from afk.training.keeping import free_if_untrained
from afk.training.lock import lock
from afk.training.log import read_log
from afk.training.pretrained import begins_with_pretrained
from afk.training.progress import train_with_bar
from afk.training.trainer import compile_run, start_run

SEEDS = (24, 42, 123, 321, 3407)  # the paper's
FRESH_LEVELS = 1000
RECORD = "record.json"  # in the folder of a run
_COMPILERS = 2  # runs that are compiled at once


def do_study(
    study: Sequence[Config],
    *,
    runs: Path,
    records: Path,
    console: Console,
    levels: int,
    ahead: bool = False,
) -> list[str]:
    """Train and evaluate what has no record yet, in order.

    Args:
        study: the runs.
        runs: where their folders are kept.
        records: where their records are written.
        console: where to say how it goes.
        levels: fresh levels for each agent and task in the end.
        ahead: compile the next runs while one trains; takes a cache of compiled programs.

    Returns:
        What could not be trained, a line for each. A KeyboardInterrupt if it was stopped.
    """
    if ahead and not jax.config.jax_compilation_cache_dir:  # pyright: ignore[reportAttributeAccessIssue]
        raise ValueError("compiling ahead takes a cache of compiled programs: set JAX_COMPILATION_CACHE_DIR")
    failures: list[str] = []
    waiting: list[Config] = []
    for config in study:
        try:
            if (left := what_is_left(config, runs, records)) is not None:
                waiting.append(left)
        except ValueError as error:
            failures.append(str(error))
    compilers = futures.ThreadPoolExecutor(_COMPILERS)
    try:
        # The first by itself: nothing can train before it is there, and several at once take longer each.
        compiled = [compilers.submit(_compile, runs, config) for config in waiting[:1] if ahead]
        futures.wait(compiled)
        compiled += [compilers.submit(_compile, runs, config) for config in waiting[1:] if ahead]
        for number, config in enumerate(waiting):
            futures.wait(compiled[number : number + 1])
            name = run_name(config.to_json())
            console.print(f"run {number + 1} of {len(waiting)}: {name}", markup=False, highlight=False)
            try:
                # Seeds that were trained apart go on apart, and are kept together: they play the same tasks.
                parts = [
                    do_run(part, run_folder(runs, part), console=console, levels=levels)
                    for part in split_by_folder(runs, config)
                ]
                record = merge_records(parts)
                with lock(records, wait=True, file=".lock"):  # other lanes may add seeds of the same run
                    keep_record(records, record)
            except ValueError as error:
                failures.append(f"{name}: {error}")
    finally:
        compilers.shutdown(cancel_futures=True)
    return failures


def _compile(runs: Path, config: Config) -> None:
    """Compile what a run will, part by part; see `split_by_folder`."""
    for part in split_by_folder(runs, config):
        compile_run(part)


def do_run(
    config: Config,
    folder: Path,
    *,
    console: Console,
    levels: int,
    devices: int | None = None,
    wait: bool = False,
) -> RunRecord:
    """Train a run to its end, evaluate its agents, and leave its record in its folder.

    Args:
        config: what is trained.
        folder: of the run; it goes on with the run that is there.
        console: where to say how it goes.
        levels: fresh levels for each agent and task in the end.
        devices: how many to use; all there are if not given.
        wait: for another process that trains the run; otherwise that is a ValueError.
    """
    with lock(folder, wait=wait):
        new = open_run(config, folder)
        with free_if_untrained(folder, new=new):
            return finish_run(folder, console, held_out=config.held_out, levels=levels, devices=devices)


def open_run(config: Config, folder: Path) -> bool:
    """Make the folder of a run if it is not there, and tell so; a ValueError if another run is."""
    if not (folder / "config.json").exists():
        start_run(config, folder, begins_with_pretrained(config))
        return True
    if difference := run_difference(config, read_config(folder)):
        raise ValueError(f"{folder} holds another run: {difference}; choose another folder for runs")
    return False


def finish_run(
    folder: Path,
    console: Console,
    *,
    levels: int,
    held_out: Sequence[str] = (),
    devices: int | None = None,
    loggers: Sequence[str] = (),
) -> RunRecord:
    """Train the run of a folder to its end, and write its record there; whoever calls has the lock.

    A KeyboardInterrupt if training was stopped. A record that is there and lacks nothing stays as it is.
    """
    if levels > MOST:
        raise ValueError(f"each agent plays at most {MOST:,} levels in the end, not {levels:,}")
    before = _read_own(folder)
    if before is not None and before.seeds[0].fresh.keys() >= set(held_out):
        return before
    logged = _logged_seconds(folder)
    start = time.perf_counter()
    if not train_with_bar(folder, console, devices=devices, loggers=loggers):
        raise KeyboardInterrupt
    trained = _logged_seconds(folder) - logged
    compiling = time.perf_counter() - start - trained if trained else None
    record = make_record(folder, held_out=held_out, levels=levels, compile_seconds=compiling)
    if before is not None:  # evaluated on more tasks, perhaps elsewhere: it was trained where it was
        record = replace(record, machine=before.machine, compile_seconds=before.compile_seconds)
    write_record(folder / RECORD, record)
    return record


def run_folder(runs: Path, config: Config) -> Path:
    """The folder of a run, whatever else its name says beside its identity and its seeds."""
    ending = f"{config.identity}--seeds-{'+'.join(map(str, config.seeds))}"
    known = next(iter(sorted(runs.glob(f"*{ending}"))), None)
    name = run_name(config.to_json()).removesuffix(config.identity)
    return known or runs / f"{name}{ending}"


def split_by_folder(runs: Path, config: Config) -> list[Config]:
    """A run in parts: seeds that have a folder together already, and all others."""
    parts, left = [], list(config.seeds)
    for seeds in sorted(_folders(runs, config).values(), key=len, reverse=True):
        if set(seeds) <= set(left):
            parts.append(replace(config, seeds=seeds))
            left = [seed for seed in left if seed not in seeds]
    return [*parts, replace(config, seeds=tuple(left))] if left else parts


def _folders(runs: Path, config: Config) -> dict[Path, tuple[int, ...]]:
    """The folders of a run, whatever its seeds, and the seeds of each."""
    found: dict[Path, tuple[int, ...]] = {}
    for folder in sorted(runs.glob(f"*{config.identity}--seeds-*")):
        numbers = folder.name.rpartition("--seeds-")[2].split("+")
        if all(map(str.isdecimal, numbers)) and (folder / "config.json").exists():
            found[folder] = tuple(map(int, numbers))
    return found


def what_is_left(config: Config, runs: Path, records: Path) -> Config | None:
    """Of a run what its record lacks: seeds, or tasks that it is to play unseen; None if nothing.

    A ValueError if agents have to play that are not in the folders of runs: nothing is trained a second time.
    """
    path = find_record(records, config.identity)
    if path is None:
        return config
    seeds = read_record(path).seeds
    known = tuple(task for task in seeds[0].fresh if task not in config.tasks)
    tasks = tuple(dict.fromkeys((*known, *config.held_out)))
    recorded = tuple(each.seed for each in seeds)
    if tasks != known:  # agents of all seeds have to play
        kept = {seed for seeds in _folders(runs, config).values() for seed in seeds}
        if lost := [seed for seed in recorded if seed not in kept]:
            lacking = next(task for task in tasks if task not in known)
            raise ValueError(f"{path} lacks {lacking}, and its agent of seed {lost[0]} is not in {runs}")
        return replace(config, seeds=tuple(dict.fromkeys((*recorded, *config.seeds))), held_out=tasks)
    missing = tuple(seed for seed in config.seeds if seed not in recorded)
    return replace(config, seeds=missing, held_out=tasks) if missing else None


class Progress(NamedTuple):
    """How far a run is.

    Attributes:
        recorded: how many of its seeds have a record.
        trained: the share of training that is done, over all seeds.
        success: in the final metric, or in the last evaluations so far; None before the first.
    """

    recorded: int
    trained: float
    success: float | None

    def state(self, seeds: int) -> str:
        """In words, of a run of so many seeds."""
        if self.recorded >= seeds:
            return "recorded"
        if self.trained >= 1:
            return "to be evaluated"
        return f"{self.trained:.0%} trained" if self.trained else "waiting"


def find_progress(config: Config, *, runs: Path, records: Path) -> Progress:
    """How far a run is, from its record, and from the folders of the seeds that it lacks."""
    path = find_record(records, config.identity)
    found = {} if path is None else {seed.seed: seed.final for seed in read_record(path).seeds}
    done = [
        np.mean([each["success"] for each in found[seed].values()]) for seed in config.seeds if seed in found
    ]
    last: dict[int, tuple[float, list[float]]] = {}
    for folder in sorted(runs.glob(f"*{config.identity}--seeds-*")):
        rows = read_log(folder)
        for seed in (seed for seed in config.seeds if seed not in found):
            mine = [row for row in rows if row["seed"] == seed]
            share = mine[-1]["updates"] / config.updates if mine else 0.0
            evaluated = [row["evaluation"]["success"] for row in mine if "evaluation" in row]
            last[seed] = max((share, evaluated[-1:]), last.get(seed, (0.0, [])))  # in whichever is further
    trained = (len(done) + sum(share for share, _ in last.values())) / len(config.seeds)
    success = [float(each) for each in done] + [each for _, some in last.values() for each in some]
    return Progress(len(done), trained, float(np.mean(success)) if success else None)


def overview(study: Sequence[Config], *, runs: Path, records: Path) -> Table:
    """How far the runs of a study are: a line for each, or what is wrong with it."""
    table = Table("run", "not the preset's", "state", "success", "steps a seed", "seeds")
    for config in study:
        name = f"{config.preset} {config.agent} {'+'.join(map(short_name, config.tasks))}"
        changes = ", ".join(f"{key} {value}" for key, value in preset_changes(config.to_json()).items())
        try:
            found = find_progress(config, runs=runs, records=records)
        except ValueError as error:
            table.add_row(name, changes, str(error))
            continue
        success = "" if found.success is None else f"{found.success:.1%}"
        state = found.state(len(config.seeds))
        table.add_row(name, changes, state, success, f"{config.steps:,}", str(len(config.seeds)))
    return table


def _read_own(folder: Path) -> RunRecord | None:
    """The record in the folder of a run, if there is one."""
    return read_record(folder / RECORD) if (folder / RECORD).exists() else None


def _logged_seconds(folder: Path) -> float:
    rows = read_log(folder)
    return rows[-1]["seconds"] if rows else 0.0
