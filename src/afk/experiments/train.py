"""Training: chunks of updates on the device; between them fresh levels, a line in the log, a checkpoint.

A run is a folder: ``config.json``, ``log.jsonl`` (a line a chunk), ``last.safetensors`` (everything, to go on
from) and ``best.safetensors`` (the agent that did best in an evaluation). Killed at any moment, it goes on
from its last checkpoint and ends with the same parameters as if it had not been.
"""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from afk.agents.grid_agent import GridAgent
from afk.envs.base import Pool, draw_pool
from afk.envs.qbabyai.cells import ACTIONS
from afk.envs.qbabyai.environment import QBabyAI
from afk.envs.qbabyai.words import VOCABULARY
from afk.experiments import checkpoint
from afk.experiments.config import Config, read_config
from afk.experiments.evaluate import Episodes, play_agent, summarise
from afk.learn.ppo import Learner, optimiser, update
from afk.learn.rollout import start_actors
from afk.records import write_json, write_whole

# What the run's seed is split into.
_LEVELS, _NETWORK, _TRAINING, _EVALUATION = range(4)


def start_run(config: Config, folder: Path) -> None:
    """Make the folder of a new run; a ValueError if something is there already."""
    if folder.exists() and any(folder.iterdir()):
        raise ValueError(f"{folder} is in use; choose another folder, or go on with --resume {folder}")
    write_json(folder / "config.json", config.to_json())


def train(folder: Path) -> Iterator[dict[str, Any]]:
    """Train the run of a folder from where it stands; yields each line of its log once it is safe on disk."""
    config = read_config(folder)
    learner = first_learner(config)
    last = folder / "last.safetensors"
    if last.exists():
        learner = checkpoint.load(last, learner)
    rows = _read_log(folder, until=int(learner.updates))
    run_chunk = _compile(config, learner, _pool(config, int(learner.updates)))
    best = max((row["evaluation"]["success"] for row in rows if "evaluation" in row), default=-1.0)
    elapsed = rows[-1]["seconds"] if rows else 0.0
    while int(learner.updates) < config.updates:
        start = time.perf_counter()
        bonus = jnp.float32(config.bonus_at(int(learner.updates)))
        learner, episodes, losses = run_chunk(learner, _pool(config, int(learner.updates)), bonus)
        row = _describe(config, learner, episodes, losses)
        elapsed += time.perf_counter() - start
        if int(learner.updates) % config.evaluate_every == 0:
            row["evaluation"] = _evaluate(config, learner)
            if row["evaluation"]["success"] > best:
                best = row["evaluation"]["success"]
                checkpoint.save(folder / "best.safetensors", eqx.filter(learner.agent, eqx.is_array))
        row |= {"seconds": elapsed, "steps_per_second": row["steps"] / elapsed}
        rows.append(row)
        # The log first: a line too many is dropped on resuming, a line too few would be lost.
        _write_log(folder, rows)
        checkpoint.save(last, learner)
        yield row


def first_learner(config: Config) -> Learner:
    """Where training starts."""
    play = config.play
    agent = first_agent(config)
    actors = start_actors(play, agent, _pool(config, 0), config.settings.environments)
    state = optimiser(config.settings).init(eqx.filter(agent, eqx.is_inexact_array))
    return Learner(agent, state, actors, _key(config, _TRAINING), jnp.int32(0))


def first_agent(config: Config) -> GridAgent:
    """A network before training."""
    return GridAgent(config.play.variant, config.size, VOCABULARY, len(ACTIONS), key=_key(config, _NETWORK))


def load_agent(folder: Path) -> tuple[Config, GridAgent]:
    """The best agent of a run so far."""
    config = read_config(folder)
    return config, checkpoint.load(folder / "best.safetensors", first_agent(config))


def play_run(folder: Path, env: QBabyAI, *, episodes: int, seed: int) -> Iterator[Episodes]:
    """The best agent of a run on fresh levels of a task."""
    config, agent = load_agent(folder)
    yield play_agent(replace(config.play, env=env), agent, episodes=episodes, key=jax.random.key(seed))


def _key(config: Config, purpose: int) -> jax.Array:
    return jax.random.fold_in(jax.random.key(config.seed), purpose)


@lru_cache(maxsize=1)  # the first levels of a run are wanted to start, to compile and to play
def _pool(config: Config, updates: int) -> Pool:
    """The levels that are played from so many updates on."""
    return draw_pool(config.play.env, jax.random.fold_in(_key(config, _LEVELS), updates), config.levels)


def _compile(config: Config, learner: Learner, pool: Pool) -> Callable[..., tuple[Learner, Any, Any]]:
    """A function that does a chunk of updates; episodes and losses come back summed and averaged."""
    arrays, static = eqx.partition(learner, eqx.is_array)
    play, settings = config.play, config.settings

    @partial(jax.jit, donate_argnums=0)
    def run(arrays: Any, pool: Pool, bonus: jax.Array) -> tuple[Any, Any, Any]:
        def body(arrays: Any, _: None) -> tuple[Any, Any]:
            learner, episodes, losses = update(play, settings, eqx.combine(arrays, static), pool, bonus)
            return eqx.filter(learner, eqx.is_array), (episodes, losses)

        arrays, (episodes, losses) = jax.lax.scan(body, arrays, length=config.chunk)
        summed = jax.tree.map(lambda leaf: leaf.sum(0), episodes)
        return arrays, summed, jax.tree.map(lambda leaf: leaf.mean(0), losses)

    compiled = run.lower(arrays, pool, jnp.float32(0)).compile()

    def run_chunk(learner: Learner, pool: Pool, bonus: jax.Array) -> tuple[Learner, Any, Any]:
        arrays, episodes, losses = compiled(eqx.filter(learner, eqx.is_array), pool, bonus)
        return eqx.combine(arrays, static), episodes, losses

    return run_chunk


def _describe(config: Config, learner: Learner, episodes: Any, losses: Any) -> dict[str, Any]:
    """A line of the log."""
    sums, losses = jax.device_get((episodes, losses))
    means = {name: float(value / max(sums.count, 1)) for name, value in vars(sums).items() if name != "count"}
    loss = {name: float(value) for name, value in losses._asdict().items()}
    if not all(value == value for value in loss.values()):
        raise ValueError(
            "training broke down: a loss is not a number (more distinct notes than the network allows?)"
        )
    updates = int(learner.updates)
    steps = updates * config.settings.steps_per_update
    return {
        "updates": updates,
        "steps": steps,
        "episodes": int(sums.count),
        "training": means,
        "losses": loss,
    }


def _evaluate(config: Config, learner: Learner) -> dict[str, Any]:
    """The agent on fresh levels."""
    key = jax.random.fold_in(_key(config, _EVALUATION), learner.updates)
    return summarise([play_agent(config.play, learner.agent, episodes=config.evaluation_episodes, key=key)])


def _read_log(folder: Path, *, until: int) -> list[dict[str, Any]]:
    """The lines of a log up to a checkpoint."""
    path = folder / "log.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [row for row in map(json.loads, lines) if row["updates"] <= until]


def _write_log(folder: Path, rows: list[dict[str, Any]]) -> None:
    """Write a log, whole."""
    write_whole(folder / "log.jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode())
