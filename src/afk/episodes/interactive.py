"""An episode played action by action, by a person or by a plan, and written down like an agent's."""

from functools import partial
from typing import Any

import jax
import numpy as np

from afk.agents.notebook import Notebook, NoteTaking, open_notebook, write
from afk.envs.core import Environment, TimeStep
from afk.envs.registry import shared_program, world_of
from afk.episodes.trace import Step, Trace
from afk.episodes.tracer import Moment, Tracer
from afk.learning.rollout import Play
from afk.training.evaluate import POLICIES, draw_level, fresh_keys


class InteractiveEpisode:
    """One episode under way.

    Attributes:
        tracer: what has happened so far.
        level: the level, as a pool of one.
    """

    def __init__(self, play: Play, *, seed: int, level: int = 0) -> None:
        """Start one of the fresh levels of a seed.

        Args:
            play: the environment, and how notes are taken.
            seed: what the levels are drawn with.
            level: which of them it is.
        """
        self.level = draw_level(play.env, seed=seed, level=level)
        levels = jax.device_get((self.level.states, self.level.observations))
        state, observation = jax.tree.map(lambda leaf: leaf[0, ...], levels)
        self._env, self._rules = shared_program(play.env), play.rules
        self._state, self._notebook = state, _open(play.rules, observation.mission)
        self.tracer = Tracer(play, *jax.device_get((state, observation, self._notebook)))

    def do(self, action: np.ndarray) -> Step:
        """Carry out an action, (components,) int; a ValueError if it is none, or if the episode is over."""
        if self.tracer.is_over:
            raise ValueError("this episode is over; start another one")
        action = self.tracer.play.env.check_action(action)
        self._state, time_step, self._notebook = _step(
            self._env, self._rules, self._state, self._notebook, action
        )
        state, time_step, notebook = jax.device_get((self._state, time_step, self._notebook))
        return self.tracer.add(Moment({}, None, None, action, time_step, state, notebook))

    def say(self, line: str) -> Step:
        """Carry out a command or a question in words; a ValueError if it cannot be read."""
        env = self.tracer.play.env
        return self.do(world_of(env).text.read(env, line))


def trace_policy(play: Play, name: str, *, seed: int, level: int = 0) -> Trace:
    """An episode of one of `POLICIES`, which plan ahead, on one of the fresh levels of a seed."""
    game = InteractiveEpisode(play, seed=seed, level=level)
    key = jax.random.fold_in(fresh_keys(seed)[1], 0)  # as `evaluate.play` draws for its first levels
    (actions,) = POLICIES[name](play.env, game.level.states, key)
    for action in actions:
        game.do(action)
        if game.tracer.is_over:
            break
    return game.tracer.record()


@partial(jax.jit, static_argnums=0)
def _open(rules: NoteTaking, instruction: jax.Array) -> Notebook:
    """The notebook at the start."""
    return open_notebook(instruction, rules=rules)


@partial(jax.jit, static_argnums=(0, 1))
def _step(
    env: Environment[Any], rules: NoteTaking, state: Any, notebook: Notebook, action: jax.Array
) -> tuple[Any, TimeStep, Notebook]:
    """Act or ask, and write the answer down."""
    state, time_step = env.step(state, action)
    notebook, _ = write(notebook, time_step.observation.response, rules=rules)
    return state, time_step, notebook
