"""Sweeps: the runs of a study on the machines of a Ray cluster, every seed of every run a task of its own.

    FOLDER/seed-24/fast--afk--CS/         the folder of a run of one seed
    FOLDER/seed-24/fast--afk--CS.json     its record
    RECORDS/fast--afk--CS.json            the record of all its seeds, which every table reads

All machines see the folder. A task whose worker is lost is started again by Ray, elsewhere if need be, and
goes on from the last checkpoint. The driver keeps nothing to itself either: killed and started again, it
finds what is left by looking for records.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.live import Live
from rich.table import Table

from afk.experiments.claim import claim
from afk.experiments.cluster import Resources, connect, take_share, work_through
from afk.experiments.config import read_config
from afk.experiments.run_record import RunRecord, keep_seeds, merge_records, read_record, write_record
from afk.experiments.study import (
    Run,
    Standing,
    do_run,
    find_config,
    find_standing,
    tabulate,
    what_is_left,
)
from afk.experiments.train import start_run
from afk.records import keep_compiled_programs

_REFRESH = 3.0  # seconds between two looks at how far all runs are


@dataclass(frozen=True)
class Place:
    """Where a sweep is kept; all machines see it.

    Attributes:
        folder: runs of single seeds, and their records.
        records: the records of runs with all their seeds.
    """

    folder: Path
    records: Path

    def of_seed(self, seed: int) -> Path:
        """Where the runs of a seed and their records are."""
        return self.folder / f"seed-{seed}"


def do_sweep(
    study: Sequence[Run], place: Place, *, address: str, resources: Resources, levels: int, console: Console
) -> list[str]:
    """Train and evaluate what has no record yet, on a cluster; gather the records of seeds.

    Args:
        study: the runs.
        place: where they are kept; a ValueError if another sweep is at work there.
        address: of the cluster, or ``local`` for one on this machine alone.
        resources: what the run of a seed takes.
        levels: fresh levels for each agent and task in the end.
        console: where to say how it goes.

    Returns:
        What could not be trained, a line for each; a ValueError if none of the runs can be.
    """
    with claim(place.folder):
        waiting, failures = _prepare(study, place)
        if len(failures) == len(study):
            raise ValueError(failures[0])
        if waiting:
            with (
                connect(address, resources, console) as ray,
                Live(console=console, auto_refresh=False, transient=True) as live,
            ):
                tasks = {cell: (cell, place.of_seed(cell.seeds[0]), levels, resources) for cell in waiting}
                for ended in work_through(ray, train_seed, tasks, resources, pause=_REFRESH):
                    if ended:
                        failures += _note(*ended, study, place, console)
                    live.update(overview(study, place), refresh=True)
    return failures


def train_seed(cell: Run, where: Path, levels: int, resources: Resources) -> str | None:
    """What a worker does: train a run of one seed from where it stands, and write its record.

    A process may still train it whose driver or whose machine was given up: that one is waited for.

    Returns:
        What went wrong, in a line; None if nothing did.
    """
    take_share(resources)
    keep_compiled_programs()
    try:
        do_run(
            cell,
            read_config(where / cell.name),
            runs=where,
            records=where,
            console=Console(quiet=True),
            levels=levels,
            devices=resources.devices,
            wait=True,
        )
    except (ValueError, OSError) as error:
        return " ".join(str(error).split())
    return None


def overview(study: Sequence[Run], place: Place) -> Table:
    """How far a sweep is: a line for each run, over its seeds."""
    return tabulate(study, lambda run: _find_standing(run, place))


def _find_standing(run: Run, place: Place) -> Standing:
    """How far a run is, over its seeds."""
    if _read_gathered(run, place).keys() >= set(run.seeds):
        return find_standing(run, runs=place.folder, records=place.records)
    cells = [(replace(run, seeds=(seed,)), place.of_seed(seed)) for seed in run.seeds]
    found = [find_standing(cell, runs=where, records=where) for cell, where in cells]
    success = [each.success for each in found if each.success is not None]
    return Standing(
        recorded=all(each.recorded for each in found),
        trained=float(np.mean([each.trained for each in found])),
        success=float(np.mean(success)) if success else None,
        steps=found[0].steps,
        seeds=len(found),
    )


def _prepare(study: Sequence[Run], place: Place) -> tuple[list[Run], list[str]]:
    """Start the folders of what is left to do; gather what is done but was not gathered yet.

    The driver alone starts runs, so that what is trained does not depend on a worker.

    Returns:
        The runs of single seeds that are left, and what cannot be trained, a line for each.
    """
    waiting: list[Run] = []
    failures: list[str] = []
    for run in study:
        try:
            left = _find_left(run, place)
            for cell in left:
                where = place.of_seed(cell.seeds[0])
                config = find_config(cell, where)
                if not (where / cell.name / "config.json").exists():
                    start_run(config, where / cell.name)
            _gather(run, place)
            waiting += left
        except ValueError as error:
            failures.append(str(error))
    return waiting, failures


def _note(cell: Run, problem: str | None, study: Sequence[Run], place: Place, console: Console) -> list[str]:
    """Say that a seed of a run is over, and gather the run if it was the last one; returns what is wrong."""
    name = f"{cell.name}, seed {cell.seeds[0]}"
    try:
        if problem is not None:
            raise ValueError(problem)
        _gather(next(run for run in study if run.name == cell.name), place)
    except ValueError as error:
        return [f"{name}: {error}"]
    console.print(f"recorded: {name}", markup=False, highlight=False)
    return []


def _find_left(run: Run, place: Place) -> list[Run]:
    """The seeds of a run that have no record yet, or one that lacks a task, as runs of their own."""
    gathered, left = _read_gathered(run, place), []
    for seed in (seed for seed in run.seeds if seed not in gathered):
        where = place.of_seed(seed)
        cell = what_is_left(replace(run, seeds=(seed,)), where, where)
        if cell is not None:
            left.append(cell)
    return left


def _gather(run: Run, place: Place) -> None:
    """Write the record of a run once all its seeds have one; seeds it was trained with before are kept."""
    gathered = _read_gathered(run, place)
    lacking = [seed for seed in run.seeds if seed not in gathered]
    if not lacking or _find_left(run, place):
        return
    known = gathered | {seed: read_record(place.of_seed(seed) / f"{run.name}.json") for seed in lacking}
    order = dict.fromkeys((*run.seeds, *known))
    write_record(place.records, merge_records([known[seed] for seed in order]))


def _read_gathered(run: Run, place: Place) -> dict[int, RunRecord]:
    """What is gathered of a run, by seed; nothing if a task is lacking that it should be evaluated on.

    A ValueError if seeds would be lost that way, or if seeds of different runs would be put together.
    """
    path = place.records / f"{run.name}.json"
    if not path.exists():
        return {}
    record = read_record(path)
    if lacking := set(run.also) - record.seeds[0].fresh.keys():
        if others := [each.seed for each in record.seeds if each.seed not in run.seeds]:
            raise ValueError(f"{path} lacks {min(lacking)}, and has seeds that are not asked for: {others}")
        return {}
    known = {each.seed for each in record.seeds}
    difference = run.differs_from(record)
    if difference and not known.issuperset(run.seeds):
        raise ValueError(
            f"{path} is of another run: {difference}; choose another folder for records (--from)"
        )
    return {each.seed: keep_seeds(record, [each.seed]) for each in record.seeds}
