"""Trained agents by name: of a run's folder, of a checkpoint, or one that comes with the package."""

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from afk.agents.base import Agent
from afk.envs.asking import ALL_TOLD, AS_IT_ASKS, PAPERS_ORACLE, Asking
from afk.envs.core import Environment
from afk.envs.registry import find_task, make, task_named, world_of
from afk.knowledge.catalogue import find_source
from afk.learning.rollout import Play
from afk.training import checkpoint
from afk.training.build import agent_shape, env_of, play_in, play_of
from afk.training.config import Config, read_config
from afk.training.evaluate import POLICIES, Episodes, check_episodes, play, play_agent

PRETRAINED = "pretrained"
# What is shown first of what they do: five questions and two rooms, never solved in the paper.
SHOWN = "qbabyai/object-in-box+danger+go-to-favorite"


class TrainedAgent(NamedTuple):
    """An agent and how it was trained."""

    config: Config
    seed: int
    network: Agent


def find_agent(name: str, tasks: tuple[str, ...], *, any_task: bool = False) -> TrainedAgent:
    """A trained agent; a ValueError if there is none.

    Args:
        name: a run's folder, a checkpoint of an agent, or `PRETRAINED`.
        tasks: what it is to play; none for an agent that is named by a path.
        any_task: whether it may have been trained on other tasks.
    """
    tasks = tuple(map(task_named, tasks))  # what does not exist nobody was trained on
    if name == PRETRAINED:
        return _load_pretrained(_pretrained(tasks[0], any_task=any_task))
    path = Path(name)
    if not path.exists():
        raise ValueError(
            f"there is no agent {name}: say {PRETRAINED}, a run's folder or a checkpoint; "
            "`afk eval` and `afk watch` also take expert and random"
        )
    agent = load_agent(_best(path) if path.is_dir() else path)
    if not any_task:
        check_trained_on(agent, tasks, name)
    return agent


def agent_to_begin_with(name: str, config: Config) -> Agent:
    """The network of a trained agent that a run may begin with, with room for the run's sources."""
    return find_agent(name, config.tasks, any_task=True).network.with_sources(len(config.sources))


def begins_with_pretrained(config: Config) -> Agent | None:
    """The agent of the package that a run begins with, or None; a ValueError if it began with another."""
    if not config.initial_agent:
        return None
    agent = agent_to_begin_with(PRETRAINED, config)
    if not checkpoint.is_called(agent, config.initial_agent):
        raise ValueError("this run began with another agent than the one that comes with the package")
    return agent


def own_task(name: str) -> str:
    """The one task that the agent of a run's folder, or of a checkpoint, was trained on."""
    path = Path(name)
    if name == PRETRAINED or name in POLICIES or not path.exists():
        raise ValueError(
            f"{name} is no run's folder and no checkpoint, which have a task of their own: "
            f"say what {name} is to play: --task; `afk tasks` lists the tasks"
        )
    config = read_config(path) if path.is_dir() else load_agent(path).config
    task, *others = dict.fromkeys(config.tasks)
    if others:
        raise ValueError(f"{name} was trained on several tasks: --task is one of {task}, {', '.join(others)}")
    return task


def check_trained_on(agent: TrainedAgent, tasks: tuple[str, ...], name: str) -> None:
    """A ValueError if an agent, which is called so, was not trained on some tasks."""
    unknown = sorted(set(tasks) - set(agent.config.tasks))
    if unknown:
        raise ValueError(
            f"{name} was trained on {', '.join(dict.fromkeys(agent.config.tasks))}, not on {unknown[0]}; "
            "any_task (--any-task) lets it play nevertheless"
        )


def play_on(agent: TrainedAgent, env: Environment[Any], *, name: str, mode: str = AS_IT_ASKS) -> Play:
    """What an agent plays in an environment; a ValueError if it was trained with other actions.

    Args:
        agent: who plays.
        env: the environment, whose sources are silent where the mode wants it.
        name: what the agent is called.
        mode: one of `afk.envs.asking.MODES`.
    """
    play = play_of(agent.config)
    if play.env.action_sizes != env.action_sizes:
        raise ValueError(f"{name} was trained with other actions than {env.name} has: it cannot play it")
    if mode == ALL_TOLD and not play.variant.notebook:
        raise ValueError(f"{name} has no notebook, in which all that is told would stand")
    return replace(play_in(play, env), begins_told=mode == ALL_TOLD)


