"""Training: chunks of updates on the device; between them fresh levels, lines in the log, at times a state.

A run is a folder, of one seed or of several that are trained side by side:

    config.json             what is trained, and how
    log.jsonl               a line for each seed and chunk; training seconds leave out evaluations
    best-24.safetensors     the agent of seed 24 that did best in an evaluation
    last-24.safetensors     the agent of seed 24 at the last evaluation
    state.safetensors       everything, to go on from
    first.safetensors       the agent that training began with, if it was given one
    lock                    who trains it just now, if anybody does: see `claim`
    tensorboard/seed-24/    the log once more, for TensorBoard

Killed at any moment, a run goes on from its last state, and ends with the same parameters as if it had not.
"""

import math
import time
from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.sharding import Mesh

from afk.agents.agent import Agent
from afk.agents.grid_agent import GridAgent
from afk.agents.plus_agent import PlusAgent
from afk.agents.text_agent import TextAgent
from afk.agents.text_reader import TextReader
from afk.envs.base import Pool, draw_pool, pool_of, vary_share
from afk.envs.qbabyai.cells import ACTIONS
from afk.envs.qbabyai.environment import GridWorld
from afk.experiments import checkpoint
from afk.experiments.chunk import Chunk, Learner
from afk.experiments.claim import CLAIM
from afk.experiments.config import Config, read_config
from afk.experiments.evaluate import compile_play, play_agents, summarise, summarise_by_task
from afk.experiments.log import Row, read_log, write_log
from afk.learn import dqn, ppo
from afk.learn.parallel import place, use_devices
from afk.learn.rollout import Course, open_course, start_actors, tell_some
from afk.records import write_json

# What a run's seed is split into.
_LEVELS, _NETWORK, _TRAINING, _EVALUATION = range(4)
_FIRST = "first.safetensors"
_SAVE_SECONDS = 20  # between states that are saved: what is lost at most if a run is killed, and a chunk


def check_start(config: Config, folder: Path, first: Agent | None = None) -> None:
    """Whether `start_run` can make a run; a ValueError if not, and nothing is written either way."""
    # An agent alone is what is left where this was cut off.
    harmless = (CLAIM, _FIRST)
    if folder.exists() and (
        not folder.is_dir() or any(path.name not in harmless for path in folder.iterdir())
    ):
        held = "holds a run already" if (folder / "config.json").is_file() else "is not an empty folder"
        raise ValueError(f"{folder} {held}; choose another, or go on with a run that is there by --resume")
    if first is not None and checkpoint.shapes(first) != checkpoint.shapes(agent_shape(config)):
        raise ValueError(f"the agent to begin with has another network than {config.agent} has here")


def start_run(config: Config, folder: Path, first: Agent | None = None) -> None:
    """Make the folder of a new run; a ValueError if something is there already.

    Args:
        config: the run.
        folder: where nothing is yet.
        first: an agent to begin with, such as one that was trained on other tasks; it must have the same
            network. Every seed begins with a new one otherwise.
    """
    check_start(config, folder, first)
    if first is not None:
        config = replace(config, first=checkpoint.digest(first))
        checkpoint.save(folder / _FIRST, first, checkpoint.describe(config))
    write_json(folder / "config.json", config.to_json())


