"""What a configuration describes, built: its environment, the agent's equipment, the network."""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import jax
from jax.sharding import Mesh

from afk.agents.base import Agent
from afk.agents.build import find_network
from afk.agents.note_rules import note_taking
from afk.agents.notebook import Similarity
from afk.agents.variants import find_variant
from afk.envs.asking import PAPERS_ORACLE, Asking
from afk.envs.core import Environment
from afk.envs.registry import make_roomy
from afk.learning.algorithm import algorithm_of
from afk.learning.devices import use_devices
from afk.learning.rollout import Play
from afk.learning.schedules import Schedules, schedules_at
from afk.training.config import Config
from afk.training.presets import preset


def play_of(config: Config) -> Play:
    """The fixed part of a run's loops."""
    similarity = Similarity(config.n_gram, config.alpha)
    env = env_of(config, *config.tasks)
    return make_play(env, config.agent, similarity, config.clauses, config.keep_last_answer)


def env_of(config: Config, *tasks: str) -> Environment[Any]:
    """Tasks as agents of a run play them: with its sources, in a world with room for others."""
    return Asking(config.source, config.sources).put_into(make_roomy(*tasks))


def make_play(
    env: Environment[Any], agent: str, similarity: Similarity, clauses: int, keeps_answer: bool = False
) -> Play:
    """The environment, the agent's equipment, and how notes are taken."""
    # Environments are equal whoever tells of their levels: it has to be this one.
    return replace(_make_play(env, agent, similarity, clauses, keeps_answer), env=env)


@lru_cache(maxsize=32)
def _make_play(
    env: Environment[Any], agent: str, similarity: Similarity, clauses: int, keeps_answer: bool
) -> Play:
    """The same, made once for equal environments."""
    return Play(env, find_variant(agent), note_taking(env, similarity, clauses=clauses), keeps_answer)


def play_in(play: Play, env: Environment[Any]) -> Play:
    """The same equipment in another environment, whose answers it takes notes of."""
    rules = note_taking(env, play.rules.similarity, clauses=play.rules.clauses)
    return replace(play, env=env, rules=rules)


def play_by_plan(task: str, asking: Asking = PAPERS_ORACLE) -> Play:
    """A task as a person or a plan plays it, with a notebook like the published agent's."""
    config = preset("laptop", [task])
    env = asking.put_into(make_roomy(task))
    return make_play(env, config.agent, Similarity(config.n_gram, config.alpha), config.clauses)


def make_agent(config: Config, key: jax.Array) -> Agent:
    """A network before training."""
    play, settings = play_of(config), config.settings
    build = find_network(play.env.world, algorithm_of(settings).network(play.variant))
    return build(play.variant, config.size, play.env, settings, key)


def agent_shape(config: Config) -> Agent:
    """A network with shapes in the place of arrays: a checkpoint is read without one being made before."""
    return jax.eval_shape(lambda: make_agent(config, jax.random.key(0)))


def mesh_of(config: Config, devices: int | None) -> Mesh:
    """So many devices for a run, all that can share it if None; a ValueError if that cannot be."""
    rows = algorithm_of(config.settings).rows(config.settings)
    return use_devices(devices, len(config.seeds), rows)


def evaluation_mesh_of(config: Config, mesh: Mesh) -> Mesh:
    """As many of a run's devices as can share an evaluation."""
    episodes = {"episodes": config.evaluation_episodes}
    return use_devices(None, len(config.seeds), episodes, most=mesh.size)


def schedules_of(config: Config, updates: int) -> Schedules:
    """What is annealed, after so many updates of a run."""
    pays = find_variant(config.agent).bonus
    return schedules_at(config.settings, updates / config.updates, pays_bonus=pays)
