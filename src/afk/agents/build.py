"""Networks by name: which class an agent has in which world, so that a new one takes one file."""

from collections.abc import Callable
from typing import Any

import jax

from afk.agents.base import Agent, Size
from afk.agents.grid_agent import GridAgent
from afk.agents.plus_agent import PlusAgent
from afk.agents.text_agent import TextAgent
from afk.agents.text_reader import TextReader
from afk.agents.variants import Variant
from afk.envs.core import Environment
from afk.envs.qbabyai.world.cells import ACTIONS
from afk.plugins import load_plugins

# Makes a network from the equipment, the size, the environment, the algorithm's settings and a key.
Builder = Callable[[Variant, Size, Environment[Any], Any, jax.Array], Agent]


def _grid(variant: Variant, size: Size, env: Environment[Any], settings: Any, key: jax.Array) -> Agent:
    return GridAgent(variant, size, env.vocabulary, len(ACTIONS), sources=len(env.sources), key=key)


def _plus(variant: Variant, size: Size, env: Environment[Any], settings: Any, key: jax.Array) -> Agent:
    return PlusAgent(variant, size, env.vocabulary, len(ACTIONS), sources=len(env.sources), key=key)


def _text(variant: Variant, size: Size, env: Environment[Any], settings: Any, key: jax.Array) -> Agent:
    return TextAgent(variant, size, env.vocabulary, sources=len(env.sources), key=key)


def _reader(variant: Variant, size: Size, env: Environment[Any], settings: Any, key: jax.Array) -> Agent:
    return TextReader(variant, size, env.vocabulary, sigma=settings.noise, key=key)


# By world and by name. ``q-values`` is what DQN trains, whatever the variant's network.
NETWORKS: dict[tuple[str, str], Builder] = {
    ("qbabyai", "published"): _grid,
    ("qbabyai", "plus"): _plus,
    ("qtextworld", "published"): _text,
    ("qtextworld", "plus"): _text,
    ("qtextworld", "q-values"): _reader,
}


def register_network(world: str, name: str, build: Builder) -> None:
    """Make a network known, for `Variant.network` and for this process."""
    if NETWORKS.get((world, name), build) is not build:
        raise ValueError(f"a network {name!r} for {world} is registered already")
    NETWORKS[world, name] = build


def find_network(world: str, name: str) -> Builder:
    """The network of a name in a world; a ValueError if there is none."""
    load_plugins()
    if (world, name) not in NETWORKS:
        known = ", ".join(each for where, each in NETWORKS if where == world)
        raise ValueError(f"{world} has no network {name!r}; it has {known}")
    return NETWORKS[world, name]
