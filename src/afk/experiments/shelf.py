"""Trained agents by name: of a run's folder, of a checkpoint, or shipped with the package."""

from dataclasses import replace
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from afk.agents.agent import Agent
from afk.envs.base import Environment
from afk.envs.registry import find_task, task_named
from afk.experiments import checkpoint
from afk.experiments.config import Config
from afk.experiments.train import agent_shape
from afk.learn.rollout import Play

SHIPPED = "shipped"
# What is shown first of what the shipped agents do: five questions and two rooms, never solved in the paper.
SHOWN = "qbabyai/object-in-box+danger+go-to-favorite"


class TrainedAgent(NamedTuple):
    """An agent and how it was trained."""

    config: Config
    seed: int
    network: Agent


def find_agent(name: str, tasks: tuple[str, ...], *, any_task: bool = False) -> TrainedAgent:
    """A trained agent; a ValueError if there is none.

    Args:
        name: a run's folder, a checkpoint of an agent, or `SHIPPED`.
        tasks: what it is to play.
        any_task: whether it may have been trained on other tasks.
    """
    tasks = tuple(map(task_named, tasks))  # what does not exist nobody was trained on
    if name == SHIPPED:
        with as_file(_shipped(tasks[0], any_task=any_task)) as path:
            return load_agent(path)
    path = Path(name)
    if not path.exists():
        raise ValueError(
            f"there is no agent {name}: say {SHIPPED}, a run's folder or a checkpoint; "
            "`afk eval` also takes expert and random"
        )
    agent = load_agent(_best(path) if path.is_dir() else path)
    unknown = sorted(set(tasks) - set(agent.config.tasks))
    if unknown and not any_task:
        raise ValueError(
            f"{name} was trained on {', '.join(dict.fromkeys(agent.config.tasks))}, not on {unknown[0]}; "
            "--any-task lets it play nevertheless"
        )
    return agent


def play_on(agent: TrainedAgent, env: Environment[Any], *, name: str) -> Play:
    """What an agent plays in an environment; a ValueError if it was trained with other actions."""
    if agent.config.play.env.action_sizes != env.action_sizes:
        raise ValueError(f"{name} was trained with other actions than {env.name} has: it cannot play it")
    return replace(agent.config.play, env=env)


def load_agent(path: Path) -> TrainedAgent:
    """The agent of a checkpoint."""
    description = checkpoint.read_description(path)
    if not {"config", "seed"} <= description.keys():
        raise ValueError(f"{path} is not the checkpoint of an agent, such as best-24.safetensors")
    config = checkpoint.config_of(description, path)
    return TrainedAgent(config, description["seed"], checkpoint.load(path, agent_shape(config)))


def save_small(path: Path, agent: TrainedAgent) -> None:
    """Write an agent in half precision, in which it can be shipped."""
    arrays = jax.tree.map(
        lambda leaf: leaf.astype(jnp.bfloat16), eqx.filter(agent.network, eqx.is_inexact_array)
    )
    checkpoint.save(path, arrays, checkpoint.describe(agent.config, seed=agent.seed))


def shipped_tasks() -> tuple[str, ...]:
    """The tasks that an agent is shipped for."""
    return tuple(sorted(_shelf()))


def _shelf() -> dict[str, Traversable]:
    """The agents that come with the package, by the tasks that each was trained on."""
    agents = [path for path in files("afk.shipped").iterdir() if path.name.endswith(".safetensors")]
    found: dict[str, Traversable] = {}
    for agent in sorted(agents, key=lambda each: each.name):
        with as_file(agent) as path:
            found |= dict.fromkeys(checkpoint.read_description(path)["config"]["tasks"], agent)
    return found


def _shipped(task: str, *, any_task: bool) -> Traversable:
    """The agent for a task, or, for any task, that of its world."""
    shelf, world = _shelf(), type(find_task(task))
    if task not in shelf and any_task:
        return next(agent for name, agent in shelf.items() if isinstance(find_task(name), world))
    if task not in shelf:
        raise ValueError(f"no agent is shipped for {task}; there is one for {', '.join(shipped_tasks())}")
    return shelf[task]


def _best(folder: Path) -> Path:
    """The one best agent of a run."""
    found = sorted(folder.glob("best-*.safetensors"))
    if not found:
        raise ValueError(f"{folder} holds no agent yet: a run writes best-SEED.safetensors when it evaluates")
    if len(found) > 1:
        raise ValueError(f"{folder} holds several agents; name one of {', '.join(map(str, found))}")
    return found[0]