def train(folder: Path, *, devices: int | None = None) -> Generator[list[Row]]:
    """Train the run of a folder from where it stands.

    Args:
        folder: of the run.
        devices: how many to use; all there are if not given.

    Yields:
        The new lines of its log, one for each seed, once they are on disk. Where training stands is saved
        now and then, when training is over, and when nobody wants more lines.
    """
    config = read_config(folder)
    for remains in folder.glob(".*.safetensors.*"):  # of a process that was killed as it wrote
        remains.unlink()
    mesh = use_devices(devices, config.settings.environments)
    state = folder / "state.safetensors"
    if state.exists():
        checkpoint.check_origin(state, config)  # before anything is compiled
    learner = first_learners(config, _read_first(config, folder))
    if state.exists():
        learner = checkpoint.load(state, learner)
    learner = _spread(learner, mesh)
    logged = read_log(folder)
    rows = [row for row in logged if row["updates"] <= _updates(learner)]
    if len(rows) < len(logged):
        write_log(folder, rows)
    if _updates(learner) >= config.updates:
        return
    run_chunk = Chunk(config, learner, draw_courses(config, _updates(learner)), mesh)
    trained = rows[-1]["training_seconds"] if rows else 0.0
    since = time.perf_counter() - (rows[-1]["seconds"] if rows else 0.0)
    saved = -math.inf
    while _updates(learner) < config.updates:
        start = time.perf_counter()
        pace, courses = config.pace_at(_updates(learner)), draw_courses(config, _updates(learner))
        learner, episodes, losses = run_chunk(learner, courses, pace)
        new = _describe(config, learner, episodes, losses)
        trained += time.perf_counter() - start
        if config.is_evaluated(_updates(learner)):
            _evaluate(config, learner, new)
            _keep_agents(folder, config, learner, rows, new)
        for row in new:
            row |= {"seconds": time.perf_counter() - since, "training_seconds": trained}
            row["steps_per_second"] = len(config.seeds) * row["steps"] / trained
        rows += new
        # The log first: a line too many is dropped on resuming, a line too few would be lost.
        write_log(folder, rows)
        is_due = time.perf_counter() - saved > _SAVE_SECONDS or _updates(learner) >= config.updates
        if is_due:
            _save(folder, config, learner)
            saved = time.perf_counter()
        try:
            yield new
        except GeneratorExit:
            if not is_due:
                _save(folder, config, learner)
            raise


def compile_run(config: Config) -> None:
    """Compile what a new run will, for the cache of compiled programs; nothing is played."""
    mesh = use_devices(None, config.settings.environments)
    learner = _spread(first_learners(config), mesh)
    Chunk(config, learner, draw_courses(config, 0), mesh)
    compile_play(config.play, learner.agent, *_evaluation_levels(config, learner))


def _spread(learner: Learner, mesh: Mesh) -> Learner:
    """Put learners on the devices: the network on each, episodes spread over them."""
    return replace(place(learner, mesh), actors=place(learner.actors, mesh, axis=1))


def _save(folder: Path, config: Config, learner: Learner) -> None:
    """Save where training stands."""
    checkpoint.save(folder / "state.safetensors", learner, checkpoint.describe(config))


def _read_first(config: Config, folder: Path) -> Agent | None:
    """The agent that a run begins with, if it was given one; a ValueError if it is lost."""
    if not config.first:
        return None
    agent = checkpoint.load(folder / _FIRST, agent_shape(config))
    if checkpoint.digest(agent) != config.first:
        raise ValueError(f"{folder / _FIRST} is not the agent that this run begins with")
    return agent


def first_learners(config: Config, agent: Agent | None = None) -> Learner:
    """Where training starts with every seed: the same with a leading axis."""
    return stack([first_learner(config, seed, agent) for seed in config.seeds])


def first_learner(config: Config, seed: int, agent: Agent | None = None) -> Learner:
    """Where training starts, with an agent that is new if none is given."""
    settings, agent = config.settings, agent or first_agent(config, seed)
    course, key = _course(config, seed, 0), _key(seed, _TRAINING)
    if isinstance(settings, dqn.Settings):
        assert isinstance(agent, TextReader)
        return dqn.first_learner(config.play, settings, agent, course, key)
    actors = start_actors(agent, course, settings.environments)
    state = ppo.optimiser(settings).init(eqx.filter(agent, eqx.is_inexact_array))
    return ppo.Learner(agent, state, actors, key, jnp.int32(0))


def first_agent(config: Config, seed: int) -> Agent:
    """A network before training."""
    play, settings, key = config.play, config.settings, _key(seed, _NETWORK)
    if isinstance(settings, dqn.Settings):
        return TextReader(play.variant, config.size, play.env.vocabulary, sigma=settings.noise, key=key)
    if isinstance(play.env, GridWorld):
        kind = PlusAgent if play.variant.plus else GridAgent
        return kind(play.variant, config.size, play.env.vocabulary, len(ACTIONS), key=key)
    return TextAgent(play.variant, config.size, play.env.vocabulary, key=key)


