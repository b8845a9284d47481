"""An algorithm of your own: advantage actor-critic (A2C) in one file, trained by the same trainer as PPO.

An algorithm is two pure functions, `init` and `update`, over a learner of its own, and a frozen dataclass of
hyperparameters. A configuration with such settings has everything else: several seeds side by side, logs,
checkpoints, exact resume, evaluation, records.

python examples/own_algorithm.py
afk train S --algorithm a2c --import examples/own_algorithm.py
"""

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from rich.console import Console

from afk.agents.base import Agent
from afk.learning.advantages import advantages, bonuses
from afk.learning.algorithm import Algorithm, register_algorithm
from afk.learning.rollout import (
    Actors,
    Episodes,
    Play,
    TrainingLevels,
    agent_inputs,
    collect,
    decide,
    start_actors,
)
from afk.learning.schedules import Schedules
from afk.studies.study import do_run
from afk.training.presets import preset


@dataclass(frozen=True)
class Settings:
    """Hyperparameters of A2C; names that the trainer or the schedules know mean what they mean in PPO."""

    environments: int = 64
    rollout_steps: int = 20
    learning_rate: float = 1e-3
    discount: float = 0.95
    gae_lambda: float = 0.95
    entropy_coef: float = 0.05
    switch_entropy_coef: float = 0.05
    value_coef: float = 0.25
    bonus: float = 0.01
    bonus_until: float = 0.5
    potential_based_bonus: bool = False
    bootstrap_time_limit: bool = True
    anneal_after: float = 0.6
    reward_scale: float = 20.0
    half_precision: bool = False

    @property
    def steps_per_update(self) -> int:
        """Environment steps between two updates."""
        return self.environments * self.rollout_steps


class Learner(eqx.Module):
    """What training carries from one update to the next."""

    agent: Agent
    optimiser: optax.OptState
    actors: Actors
    key: jax.Array
    updates: jax.Array


class Losses(NamedTuple):
    """What an update minimised, () float32 each."""

    policy: jax.Array
    value: jax.Array
    entropy: jax.Array


OPTIMISER = optax.chain(optax.clip_by_global_norm(0.5), optax.scale_by_adam(eps=1e-5))


def init(play: Play, settings: Settings, agent: Agent, levels: TrainingLevels, key: jax.Array) -> Learner:
    """Where training starts."""
    state = OPTIMISER.init(eqx.filter(agent, eqx.is_inexact_array))
    return Learner(agent, state, start_actors(agent, levels, settings.environments), key, jnp.int32(0))


def update(
    play: Play, settings: Settings, learner: Learner, levels: TrainingLevels, schedules: Schedules
) -> tuple[Learner, Episodes, Losses]:
    """Play a few steps, and take one gradient of what they were worth."""
    key, play_key = jax.random.split(learner.key)
    steps = settings.rollout_steps
    actors, experience, episodes = collect(play, learner.agent, levels, learner.actors, play_key, steps=steps)
    last = agent_inputs(play, learner.agent, actors)
    bonus = schedules.bonus * bonuses(experience, last.reading, settings)
    rewards = settings.reward_scale * (experience.reward + bonus)
    advantage = advantages(experience, rewards, decide(learner.agent, last)[1].value, settings)
    target = advantage + experience.value

    def loss(agent: Agent) -> tuple[jax.Array, Losses]:
        _, output = agent(learner.actors.memory, experience.seen, experience.reading, experience.starts)
        found = agent.evaluate_actions(output, experience.action, pays_for_asking=False)
        policy = -(found.log_probability * advantage / jnp.maximum(advantage.std(), 0.3)).mean()
        value = ((output.value - target) ** 2).mean()
        entropy = schedules.entropy_coef * found.entropy.mean()
        entropy += schedules.switch_entropy_coef * found.switch_entropy.mean()
        return policy + settings.value_coef * value - entropy, Losses(policy, value, entropy)

    gradients, losses = eqx.filter_grad(loss, has_aux=True)(learner.agent)
    changes, state = OPTIMISER.update(gradients, learner.optimiser)
    changes = jax.tree.map(lambda each: -schedules.learning_rate * each, changes)
    agent = eqx.apply_updates(learner.agent, changes)
    return Learner(agent, state, actors, key, learner.updates + 1), episodes, losses


def rollout(
    play: Play, settings: Settings, agent: Agent, levels: TrainingLevels, actors: Actors, key: jax.Array
) -> Any:
    """As many steps as an update plays, for `afk bench`."""
    return collect(play, agent, levels, actors, key, steps=settings.rollout_steps)[:2]


A2C = Algorithm("a2c", Settings, init, update, rollout, cost=lambda settings: ({}, 4.0))
register_algorithm(A2C)


def main(steps: int = 150_000, levels: int = 200) -> float:
    """Train the published agent with it on Danger for a moment; returns success on fresh levels."""
    config = preset("laptop", ["S"], steps=steps, settings=Settings())
    config = replace(config, log_every=25, evaluate_every=50)
    with TemporaryDirectory() as folder:
        record = do_run(config, Path(folder) / "run", console=Console(stderr=True), levels=levels)
    success = record.seeds[0].fresh[config.tasks[0]]["success"]
    print(f"A2C on Danger after {steps:,} steps: success {success:.0%} of {levels} fresh levels")
    return success


if __name__ == "__main__":
    main()
