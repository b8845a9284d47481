"""All measurements of speed in one run: worlds, rollouts, training and evaluation, by task and batch size."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax

from afk.bench.environments import bench_environment, bench_peer, bench_scaling, measure
from afk.bench.training import bench_training
from afk.envs.level_pool import draw_pool
from afk.envs.registry import make
from afk.learning.devices import stack
from afk.training.build import make_agent, play_of
from afk.training.config import Config
from afk.training.evaluate import play_agents
from afk.training.levels import NETWORK, run_key
from afk.training.machine import describe_machine
from afk.training.presets import preset

_DAY = 86_400  # seconds
# What the paper tells of its speed: appendix, "Resources", with section 4, "Experimental Setup".
PUBLISHED: dict[str, dict[str, Any]] = {
    "qbabyai": {
        "training_steps_per_second": [20e6 / _DAY, 50e6 / _DAY],
        "source": "20M to 50M steps in about 1 day on a V100, P100 or P40",
    },
    "qtextworld": {
        "training_steps_per_second": [0.0, 500_000 * 20 / (2 * _DAY)],
        "source": "500K episodes of at most 20 steps in about 2 days on a V100, P100 or P40",
    },
}


@dataclass(frozen=True)
class Scope:
    """What is measured.

    Attributes:
        tasks: by name.
        preset: settings of the training that is measured.
        agent: the variant.
        environments: batch sizes of worlds without an agent, growing.
        shares: batch sizes of training, as multiples of the preset's.
        episodes: how many an evaluation plays at once.
        seconds: how long each measurement takes.
    """

    tasks: tuple[str, ...]
    preset: str
    agent: str
    environments: tuple[int, ...]
    shares: tuple[float, ...]
    episodes: tuple[int, ...]
    seconds: float

    def configs(self, task: str) -> list[Config]:
        """The runs whose training is measured; a ValueError if there can be no such run."""
        config = preset(self.preset, [task], agent=self.agent)
        configs = []
        for share in self.shares:
            settings = replace(
                config.settings, environments=max(1, int(share * config.settings.environments))
            )
            # A call of about as many steps as the preset's: larger batches, fewer updates.
            chunk = max(1, int(config.log_every / max(1, share)))
            configs.append(replace(config, settings=settings, log_every=chunk, evaluate_every=chunk))
        return configs


def bench_all(scope: Scope, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure everything, one thing after the other.

    Args:
        scope: what.
        say: is given what is measured next, in a few words.

    Returns:
        A record: ``load``, how many processes wanted a core just before; ``environments`` (steps and levels
        a second, where the time goes, ``scaling`` with the batch size, and the peer's speed where it is
        installed), ``training`` (training and rollout) and ``evaluation``, each a list with an entry for each
        task, or task and size; ``published``, the paper's speed.
    """
    configs, load = {task: scope.configs(task) for task in scope.tasks}, os.getloadavg()[0]
    worlds, training, evaluation = [], [], []
    for task in scope.tasks:
        say(f"{task}: environments")
        worlds.append(_bench_world(task, scope))
        for config in configs[task]:
            say(f"{task}: training with {config.settings.environments} environments")
            training.append({"preset": scope.preset, **bench_training(config, seconds=scope.seconds)})
        say(f"{task}: evaluation")
        config = preset(scope.preset, [task], agent=scope.agent)
        evaluation += [bench_evaluation(config, episodes, scope.seconds) for episodes in scope.episodes]
    return {
        "machine": describe_machine(),
        "load": load,
        "seconds": scope.seconds,
        "environments": worlds,
        "training": training,
        "evaluation": evaluation,
        "published": PUBLISHED,
    }


def _bench_world(task: str, scope: Scope) -> dict[str, Any]:
    """A world without an agent, in the largest batch and in the others, and its peer."""
    env, (*smaller, largest) = make(task), scope.environments
    result = bench_environment(env, environments=largest, seconds=scope.seconds)
    scaling = bench_scaling(env, smaller, seconds=scope.seconds)
    scaling.append({name: result[name] for name in ("environments", "steps_per_second")})
    return result | {"scaling": scaling} | bench_peer(env, seconds=scope.seconds)


def bench_evaluation(config: Config, episodes: int, seconds: float) -> dict[str, Any]:
    """Episodes and steps a second of an evaluation; the agent knows nothing, so its episodes are long."""
    there = play_of(config)
    agent = stack([make_agent(config, run_key(0, NETWORK))])
    pool = stack([draw_pool(there.env, jax.random.key(0), episodes)])
    lengths: list[float] = []

    def play(key: jax.Array) -> None:
        lengths.append(float(play_agents(there, agent, pool, key[None]).length.mean()))

    spent, first = measure(play, seconds)
    return {
        "task": there.env.name,
        "agent": config.agent,
        "episodes": episodes,
        "episodes_per_second": episodes / spent,
        "steps_per_second": episodes * sum(lengths) / len(lengths) / spent,
        "compile_seconds": first,
    }


def published_speed(task: str) -> str:
    """The training steps a second that the paper tells of, in the world of a task."""
    low, high = PUBLISHED[task.split("/")[0]]["training_steps_per_second"]
    return f"{low:,.0f} to {high:,.0f}" if low else f"at most {high:,.0f}"
