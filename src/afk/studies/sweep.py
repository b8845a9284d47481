"""Sweeps: the runs of a study on the machines of a Ray cluster, every seed of every run a task of its own.

    RUNS/fast--afk--CS--9f3c1a20ab--seeds-24/    the folder of a run of one seed, with its record
    RECORDS/fast--afk--CS--9f3c1a20ab.json       the record of all its seeds, which every table reads

All machines see the folder of runs. A task whose worker is lost is started again by Ray, elsewhere if need
be, and goes on from the last checkpoint. The driver keeps nothing to itself either: killed and started again,
it finds what is left by looking for records.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.live import Live

from afk.files import keep_compiled_programs
from afk.plugins import add_modules, named_modules
from afk.studies.cluster import Resources, connect, take_share, work_through
from afk.studies.record import (
    RunRecord,
    find_record,
    keep_record,
    merge_records,
    read_record,
    run_name,
)
from afk.studies.study import RECORD, do_run, open_run, overview, run_folder, what_is_left
from afk.training.config import Config
from afk.training.lock import lock

_REFRESH = 3.0  # seconds between two looks at how far all runs are


def do_sweep(
    study: Sequence[Config],
    *,
    runs: Path,
    records: Path,
    address: str,
    resources: Resources,
    levels: int,
    console: Console,
) -> list[str]:
    """Train and evaluate what has no record yet, on a cluster; gather the records of seeds.

    Args:
        study: the runs.
        runs: where runs of single seeds are kept; all machines see it. A ValueError if another sweep is at
            work there.
        records: where records are gathered.
        address: of the cluster, or ``local`` for one on this machine alone.
        resources: what the run of a seed takes.
        levels: fresh levels for each agent and task in the end.
        console: where to say how it goes.

    Returns:
        What could not be trained, a line for each; a ValueError if none of the runs can be.
    """
    with lock(runs):
        cells, failures = _prepare(study, runs, records)
        if len(failures) == len(study):
            raise ValueError(failures[0])
        waiting = [cell for cell in cells if _read_own(cell, runs) is None]
        if waiting:
            with (
                connect(address, resources, console) as ray,
                Live(console=console, auto_refresh=False, transient=True) as live,
            ):
                console.print(overview(study, runs=runs, records=records))
                modules = named_modules()
                tasks = {cell: (cell, run_folder(runs, cell), levels, resources, modules) for cell in waiting}
                for ended in work_through(ray, train_seed, tasks, resources, pause=_REFRESH):
                    if ended:
                        failures += _note(*ended, cells, runs, records, console)
                    live.update(overview(study, runs=runs, records=records), refresh=True)
    return failures


def train_seed(
    cell: Config, folder: Path, levels: int, resources: Resources, modules: Sequence[str] = ()
) -> str | None:
    """What a worker does: train a run of one seed from where it stands, and leave its record in its folder.

    A process may still train it whose driver or whose machine was given up: that one is waited for.

    Args:
        cell: the run.
        folder: of the run.
        levels: fresh levels for each task in the end.
        resources: what the worker was given.
        modules: what registers tasks and agents that are not ours; see `afk.plugins`.

    Returns:
        What went wrong, in a line; None if nothing did.
    """
    take_share(resources)
    keep_compiled_programs()
    try:
        add_modules(modules)
        console = Console(quiet=True)
        do_run(cell, folder, console=console, levels=levels, devices=resources.devices, wait=True)
    except (ValueError, OSError) as error:
        return " ".join(str(error).split())
    return None


def _prepare(
    study: Sequence[Config], runs: Path, records: Path
) -> tuple[dict[Config, list[Config]], list[str]]:
    """Start the folders of what is left to do; gather what is done but was not gathered yet.

    The driver alone starts runs, so that what is trained does not depend on a worker.

    Returns:
        The runs of single seeds that have no record, each with all of its run, and what cannot be trained, a
        line for each.
    """
    waiting: dict[Config, list[Config]] = {}
    failures: list[str] = []
    for config in study:
        try:
            left = what_is_left(config, runs, records)
            cells = [replace(left, seeds=(seed,)) for seed in left.seeds] if left else []
            for cell in cells:
                open_run(cell, run_folder(runs, cell))
            _gather(cells, runs, records)
            waiting |= dict.fromkeys(cells, cells)
        except ValueError as error:
            failures.append(str(error))
    return waiting, failures


def _gather(cells: Sequence[Config], runs: Path, records: Path) -> None:
    """Put the records of the seeds of a run that are there with those that were recorded before.

    Those have played the same tasks: otherwise all are put there together, once the last one has.
    """
    ready = {cell.seeds[0]: record for cell in cells if (record := _read_own(cell, runs))}
    path = find_record(records, cells[0].identity) if ready else None
    before = () if path is None else read_record(path).seeds
    waiting = {seed for cell in cells for seed in cell.seeds} - ready.keys()
    # Of what is left, what has a record was left for tasks that it has not played.
    if ready and waiting.isdisjoint(each.seed for each in before):
        record = merge_records([*ready.values()])
        with lock(records, wait=True, file=".lock"):
            keep_record(records, record)


def _read_own(cell: Config, runs: Path) -> RunRecord | None:
    """The record in the folder of a run of one seed, if it is there and lacks nothing."""
    path = run_folder(runs, cell) / RECORD
    record = read_record(path) if path.exists() else None
    return record if record and record.seeds[0].fresh.keys() >= set(cell.held_out) else None


def _note(
    cell: Config,
    problem: str | None,
    cells: Mapping[Config, Sequence[Config]],
    runs: Path,
    records: Path,
    console: Console,
) -> list[str]:
    """Say that a seed of a run is over, and gather its record; returns what is wrong."""
    name = f"{run_name(cell.to_json())}, seed {cell.seeds[0]}"
    try:
        if problem is not None or _read_own(cell, runs) is None:
            raise ValueError(problem or "it left no record")
        _gather(cells[cell], runs, records)
    except ValueError as error:
        return [f"{name}: {error}"]
    console.print(f"recorded: {name}", markup=False, highlight=False)
    return []