def agent_shape(config: Config) -> Agent:
    """A network with shapes in the place of arrays: a checkpoint is read without one being made before."""
    return jax.eval_shape(lambda: first_agent(config, config.seeds[0]))


def stack(trees: Sequence[Any]) -> Any:
    """Pytrees of arrays as one, with a leading axis."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def _updates(learner: Learner) -> int:
    return int(learner.updates[0])


def _key(seed: int, purpose: int) -> jax.Array:
    return jax.random.fold_in(jax.random.key(seed), purpose)


@lru_cache(maxsize=8)  # the first levels of a run are wanted to start, to compile and to play
def _course(config: Config, seed: int, updates: int) -> Course:
    """The levels that are played from so many updates on."""
    key = jax.random.fold_in(_key(seed, _LEVELS), updates)
    levels_key, scatter_key, tell_key, clutter_key, mislead_key = jax.random.split(key, 5)
    env = config.play.env
    states = env.draw_many(levels_key, config.levels)
    if config.cluttered:
        states = vary_share(env, "clutter", states, clutter_key, config.cluttered)
    if config.scattered:
        states = vary_share(env, "scatter", states, scatter_key, config.scattered)
    if config.misled:
        states = vary_share(env, "mislead", states, mislead_key, config.misled)
    course = open_course(config.play, pool_of(env, states))
    return tell_some(config.play, course, tell_key, config.told) if config.told else course


def draw_courses(config: Config, updates: int) -> Course:
    """The same for every seed."""
    return stack([_course(config, seed, updates) for seed in config.seeds])


def _describe(config: Config, learner: Learner, episodes: Any, losses: Any) -> list[Row]:
    """New lines of the log."""
    sums, losses = jax.device_get((vars(episodes), losses._asdict()))
    updates = _updates(learner)
    rows = []
    for index, seed in enumerate(config.seeds):
        loss = {name: float(value[index]) for name, value in losses.items()}
        if not all(value == value for value in loss.values()):
            raise ValueError(
                "training broke down: a loss is not a number (more distinct notes than the network allows?)"
            )
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
                    if name != "count"
                },
                "losses": loss,
            }
        )
    return rows


def _evaluate(config: Config, learner: Learner, rows: list[Row]) -> None:
    """Add to each seed's line how its agent does on fresh levels."""
    episodes = play_agents(config.play, learner.agent, *_evaluation_levels(config, learner))
    for index, row in enumerate(rows):
        played = type(episodes)(*(field[index] for field in episodes))
        row["evaluation"] = summarise([played])
        if len(config.tasks) > 1:
            row["evaluation_by_task"] = summarise_by_task(played, config.tasks)


def _evaluation_levels(config: Config, learner: Learner) -> tuple[Pool[Any], jax.Array]:
    """The fresh levels of each seed, and the keys that they are played with."""
    pools, play_keys = [], []
    for seed in config.seeds:
        key = jax.random.fold_in(_key(seed, _EVALUATION), _updates(learner))
        levels_key, play_key = jax.random.split(key)
        pools.append(draw_pool(config.play.env, levels_key, config.evaluation_episodes))
        play_keys.append(play_key)
    return stack(pools), jnp.stack(play_keys)


def _keep_agents(folder: Path, config: Config, learner: Learner, rows: list[Row], new: list[Row]) -> None:
    """Write the agent of every seed, and once more if it is its best so far."""

    def merit(row: Row) -> tuple[float, float]:
        return row["evaluation"]["success"], -row["evaluation"]["episode_length"]

    agents = eqx.filter(learner.agent, eqx.is_array)
    for index, row in enumerate(new):
        seed = row["seed"]
        agent = jax.tree.map(lambda leaf, index=index: leaf[index], agents)
        earlier = [merit(each) for each in rows if each["seed"] == seed and "evaluation" in each]
        best = not earlier or merit(row) > max(earlier)
        for name in ("last", "best") if best else ("last",):
            path = folder / f"{name}-{seed}.safetensors"
            checkpoint.save(path, agent, checkpoint.describe(config, seed=seed))
