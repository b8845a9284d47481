"""Studies: runs that are trained one after another, each of which leaves a record.

What has a record is not trained again, and a run that was stopped goes on, so a study can be stopped at any
moment and started again with the same command.
"""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table

from afk.agents.agent import Agent
from afk.agents.variants import find_variant
from afk.bench import describe_machine
from afk.envs.base import draw_pool
from afk.envs.registry import make
from afk.experiments.config import Config, preset, read_config
from afk.experiments.evaluate import CHUNK, Episodes, fresh_keys, play_agents, summarise
from afk.experiments.progress import train_with_bar
from afk.experiments.run_record import CURVE, RunRecord, SeedRecord, read_record, run_name, write_record
from afk.experiments.shelf import load_agent
from afk.experiments.train import Row, final_evaluation, read_log, stack, start_run, train
from afk.learn.rollout import Play

SEEDS = (24, 42, 123, 321, 3407)  # the paper's
FRESH_LEVELS = 1000
POINTS = 200  # of a curve, at most
_COMPILERS = 2  # runs that are compiled at once


@dataclass(frozen=True)
class Run:
    """A run of a study.

    Attributes:
        preset: the name of its settings.
        agent: the variant.
        tasks: what it is trained on.
        also: what it is evaluated on besides, without having seen it.
        seeds: trained side by side.
        steps: environment steps a seed; those of the preset if None.
    """

    preset: str
    agent: str
    tasks: tuple[str, ...]
    also: tuple[str, ...] = ()
    seeds: tuple[int, ...] = SEEDS
    steps: int | None = None

    @property
    def name(self) -> str:
        """What its folder and its record are called."""
        return run_name(self.preset, self.agent, self.tasks)

    @property
    def config(self) -> Config:
        """The run itself; a ValueError if there can be no such run, or if nothing would be left of it."""
        steps = {} if self.steps is None else {"steps": self.steps}
        config = preset(self.preset, self.tasks, agent=self.agent, seeds=self.seeds, **steps)
        if config.updates < config.evaluate_every:
            least = config.evaluate_every * config.settings.steps_per_update
            raise ValueError(
                f"{self.name} has no evaluation in {config.steps:,} steps; train {least:,} or more"
            )
        for task in self.also:
            if make(task).action_sizes != config.play.env.action_sizes:
                raise ValueError(f"{self.name} has other actions than {task}: it cannot play it")
        return config


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
            if (left := _what_is_left(run, runs, records)) is not None:
                waiting.append((left, _find_config(left, runs)))
        except ValueError as error:
            failures.append(str(error))
    compilers = ThreadPoolExecutor(_COMPILERS)
    compiled = [compilers.submit(_compile, config) for _, config in waiting[1:] if ahead]
    try:
        for number, (run, config) in enumerate(waiting):
            wait(compiled[number - 1 : number] if number else ())
            console.print(f"run {number + 1} of {len(waiting)}: {run.name}", markup=False, highlight=False)
            try:
                record = _do_run(run, config, runs / run.name, console, levels)
            except ValueError as error:
                failures.append(f"{run.name}: {error}")
                continue
            known = records / f"{run.name}.json"
            if known.exists():  # evaluated on more tasks, perhaps elsewhere: it was trained where it was
                before = read_record(known)
                record = replace(record, machine=before.machine, compile_seconds=before.compile_seconds)
            write_record(records, record)
    finally:
        compilers.shutdown(cancel_futures=True)
    return failures


def overview(study: Sequence[Run], *, runs: Path, records: Path) -> Table:
    """How far the runs of a study are: a progress view over all of them."""
    table = Table("run", "state", "success", "steps a seed", "seeds")
    for run in study:
        try:
            table.add_row(run.name, *_state(run, runs / run.name, records / f"{run.name}.json"))
        except ValueError as error:
            table.add_row(run.name, str(error))
    return table


def _state(run: Run, folder: Path, path: Path) -> tuple[str, str, str, str]:
    """The state of a run, its success, its steps and its seeds."""
    if path.exists():
        record = read_record(path)
        success = np.mean([seed.final[task]["success"] for seed in record.seeds for task in record.tasks])
        return "recorded", f"{success:.1%}", f"{record.config['steps']:,}", str(len(record.seeds))
    config = run.config
    rows = read_log(folder)
    evaluated = [row["evaluation"]["success"] for row in rows if "evaluation" in row][-len(config.seeds) :]
    share = rows[-1]["updates"] / config.updates if rows else 0.0
    state = "to be evaluated" if share == 1 else f"{share:.0%} trained" if rows else "waiting"
    return (
        state,
        f"{np.mean(evaluated):.1%}" if evaluated else "",
        f"{config.steps:,}",
        str(len(config.seeds)),
    )


