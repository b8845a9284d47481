"""Training: updates on the device; between them fresh levels, lines in the log, at times a state.

A run is a folder, of one seed or of several that are trained side by side:

    config.json             what is trained, and how
    log.jsonl               a line for each seed and `log_every` updates; seconds of updates apart
    best-24.safetensors     the agent of seed 24 that did best in an evaluation
    last-24.safetensors     the agent of seed 24 at the last evaluation
    state.safetensors       everything, to go on from
    first.safetensors       the agent that training began with, if it was given one
    lock                    who trains it just now, if anybody does: see `afk.training.lock`
    tensorboard/seed-24/    the log once more, for TensorBoard, where tensorboardX is installed
    before-skip.safetensors the last state before a minibatch had no finite gradient, if one ever had none
    record.json             what came of it, once it is over: see `afk.studies.record`

Killed at any moment, a run goes on from its last state, and ends with the same parameters as if it had not.
"""

import math
import shlex
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
from jax.sharding import Mesh

from afk.agents.base import Agent
from afk.envs.registry import make_roomy
from afk.files import is_remains, remove_remains, write_json
from afk.learning.devices import on_devices, place
from afk.training import checkpoint
from afk.training.build import agent_shape, evaluation_mesh_of, mesh_of, play_of, schedules_of
from afk.training.config import Config, read_config, run_difference
from afk.training.evaluate import compile_play, play_agents, summarise, summarise_by_task
from afk.training.keeping import (
    FIRST,
    STATE,
    check_finite,
    check_state,
    keep_agents,
    keep_before_skip,
    save_state,
)
from afk.training.levels import (
    draw_evaluation_levels,
    draw_training_levels,
)
from afk.training.lock import LOCK_FILE
from afk.training.log import Row, append_log, read_log, write_log
from afk.training.loggers import open_loggers
from afk.training.starting import first_learners
from afk.training.update import CompiledUpdates, Learner

_SAVE_SECONDS = (
    20  # between states that are saved: what is lost at most if a run is killed, and a line of the log
)


def check_start(config: Config, folder: Path, first: Agent | None = None) -> None:
    """Whether `start_run` can make a run; a ValueError if not, and nothing is written either way."""
    _check_free(_begin_with(config, first), folder)
    shape = agent_shape(config)  # what has no world or no network is refused here
    actions = play_of(config).env.action_sizes
    for task in config.held_out:
        if make_roomy(task).action_sizes != actions:
            raise ValueError(f"{config.tasks[0]} has other actions than {task}: its agent cannot play it")
    if first is not None and checkpoint.shapes(first) != checkpoint.shapes(shape):
        raise ValueError(f"the agent to begin with has another network than {config.agent} has here")


def _begin_with(config: Config, first: Agent | None) -> Config:
    """A run that begins with an agent, if there is one."""
    return config if first is None else replace(config, initial_agent=checkpoint.digest(first))


def _check_free(config: Config, folder: Path) -> None:
    """A ValueError unless a run can be made in a folder: nothing may be lost with what is there."""
    if not folder.exists() or (folder.is_dir() and all(map(_is_harmless, folder.iterdir()))):
        return
    if not (folder / "config.json").is_file():
        raise ValueError(f"{folder} is not an empty folder; choose another")
    if difference := run_difference(config, read_config(folder)):
        held = f"another run: {difference}"
    elif (folder / "record.json").exists() or check_state(folder, config, read_log(folder)):
        held = "this run already"
    else:  # it was killed before its first state
        return
    raise ValueError(
        f"{folder} holds {held}; choose another folder, or go on with what is there by "
        f"afk train --resume {shlex.quote(str(folder))}"
    )


def _is_harmless(path: Path) -> bool:
    """Whether a file may be where a run is to be: what is left where starting one was cut off."""
    return path.name in (LOCK_FILE, FIRST) or is_remains(path)


