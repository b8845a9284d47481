"""Environments can be copied, pickled and played in processes of their own."""

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AsyncVectorEnv

from afk.envs.adapters.gymnasium import (
    FlatEnv,
    GridTextEnv,
    QueryableEnv,
    QueryableVectorEnv,
    TextEnv,
    TokenEnv,
    TokenVectorEnv,
    gymnasium_id,
)

GRID, TEXT = "qbabyai/danger", "qtextworld/take-1"
FORKED = f"""
import warnings
import gymnasium
from afk.envs.adapters.gymnasium import QueryableEnv, register_all
warnings.simplefilter("ignore")
register_all()
QueryableEnv("{GRID}").reset(seed=0)
forked = dict(vectorization_mode="async", vector_kwargs=dict(context="fork"))
envs = gymnasium.make_vec("{gymnasium_id(GRID)}", 2, **forked)
try:
    envs.reset(seed=0)
except RuntimeError as error:
    print(error)
"""


def pickled(env: Any) -> Any:
    return pickle.loads(pickle.dumps(env))


@pytest.mark.parametrize("duplicate", [copy.deepcopy, pickled])
@pytest.mark.parametrize(
    "make",
    [
        partial(QueryableEnv, GRID),
        lambda: FlatEnv(gymnasium.make(gymnasium_id(GRID))),
        partial(QueryableVectorEnv, GRID, 2),
        partial(TextEnv, TEXT),
        lambda: TokenEnv(TextEnv(TEXT)),
        partial(TokenVectorEnv, TEXT, 2),
    ],
)
def test_a_copy_goes_on_where_the_original_stands(
    bank: None, make: Callable[[], Any], duplicate: Callable[[Any], Any]
) -> None:
    env = make()
    duplicate(env)  # before the first episode, too
    env.reset(seed=3)
    env.action_space.seed(0)
    env.step(env.action_space.sample())
    other, action = duplicate(env), env.action_space.sample()
    expected = env.step(action)
    assert data_equivalence(other.step(action), expected, exact=True)
    assert data_equivalence(other.reset(), env.reset(), exact=True)


def test_a_copy_of_an_environment_in_a_window_has_a_window_of_its_own() -> None:
    env = QueryableEnv(GRID, render_mode="human")
    env.reset(seed=0)
    other = pickled(env)
    other.step(np.zeros(5, int))
    env.close()


@pytest.mark.parametrize(
    ("make", "actions"), [(QueryableEnv, np.zeros((1, 5), int)), (GridTextEnv, ("forward",))]
)
def test_environments_play_in_processes_that_are_spawned(make: Callable[..., Any], actions: Any) -> None:
    single = make(GRID)
    envs = AsyncVectorEnv([partial(make, GRID)], context="spawn", shared_memory=False)
    try:
        (observed, _), (expected, _) = envs.reset(seed=5), single.reset(seed=5)
        assert observed.keys() == expected.keys()
        for name, value in expected.items():
            assert data_equivalence(observed[name][0], value), name
        envs.step(actions)
    finally:
        envs.close()


def test_a_process_that_was_forked_while_jax_ran_refuses_instead_of_hanging() -> None:
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == [
        "JAX ran before this process was forked, and would hang in it: "
        'make_vec(..., vector_kwargs={"context": "spawn", "shared_memory": False})'
    ], done.stderr
