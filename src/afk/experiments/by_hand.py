"""An episode played action by action, by a person or by a plan, and written down like an agent's."""

from functools import partial
from typing import Any

import jax
import numpy as np

from afk.agents.notebook import Notebook, NoteTaking, open_notebook, write
from afk.envs.base import Environment, TimeStep
from afk.envs.qbabyai.text import read_action
from afk.envs.qtextworld.commands import read_command
from afk.envs.qtextworld.environment import QTextWorld
from afk.envs.registry import world_of
from afk.experiments.evaluate import POLICIES, draw_level, fresh_keys
from afk.experiments.recorder import Diary, Moment
from afk.experiments.recording import Recording, Step
from afk.learn.rollout import Play


class HandPlay:
    """One episode under way.

    Attributes:
        diary: what has happened so far.
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
        state, observation = jax.tree.map(lambda leaf: leaf[0], (self.level.states, self.level.observations))
        self._world, self._rules = world_of(play.env), play.rules
        self._state, self._notebook = state, _open(play.rules, observation.mission)
        self.diary = Diary(play, *jax.device_get((state, observation, self._notebook)))

    def do(self, action: np.ndarray) -> Step:
        """Carry out an action, (components,) int; a ValueError if it is none, or if the episode is over."""
        if self.diary.is_over:
            raise ValueError("this episode is over; start another one")
        action = self.diary.play.env.check_action(action)
        self._state, time_step, self._notebook = _step(
            self._world, self._rules, self._state, self._notebook, action
        )
        state, time_step, notebook = jax.device_get((self._state, time_step, self._notebook))
        return self.diary.add(Moment({}, None, None, action, time_step, state, notebook))

    def say(self, line: str) -> Step:
        """Carry out a command or a question in words; a ValueError if it cannot be read."""
        env = self.diary.play.env
        return self.do(read_command(env.task, line) if isinstance(env, QTextWorld) else read_action(line))


def record_policy(play: Play, name: str, *, seed: int, level: int = 0) -> Recording:
    """An episode of one of `POLICIES`, which plan ahead, on one of the fresh levels of a seed."""
    hand = HandPlay(play, seed=seed, level=level)
    key = jax.random.fold_in(fresh_keys(seed)[1], 0)  # as `evaluate.play` draws for its first levels
    (actions,) = POLICIES[name](play.env, hand.level.states, key)
    for action in actions:
        hand.do(action)
        if hand.diary.is_over:
            break
    return hand.diary.record()


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
