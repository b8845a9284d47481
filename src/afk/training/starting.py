"""Where training starts: new agents, or those that a run was given, before their first update."""

from collections.abc import Callable
from functools import lru_cache

import jax

from afk.agents.base import Agent
from afk.compiling import jit_lightly
from afk.learning.algorithm import algorithm_of
from afk.learning.devices import stack
from afk.learning.rollout import TrainingLevels
from afk.training.build import make_agent, play_of
from afk.training.config import Config
from afk.training.levels import NETWORK, TRAINING, run_key, seed_levels
from afk.training.update import Learner


def first_learners(config: Config, agent: Agent | None = None) -> Learner:
    """Where training starts with every seed, with a leading axis of seeds."""
    return stack([first_learner(config, seed, agent) for seed in config.seeds])


def first_learner(config: Config, seed: int, agent: Agent | None = None) -> Learner:
    """Where training starts, with an agent that is new if none is given."""
    levels = seed_levels(config, seed, 0)
    return _compiled_init()(config, agent, levels, run_key(seed, NETWORK), run_key(seed, TRAINING))


@lru_cache(maxsize=1)
def _compiled_init() -> Callable[..., Learner]:
    """The following as one program: a network is made of a hundred small steps."""
    return jit_lightly(_init, static_argnums=0)


def _init(
    config: Config, agent: Agent | None, levels: TrainingLevels, network_key: jax.Array, key: jax.Array
) -> Learner:
    """Where training starts."""
    agent = agent or make_agent(config, network_key)
    return algorithm_of(config.settings).init(play_of(config), config.settings, agent, levels, key)
