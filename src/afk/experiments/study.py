"""Studies: runs that are trained one after another, each of which leaves a record.

What has a record is not trained again, and a run that was stopped goes on, so a study can be stopped at any
moment and started again with the same command.
"""

import time
from collections.abc import Callable, Sequence
from concurrent import futures
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
from rich.console import Console
from rich.table import Table

from afk.envs.registry import make, task_named
from afk.experiments.claim import claim
from afk.experiments.config import ADDED_LATER, Config, change, first_difference, read_config
from afk.experiments.log import read_log
from afk.experiments.outcome import make_record
from afk.experiments.presets import preset
from afk.experiments.progress import train_with_bar
from afk.experiments.run_record import RunRecord, read_record, run_name, write_record
from afk.experiments.train import compile_run, start_run

SEEDS = (24, 42, 123, 321, 3407)  # the paper's
FRESH_LEVELS = 1000
_COMPILERS = 2  # runs that are compiled at once


@dataclass(frozen=True)
class Run:
    """A run of a study.

    Attributes:
        preset: the name of its settings.
        agent: the variant.
        tasks: what it is trained on; names, though letters may be given.
        also: what it is evaluated on besides, without having seen it; likewise.
        seeds: trained side by side.
        steps: environment steps a seed; those of the preset if None.
        changes: what else is not the preset's: names and values, see `change`.
    """

    preset: str
    agent: str
    tasks: tuple[str, ...]
    also: tuple[str, ...] = ()
    seeds: tuple[int, ...] = SEEDS
    steps: int | None = None
    changes: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        for name in ("tasks", "also"):
            object.__setattr__(self, name, tuple(map(task_named, getattr(self, name))))

    @property
    def name(self) -> str:
        """What its folder and its record are called."""
        return run_name(self.preset, self.agent, self.tasks)

    @property
    def config(self) -> Config:
        """The run itself; a ValueError if there can be no such run."""
        steps = {} if self.steps is None else {"steps": self.steps}
        config = preset(self.preset, self.tasks, agent=self.agent, seeds=self.seeds, **steps)
        config = change(config, dict(self.changes))
        for task in self.also:
            if make(task).action_sizes != config.play.env.action_sizes:
                raise ValueError(f"{self.name} has other actions than {task}: it cannot play it")
        return config

    def differs_from(self, record: RunRecord) -> str:
        """In what a record is of other settings, in words; empty if in nothing. Seeds may differ."""
        return first_difference(self.config.to_json(), ADDED_LATER | record.config, but="seeds")