def start_run(config: Config, folder: Path, first: Agent | None = None) -> None:
    """Make the folder of a new run; a ValueError if something is there already.

    Args:
        config: the run.
        folder: where nothing is yet, or where this very run was killed before its first state.
        first: an agent to begin with, such as one that was trained on other tasks; it must have the same
            network. Every seed begins with a new one otherwise.
    """
    check_start(config, folder, first)
    remove_remains(folder)
    config = _begin_with(config, first)
    if first is not None:
        checkpoint.save(folder / FIRST, first, checkpoint.describe(config))
    write_json(folder / "config.json", config.to_json())


def train(
    folder: Path,
    *,
    devices: int | None = None,
    loggers: Sequence[str] = (),
    say: Callable[[str], None] = lambda line: None,
) -> Generator[list[Row]]:
    """Train the run of a folder from where it stands.

    Args:
        folder: of the run.
        devices: how many to use; all there are if not given.
        loggers: where its log goes beside its folder; see `afk.training.loggers`.
        say: is given a line on what was compiled, and how long that took, before the first update.

    Yields:
        The new lines of its log, one for each seed, once they are on disk. Where training stands is saved
        now and then, when training is over, and when nobody wants more lines.
    """
    try:
        yield from _train(folder, devices, loggers, say)
    except (MemoryError, jax.errors.JaxRuntimeError) as error:
        if isinstance(error, jax.errors.JaxRuntimeError) and "RESOURCE_EXHAUSTED" not in str(error):
            raise
        said = (str(error).splitlines() or ["out of memory"])[0]
        raise ValueError(
            f"the run does not fit into memory ({said}): take fewer environments or levels, or a smaller size"
        ) from error


def _train(
    folder: Path, devices: int | None, loggers: Sequence[str], say: Callable[[str], None]
) -> Generator[list[Row]]:
    """The same, whatever happens to memory."""
    begun = time.perf_counter()
    config, logged = read_config(folder), read_log(folder)
    has_state = check_state(folder, config, logged)  # before anything is compiled
    remove_remains(folder)
    mesh = mesh_of(config, devices)
    learner = first_learners(config, _read_first(config, folder))
    if has_state:
        learner = checkpoint.load(folder / STATE, learner)
    learner = spread_learner(learner, mesh)
    rows = [row for row in logged if row["updates"] <= _updates(learner)]
    if _updates(learner) >= config.updates:
        return
    write_log(folder, rows)  # without what was logged but not saved, and without half a line
    levels = draw_training_levels(config, _updates(learner))
    beside = ThreadPoolExecutor(1)  # another core may as well compile what comes after the first updates
    evaluators = evaluation_mesh_of(config, mesh)
    evaluation = beside.submit(_compile_evaluation, config, _agents_on(evaluators, learner), evaluators)
    beside.shutdown(wait=False)
    run_updates = CompiledUpdates(config, learner, levels, mesh)
    say(_describe_start(run_updates, time.perf_counter() - begun))
    trained = rows[-1]["training_seconds"] if rows else 0.0
    since = time.perf_counter() - (rows[-1]["seconds"] if rows else 0.0)
    saved, others = -math.inf, open_loggers(folder, config, loggers, after=rows[-1]["steps"] if rows else 0)
    while _updates(learner) < config.updates:
        start = time.perf_counter()
        done = _updates(learner)
        levels, schedules = draw_training_levels(config, done), schedules_of(config, done)
        learner, episodes, losses = run_updates(learner, levels, schedules)
        new = _describe(config, learner, episodes, losses)
        keep_before_skip(folder, new)
        check_finite(config, learner, new)
        trained += time.perf_counter() - start
        if config.is_evaluated(_updates(learner)):
            evaluation.result()
            _evaluate(config, new, _agents_on(evaluators, learner), evaluators)
            keep_agents(folder, config, learner, rows, new)
        for row in new:
            row |= {"seconds": time.perf_counter() - since, "training_seconds": trained}
            row["steps_per_second"] = len(config.seeds) * row["steps"] / trained
        rows += new
        # The log first: a line too many is dropped on resuming, a line too few would be lost.
        append_log(folder, new)
        for logger in others:
            logger.write(new)
        is_due = time.perf_counter() - saved > _SAVE_SECONDS or _updates(learner) >= config.updates
        if is_due:
            save_state(folder, config, learner)
            saved = time.perf_counter()
        try:
            yield new
        except GeneratorExit:
            if not is_due:
                save_state(folder, config, learner)
            raise


