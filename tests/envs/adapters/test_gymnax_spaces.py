"""Spaces of the Gymnax adapter: Gymnax's own where it is installed, ours elsewhere."""

import sys
from types import ModuleType

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from afk.envs.adapters.gymnax import Box, Discrete, GymnaxEnv
from afk.envs.registry import make

LEVELS = 12


def test_spaces_of_our_own_where_gymnax_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gymnax", None)
    monkeypatch.setitem(sys.modules, "gymnax.environments.spaces", None)
    env = GymnaxEnv(make("qbabyai/danger"), levels=LEVELS)
    actions, observations = env.action_space(env.default_params), env.observation_space(env.default_params)
    assert isinstance(actions, Discrete) and (actions.n, actions.shape, actions.dtype) == (
        1063,
        (),
        jnp.int32,
    )
    drawn = jax.vmap(actions.sample)(jax.random.split(jax.random.key(0), 500))
    assert drawn.dtype == jnp.int32 and jax.vmap(actions.contains)(drawn).all() and np.ptp(drawn) > 500
    assert not actions.contains(1063) and not actions.contains(-1)
    assert isinstance(observations, Box) and (observations.low, observations.high) == (0, 1)
    drawn = observations.sample(jax.random.key(0))
    assert drawn.shape == (3030,) and drawn.dtype == observations.dtype and observations.contains(drawn)
    assert not observations.contains(drawn + 1) and not observations.contains(drawn - 1)


def test_gymnaxs_spaces_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    spaces = ModuleType("gymnax.environments.spaces")
    monkeypatch.setattr(spaces, "Discrete", type("Discrete", (Discrete,), {}), raising=False)
    monkeypatch.setattr(spaces, "Box", type("Box", (Box,), {}), raising=False)
    for name, module in (
        ("gymnax", ModuleType("gymnax")),
        ("gymnax.environments", ModuleType("gymnax.environments")),
        ("gymnax.environments.spaces", spaces),
    ):
        monkeypatch.setitem(sys.modules, name, module)
    env = GymnaxEnv(make("qbabyai/danger"), levels=LEVELS)
    assert type(env.action_space()) is spaces.Discrete and type(env.observation_space()) is spaces.Box
