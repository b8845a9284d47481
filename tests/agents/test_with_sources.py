"""An agent that was trained with the oracle, where there are sources with traits."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from afk.agents.base import Agent
from afk.envs.qbabyai.world.cells import ASK

from .small_agents import build, build_plus, images, reading_of

SOURCES = 3


def switch_of(agent: Agent, terms: float | None = None) -> np.ndarray:
    """What each of some episodes is likely to choose: (n, 1 + sources)."""
    reading = reading_of()
    count = len(reading.instruction)
    image = images(count)
    seen = image if terms is None else (image, jnp.full((count, SOURCES, 3), terms))
    inputs = jax.tree.map(lambda leaf: leaf[None], (seen, reading, jnp.ones(count, bool)))
    return np.exp(agent(agent.first_state(count), *inputs)[1].switch[0])


@pytest.mark.parametrize("agent", [build(), build_plus()], ids=["published", "plus"])
def test_it_asks_each_of_them_where_it_asked_the_oracle_but_less_surely(agent: Agent) -> None:
    before = np.log(switch_of(agent))
    among = np.log(switch_of(agent.with_sources(SOURCES), terms=0.5))
    np.testing.assert_allclose(among[:, ASK:], np.tile(among[:, ASK:][:, :1], SOURCES), rtol=1e-4)
    odds = among[:, ASK] + np.log(SOURCES) - among[:, 0]
    np.testing.assert_allclose(odds, 0.15 * (before[:, ASK] - before[:, 0]), atol=1e-4)
    again = agent.with_sources(SOURCES)
    assert again.with_sources(SOURCES) is again and agent.with_sources(0) is agent


def test_who_cannot_ask_stays_as_it_is() -> None:
    agent = build("no-query")
    assert agent.with_sources(SOURCES) is agent
