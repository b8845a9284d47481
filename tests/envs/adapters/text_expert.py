"""The expert of Q-TextWorld, as somebody who types."""

from collections.abc import Callable
from functools import partial

import jax

from afk.envs.adapters.gymnasium import TextEnv
from afk.envs.qtextworld.commands import write_command
from afk.envs.qtextworld.solver import act


def expert(env: TextEnv) -> Callable[[], str]:
    """A function that says what the expert would do now."""
    choose = jax.jit(partial(act, env.task))
    return lambda: write_command(env.task, choose(env.state))