def _what_is_left(run: Run, runs: Path, records: Path) -> Run | None:
    """The run if it has no record; if its record lacks a task, the run with all tasks of both; else None."""
    path = records / f"{run.name}.json"
    if not path.exists():
        return run
    known = read_record(path).seeds[0].fresh
    lacking = [task for task in run.also if task not in known]
    if not lacking:
        return None
    if not (runs / run.name).exists():
        raise ValueError(f"{path} lacks {lacking[0]}, and its agents are not in {runs / run.name}")
    return replace(run, also=tuple(dict.fromkeys((*known, *run.also))))


def _find_config(run: Run, runs: Path) -> Config:
    """The configuration of a run, which its folder must have too if there is one."""
    config, folder = run.config, runs / run.name
    if (folder / "config.json").exists() and read_config(folder) != config:
        raise ValueError(f"{folder} holds a run with other settings; choose another folder for runs")
    return config


def _do_run(run: Run, config: Config, folder: Path, console: Console, levels: int) -> RunRecord:
    """Train a run to its end, and evaluate its agents."""
    if not (folder / "config.json").exists():
        start_run(config, folder)
    logged = _logged_seconds(folder)
    start = time.perf_counter()
    if not train_with_bar(folder, console):
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


def _compile(config: Config) -> None:
    """Have a run's programs compiled and in the cache: start it elsewhere, and forget it."""
    with TemporaryDirectory() as folder:
        start_run(config, Path(folder) / "run")
        next(train(Path(folder) / "run"))


def make_record(
    folder: Path,
    *,
    preset: str,
    also: tuple[str, ...] = (),
    levels: int,
    compile_seconds: float | None = None,
) -> RunRecord:
    """What is kept of a run that is over.

    Args:
        folder: of the run.
        preset: the name of its settings.
        also: tasks that its agents are evaluated on besides those of training.
        levels: fresh levels for each agent and task.
        compile_seconds: what compiling took, if that is known.
    """
    config, log = read_config(folder), read_log(folder)
    agents = stack([load_agent(folder / f"last-{seed}.safetensors").network for seed in config.seeds])
    fresh = {
        task: _evaluate(_play(config, task), agents, config.seeds, levels)
        for task in dict.fromkeys((*config.tasks, *also))
    }
    seeds = []
    for index, seed in enumerate(config.seeds):
        rows = [row for row in log if row["seed"] == seed and "evaluation" in row]
        final = {task: final_evaluation(_of_task(rows, task)) for task in config.tasks}
        mine = {task: measures[index] for task, measures in fresh.items()}
        seeds.append(SeedRecord(seed, final, mine, _curve(rows)))
    return RunRecord(
        preset=preset,
        agent=config.agent,
        variant=asdict(find_variant(config.agent)),
        tasks=config.tasks,
        machine=describe_machine(),
        config=config.to_json(),
        seconds=log[-1]["seconds"],
        training_seconds=log[-1]["training_seconds"],
        compile_seconds=compile_seconds,
        steps_per_second=log[-1]["steps_per_second"],
        seeds=tuple(seeds),
    )


def _play(config: Config, task: str) -> Play:
    """How the agents of a run play one task; what they were trained with is compiled already."""
    return config.play if config.tasks == (task,) else replace(config.play, env=make(task))


def _evaluate(play: Play, agents: Agent, seeds: Sequence[int], levels: int) -> list[dict[str, Any]]:
    """Stacked agents side by side on fresh levels, on which `afk eval` would find the same."""
    keys = [fresh_keys(seed) for seed in seeds]
    pools = stack([draw_pool(play.env, levels_key, levels) for levels_key, _ in keys])
    chunks = []
    for number, start in enumerate(range(0, levels, CHUNK)):
        part = jax.tree.map(lambda leaf, start=start: leaf[:, start : start + CHUNK], pools)
        play_keys = jnp.stack([jax.random.fold_in(play_key, number) for _, play_key in keys])
        chunks.append(play_agents(play, agents, part, play_keys))
    played = Episodes(*(np.concatenate(fields, 1) for fields in zip(*chunks, strict=True)))
    return [_measure(Episodes(*(field[index] for field in played))) for index in range(len(seeds))]


def _measure(episodes: Episodes) -> dict[str, Any]:
    """The paper's measures, and how many episodes had 0, 1, 2, ... queries."""
    return summarise([episodes]) | {"query_histogram": np.bincount(episodes.queries).tolist()}


def _of_task(rows: list[Row], task: str) -> list[Row]:
    """Lines of a log with the evaluations of one task of a mixture."""
    return [{"evaluation": row.get("evaluation_by_task", {}).get(task, row["evaluation"])} for row in rows]


def _curve(rows: list[Row]) -> dict[str, list[float]]:
    """The evaluations of a seed, the first and the last among them, at most `POINTS`."""
    kept = np.linspace(0, len(rows) - 1, min(len(rows), POINTS)).round().astype(int)
    points = [{"steps": rows[index]["steps"], **rows[index]["evaluation"]} for index in kept]
    return {name: [round(point[name], 4) for point in points] for name in CURVE}