def play_fresh(
    agent: TrainedAgent | str,
    task: str,
    *,
    episodes: int,
    seed: int,
    any_task: bool = False,
    asking: Asking = PAPERS_ORACLE,
) -> tuple[dict[str, Any], Iterable[Episodes]]:
    """Let an agent play fresh levels of a task, some hundred at a time.

    Args:
        agent: itself, or what `find_agent` takes, or one of `POLICIES`.
        task: what is played.
        episodes: how many levels.
        seed: what they are drawn with.
        any_task: whether it may have been trained on other tasks.
        asking: whom it asks, and on what terms; of `POLICIES` see `check_plays_by_plan`.

    Returns:
        Who plays what, for a summary, and the episodes as they end.
    """
    check_episodes(episodes)
    labels: dict[str, Any] = {"agent": agent if isinstance(agent, str) else agent.config.agent}
    labels |= {"task": task, "seed": seed} | ({} if asking.mode == AS_IT_ASKS else {"mode": asking.mode})
    if isinstance(agent, str) and agent in POLICIES:
        check_plays_by_plan(agent, asking)
        return labels, play(asking.put_into(make(task)), POLICIES[agent], episodes=episodes, seed=seed)
    found = find_agent(agent, (task,), any_task=any_task) if isinstance(agent, str) else agent
    if not any_task:
        check_trained_on(found, (task,), str(labels["agent"]))
    labels |= {"variant": found.config.agent, "trained_with_seed": found.seed}
    # In the world that it was trained in, for which there is a program already.
    env = asking.put_into(env_of(found.config, task))
    there = play_on(found, env, name=str(labels["agent"]), mode=asking.mode)
    return labels, play_agent(there, found.network, episodes=episodes, seed=seed)


def check_plays_by_plan(name: str, asking: Asking) -> None:
    """A ValueError if what is asked for is of agents that go by answers, which `POLICIES` do not."""
    if asking.mode != AS_IT_ASKS:
        raise ValueError(f"{name} does not go by answers: mode {asking.mode} is for agents that do")
    if not find_source(asking.source).is_deterministic:
        raise ValueError(f"{name} does not go by answers: source {asking.source} is for agents that do")


def load_agent(path: Path) -> TrainedAgent:
    """The agent of a checkpoint."""
    description = checkpoint.read_description(path)
    if not {"config", "seed"} <= description.keys():
        raise ValueError(f"{path} is not the checkpoint of an agent, such as best-24.safetensors")
    config = checkpoint.config_of(description, path)
    seed = description["seed"]
    if not isinstance(seed, int):
        raise ValueError(f"{path} cannot be read: its seed is a whole number, not {seed!r}")
    network = checkpoint.load(path, agent_shape(config))
    checkpoint.check_finite(path, network)
    return TrainedAgent(config, seed, network)


def save_small(path: Path, agent: TrainedAgent) -> None:
    """Write an agent in half precision, in which it comes with the package."""
    arrays = jax.tree.map(
        lambda leaf: leaf.astype(jnp.bfloat16), eqx.filter(agent.network, eqx.is_inexact_array)
    )
    checkpoint.save(path, arrays, checkpoint.describe(agent.config, seed=agent.seed))


def pretrained_tasks() -> tuple[str, ...]:
    """The tasks that a pretrained agent is there for."""
    return tuple(sorted(_agents()))


def _agents() -> dict[str, Traversable]:
    """The agents that come with the package, by the tasks that each was trained on."""
    agents = [path for path in files("afk.pretrained").iterdir() if path.name.endswith(".safetensors")]
    found: dict[str, Traversable] = {}
    for agent in sorted(agents, key=lambda each: each.name):
        with as_file(agent) as path:
            found |= dict.fromkeys(checkpoint.read_description(path)["config"]["tasks"], agent)
    return found


def _pretrained(task: str, *, any_task: bool) -> Traversable:
    """The agent for a task, or, for any task, that of its world."""
    agents, world = _agents(), world_of(find_task(task))
    if task not in agents and any_task:
        return next(agent for name, agent in agents.items() if world_of(find_task(name)) is world)
    if task not in agents:
        raise ValueError(
            f"there is no pretrained agent for {task}; there is one for {', '.join(pretrained_tasks())}"
        )
    return agents[task]


@lru_cache(maxsize=4)
def _load_pretrained(file: Traversable) -> TrainedAgent:
    """An agent that comes with the package, which many ask for again and again."""
    with as_file(file) as path:
        return load_agent(path)


def _best(folder: Path) -> Path:
    """The one best agent of a run."""
    found = sorted(folder.glob("best-*.safetensors"))
    if not found:
        raise ValueError(f"{folder} holds no agent yet: a run writes best-SEED.safetensors when it evaluates")
    if len(found) > 1:
        raise ValueError(f"{folder} holds several agents; name one of {', '.join(map(str, found))}")
    return found[0]
