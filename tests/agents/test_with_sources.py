"""An agent that was trained with the oracle, where there are sources with traits."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from afk.agents.base import Agent
from afk.agents.text_agent import TextAgent
from afk.agents.variants import VARIANTS
from afk.envs.qbabyai.world.cells import ASK

from . import test_text_reader as text
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


def heard_by(agent: Agent, terms: float | None = None) -> Any:
    """What an agent for text makes of some games, whose source has terms or not."""
    seen, reading = text.situation()
    count = len(seen)
    seen = seen if terms is None else (seen, jnp.full((count, 1, 3), terms))
    inputs = jax.tree.map(lambda leaf: leaf[None], (seen, reading, jnp.ones(count, bool)))
    return agent(agent.first_state(count), *inputs)[1]


def test_in_text_it_is_less_sure_of_what_to_do_with_a_name() -> None:
    agent = TextAgent(VARIANTS["afk"], text.SIZE, text.WORDS, key=jax.random.key(3))

    def functions(agent: TextAgent, terms: float | None = None) -> np.ndarray:
        says = partial(agent.speak, pick=lambda word, logits: jnp.zeros(len(logits), jnp.int32))
        return np.asarray(says(heard_by(agent, terms))[0][0])

    before, after = functions(agent), functions(agent.with_sources(1), terms=0.5)
    np.testing.assert_allclose(after - after[..., :1], 0.25 * (before - before[..., :1]), atol=1e-4)
    again = agent.with_sources(1)
    assert again.with_sources(1) is again and agent.with_sources(0) is agent


def test_new_agents_for_text_see_terms_if_they_have_eyes_for_them() -> None:
    sees = TextAgent(VARIANTS["afk"], text.SIZE, text.WORDS, sources=1, key=jax.random.key(3))
    assert not np.allclose(heard_by(sees, 0.1).value, heard_by(sees, 0.5).value)
    for agent in (TextAgent(VARIANTS["afk"], text.SIZE, text.WORDS, key=jax.random.key(3)), text.build()):
        np.testing.assert_array_equal(heard_by(agent).value, heard_by(agent, 0.5).value)