def compile_run(config: Config) -> None:
    """Compile what a new run will, for the cache of compiled programs; nothing is played."""
    mesh = mesh_of(config, None)
    learner = spread_learner(first_learners(config), mesh)
    CompiledUpdates(config, learner, draw_training_levels(config, 0), mesh)
    evaluators = evaluation_mesh_of(config, mesh)
    _compile_evaluation(config, _agents_on(evaluators, learner), evaluators)


def _agents_on(mesh: Mesh, learner: Learner) -> Agent:
    """The agents of a run where they are evaluated."""
    return place(learner.agent, mesh, has_rows=False)


def _compile_evaluation(config: Config, agents: Agent, mesh: Mesh) -> None:
    """Compile what evaluates the agents of a run, whatever has become of their arrays."""
    levels = draw_evaluation_levels(config, 0)  # as in `_evaluate`: with a mesh it would be another program
    with on_devices(mesh):
        compile_play(play_of(config), agents, *levels)


def _describe_start(updates: CompiledUpdates, seconds: float) -> str:
    """What was done before the first update, and how long it took."""
    parts = ", ".join(f"{done} in {each:.1f} s" for done, each in updates.seconds.items())
    return f"ready after {seconds:.1f} s: levels, network, and updates ({parts})"


def spread_learner(learner: Learner, mesh: Mesh) -> Learner:
    """Put learners on the devices: each has its seeds, or the network and its share of the episodes."""
    placed = place(learner, mesh, has_rows=False)
    return replace(placed, actors=place(learner.actors, mesh, has_rows=True))


def _read_first(config: Config, folder: Path) -> Agent | None:
    """The agent that a run begins with, if it was given one; a ValueError if it is lost."""
    if not config.initial_agent:
        return None
    agent = checkpoint.load(folder / FIRST, agent_shape(config))
    if not checkpoint.is_called(agent, config.initial_agent):
        raise ValueError(f"{folder / FIRST} is not the agent that this run begins with")
    return agent


def _updates(learner: Learner) -> int:
    return int(jax.device_get(learner.updates)[0])


def _describe(config: Config, learner: Learner, episodes: Any, losses: Any) -> list[Row]:
    """New lines of the log."""
    sums, losses = jax.device_get((vars(episodes), losses._asdict()))
    updates = _updates(learner)
    rows = []
    for index, seed in enumerate(config.seeds):
        loss = {name: float(value[index]) for name, value in losses.items()}
        count = int(sums["count"][index])
        rows.append(
            {
                "seed": seed,
                "updates": updates,
                "steps": updates * config.settings.steps_per_update,
                "episodes": count,
                "training": {
                    name: float(value[index] / max(count, 1))
                    for name, value in sums.items()
                    if name != "count" and value is not None
                },
                "losses": loss,
            }
        )
    return rows


def _evaluate(config: Config, rows: list[Row], agents: Agent, mesh: Mesh) -> None:
    """Add to each seed's line how its agent does on fresh levels."""
    levels = draw_evaluation_levels(config, rows[0]["updates"])
    try:
        with on_devices(mesh):
            episodes = play_agents(play_of(config), agents, *levels)
    except ValueError as error:
        raise ValueError(f"training broke down: after {rows[0]['steps']:,} steps {error}") from error
    for index, row in enumerate(rows):
        played = jax.tree.map(lambda field, index=index: field[index], episodes)
        row["evaluation"] = summarise([played])
        if len(config.tasks) > 1:
            row["evaluation_by_task"] = summarise_by_task(played, config.tasks)