def do_study(
    study: Sequence[Run],
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
    waiting: list[tuple[Run, Config]] = []
    for run in study:
        try:
            if (left := what_is_left(run, runs, records)) is not None:
                waiting.append((left, find_config(left, runs)))
        except ValueError as error:
            failures.append(str(error))
    compilers = futures.ThreadPoolExecutor(_COMPILERS)
    try:
        # The first by itself: nothing can train before it is there, and several at once take longer each.
        compiled = [compilers.submit(compile_run, config) for _, config in waiting[:1] if ahead]
        futures.wait(compiled)
        compiled += [compilers.submit(compile_run, config) for _, config in waiting[1:] if ahead]
        for number, (run, config) in enumerate(waiting):
            futures.wait(compiled[number : number + 1])
            console.print(f"run {number + 1} of {len(waiting)}: {run.name}", markup=False, highlight=False)
            try:
                do_run(run, config, runs=runs, records=records, console=console, levels=levels)
            except ValueError as error:
                failures.append(f"{run.name}: {error}")
    finally:
        compilers.shutdown(cancel_futures=True)
    return failures


def do_run(
    run: Run,
    config: Config,
    *,
    runs: Path,
    records: Path,
    console: Console,
    levels: int,
    devices: int | None = None,
    wait: bool = False,
) -> None:
    """Train a run to its end, evaluate its agents, and write its record.

    Nothing is done if another process did it before this one had the run's folder for itself.

    Args:
        run: what is recorded.
        config: what is trained.
        runs: where folders of runs are kept.
        records: where the record is written.
        console: where to say how it goes.
        levels: fresh levels for each agent and task in the end.
        devices: how many to use; all there are if not given.
        wait: for another process that trains the run; otherwise that is a ValueError.
    """
    folder, path = runs / run.name, records / f"{run.name}.json"
    with claim(folder, wait=wait):
        left = what_is_left(run, runs, records)
        if left is None:
            return
        record = _train_and_evaluate(left, config, folder, console, levels, devices)
        if path.exists():  # evaluated on more tasks, perhaps elsewhere: it was trained where it was
            before = read_record(path)
            record = replace(record, machine=before.machine, compile_seconds=before.compile_seconds)
        write_record(records, record)


class Standing(NamedTuple):
    """How far a run is.

    Attributes:
        recorded: whether it has a record.
        trained: the share of its training that is done.
        success: in its final metric, or in the last evaluation so far; None before the first.
        steps: environment steps a seed, in the end.
        seeds: how many.
        but: in what the record is of another run than was asked for; empty if in nothing.
    """

    recorded: bool
    trained: float
    success: float | None
    steps: int
    seeds: int
    but: str = ""

    @property
    def state(self) -> str:
        """In words."""
        if self.recorded:
            return f"recorded, but {self.but}" if self.but else "recorded"
        if self.trained == 1:
            return "to be evaluated"
        return f"{self.trained:.0%} trained" if self.trained else "waiting"


def find_standing(run: Run, *, runs: Path, records: Path) -> Standing:
    """How far a run is, from its record or from its folder."""
    path = records / f"{run.name}.json"
    if path.exists():
        record = read_record(path)
        success = np.mean([seed.final[task]["success"] for seed in record.seeds for task in seed.final])
        but = run.differs_from(record)
        if lacking := set(run.seeds) - {seed.seed for seed in record.seeds}:
            but = but or f"without seed {min(lacking)}"
        return Standing(True, 1.0, float(success), record.config["steps"], len(record.seeds), but)
    config, rows = run.config, read_log(runs / run.name)
    evaluated = [row["evaluation"]["success"] for row in rows if "evaluation" in row][-len(config.seeds) :]
    trained = rows[-1]["updates"] / config.updates if rows else 0.0
    success = float(np.mean(evaluated)) if evaluated else None
    return Standing(False, trained, success, config.steps, len(config.seeds))


def overview(study: Sequence[Run], *, runs: Path, records: Path) -> Table:
    """How far the runs of a study are: a progress view over all of them."""
    return tabulate(study, lambda run: find_standing(run, runs=runs, records=records))


def tabulate(study: Sequence[Run], look: Callable[[Run], Standing]) -> Table:
    """A line for each run of a study: how far it is, or what is wrong with it."""
    table = Table("run", "state", "success", "steps a seed", "seeds")
    for run in study:
        try:
            found = look(run)
        except ValueError as error:
            table.add_row(run.name, str(error))
            continue
        success = "" if found.success is None else f"{found.success:.1%}"
        table.add_row(run.name, found.state, success, f"{found.steps:,}", str(found.seeds))
    return table


def what_is_left(run: Run, runs: Path, records: Path) -> Run | None:
    """The run if it has no record; if its record lacks a task, the run with all tasks of both; else None."""
    path = records / f"{run.name}.json"
    if not path.exists():
        return run
    known = read_record(path).seeds[0].fresh
    lacking = [task for task in run.also if task not in known]
    if not lacking:
        return None
    if not (runs / run.name / "config.json").exists():
        raise ValueError(f"{path} lacks {lacking[0]}, and its agents are not in {runs / run.name}")
    return replace(run, also=tuple(dict.fromkeys((*known, *run.also))))


def find_config(run: Run, runs: Path) -> Config:
    """The configuration of a run, which its folder must have too if there is one."""
    config, folder = run.config, runs / run.name
    if (folder / "config.json").exists() and read_config(folder) != config:
        raise ValueError(f"{folder} holds a run with other settings; choose another folder for runs")
    return config


def _train_and_evaluate(
    run: Run, config: Config, folder: Path, console: Console, levels: int, devices: int | None
) -> RunRecord:
    """Train a run to its end, and evaluate its agents."""
    if not (folder / "config.json").exists():
        start_run(config, folder)
    logged = _logged_seconds(folder)
    start = time.perf_counter()
    if not train_with_bar(folder, console, devices=devices):
        raise KeyboardInterrupt
    trained = _logged_seconds(folder) - logged
    return make_record(
        folder,
        preset=run.preset,
        also=run.also,
        levels=levels,
        compile_seconds=time.perf_counter() - start - trained if trained else None,
    )


def _logged_seconds(folder: Path) -> float:
    rows = read_log(folder)
    return rows[-1]["seconds"] if rows else 0.0
