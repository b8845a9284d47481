"""One episode in words: the rules, what is seen, and what a line does; all of `afk.play` stands on it.

A line that cannot be read takes a step, as a useless action of an agent does, and is answered with what is
allowed; so every episode ends.
"""

import re
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from afk.envs.core import Environment, EpisodeStats, TimeStep
from afk.envs.qbabyai.environment import GridWorld
from afk.envs.registry import shared_program, world_of
from afk.play.informant import Informant
from afk.play.macros import carry_out, read_macro
from afk.play.rules import check_mode, write_rules
from afk.play.seen import SeenMap

_IN_VAIN = re.compile(r"i dont know|won't find any|cannot be cut nor cooked|do not understand")
_NO_QUESTIONS = "questions cannot be asked here; act instead"


class Episode:
    """An episode under way.

    Attributes:
        rules: what the player has to know beforehand.
        observation: what the player reads now; at the start, what the task is as well.
        invalid: lines so far that could not be read or carried out.
        reward: what was paid so far.
        labels: what came of each question: ``good``, ``answered``, ``repeated`` or ``unanswered``.
    """

    def __init__(
        self,
        env: Environment[Any],
        state: Any,
        *,
        mode: str = "asking",
        macros: bool = False,
        informant: Informant | None = None,
    ) -> None:
        """Begin an episode.

        Args:
            env: the environment of one task.
            state: the first state of a level.
            mode: ``no-questions``, ``asking``, or ``all-told``: the answers to Q_t are told at the start.
            macros: whether lines are macros where the world has them, rather than single actions.
            informant: who answers questions; the environment itself if None.
        """
        self._env, self._text, self._may_ask = env, world_of(env).text, check_mode(mode) == "asking"
        self._map = _open_map(env) if macros and isinstance(env, GridWorld) else None
        self._informant = informant
        self.rules = write_rules(env, mode=mode, macros=self._map is not None)
        self.invalid, self.reward = 0, 0.0
        self._last: TimeStep | None = None
        self.labels: list[str] = []
        self._asked: set[bytes] = set()
        self._program, self._state = shared_program(env), state
        self._show(jax.device_get(_observe(env, state)))
        if mode == "all-told":
            self.observation += f"\nYou are told: {'; '.join(_answers(env, state))}."

    @property
    def is_over(self) -> bool:
        """Whether the episode has ended."""
        return self._last is not None and bool(self._last.done)

    @property
    def success(self) -> bool:
        """Whether the task is done."""
        return self._last is not None and bool(self._last.success)

    @property
    def ending(self) -> str:
        """How it stands: ``success``, ``failure``, ``out of time`` or ``under way``."""
        if self._last is None or not self.is_over:
            return "under way"
        return "success" if self.success else "failure" if self._last.terminated else "out of time"

    @property
    def stats(self) -> EpisodeStats:
        """The counts of the paper's measures on the host; zeros before the first step."""
        return EpisodeStats(*(jnp.int32(0),) * 4) if self._last is None else self._last.stats

    def act(self, line: str) -> str:
        """Carry out an action or a macro, and return what is observed then."""
        if self.is_over:
            return self._ended()
        steps = int(self.stats.steps)
        try:
            if self._map is not None:
                for action in carry_out(read_macro(line, self._map), self._map):
                    self._step(np.array([0, action, 0, 0, 0], np.int32))
                    if self.is_over:
                        break
                if int(self.stats.steps) == steps:  # there already: even that takes a step
                    self._step(np.array(self._text.idle, np.int32))
            else:
                self._step(self._read_action(line))
        except ValueError as error:
            return self.reject(str(error))
        return self._ended()

    def ask(self, question: str) -> str:
        """Ask a question, and return the answer with what is observed then."""
        if self.is_over:
            return self._ended()
        if not self._may_ask:
            return self.reject(_NO_QUESTIONS)
        told = None
        if self._informant is not None:
            told = self._informant.ask(self._state, self._plainly(question))
        try:
            action = self._read_question(question if told is None else told.query)
        except ValueError as error:
            return self.reject(str(error))
        good = int(self.stats.good)
        for other in () if told is None else told.others:
            self._hear(self._read_question(other))
        response = self._step(action)
        if told is not None and told.text is not None:
            before, _, after = self.observation.rpartition(response)
            self.observation = f"{before}{told.text}{after}"
        in_vain = _IN_VAIN.search(response) or (told is not None and told.in_vain)
        repeated = action.tobytes() in self._asked
        self._asked.add(action.tobytes())
        label = "unanswered" if in_vain else "repeated" if repeated else "answered"
        self.labels.append("good" if int(self.stats.good) > good else label)
        return self._ended()

    def reject(self, why: str) -> str:
        """Let a step go by for what could not be understood, and say why."""
        if not self.is_over:
            self.invalid += 1
            self._step(np.array(self._text.idle, np.int32))
            self.observation = f"Invalid: {why.rstrip('.')}.\n{self.observation}"
        return self._ended()

    def _read_question(self, line: str) -> np.ndarray:
        """The query that a line says; a ValueError if it is none."""
        address = "" if line.lower().startswith("ask ") else self._text.address
        action = self._text.read(self._env, f"{address}{line}")
        if not self._text.is_query(self._env, action):
            raise ValueError("that is no question: do it")
        return action

    def _plainly(self, question: str) -> str:
        """A question as ``where blue ball`` if it is a query, otherwise as it is."""
        try:
            said = self._text.say(self._env, self._read_question(question))
        except ValueError:
            return question
        return said.removeprefix(self._text.address.lower() or "ask ").strip('"')

    def _read_action(self, line: str) -> np.ndarray:
        """The action that a line says; a ValueError if it is none, or a question."""
        try:
            action = self._text.read(self._env, line)
        except ValueError as error:
            raise ValueError(f"cannot read {line[:80]!r}. {self._text.acting(self._env)}") from error
        if self._text.is_query(self._env, action):
            raise ValueError("that is a question: ask it" if self._may_ask else _NO_QUESTIONS)
        return action

    def _hear(self, query: np.ndarray) -> None:
        """Count what a query would reveal as asked, without a step."""
        after, _ = _step(self._program, self._state, query)
        self._state = replace(self._state, asked=self._state.asked | after.asked)

    def _step(self, action: np.ndarray) -> str:
        """Take a step; returns the answer, which is empty if nothing was asked."""
        # The state stays where it is: of its many arrays only a few are looked at.
        self._state, last = _step(self._program, self._state, action)
        self._last = last = jax.device_get(last)
        self.reward += float(last.reward)
        self._show(last.observation)
        return self._env.vocabulary.decode(last.observation.response)

    def _show(self, observation: Any) -> None:
        """Put what is observed into words."""
        if self._map is None:
            self.observation = self._text.describe(self._env, jax.device_get(self._state), observation)
            return
        self._map.look(observation, self._state)
        decode = self._env.vocabulary.decode
        lines = [f"Your task: {decode(observation.mission)}.", self._map.describe()]
        if observation.response.any():
            lines.append(f'The answer: "{decode(observation.response)}".')
        self.observation = "\n".join(lines)

    def _ended(self) -> str:
        """What is observed, and how it ended if it has."""
        return (
            f"{self.observation}\nThe episode is over: {self.ending}." if self.is_over else self.observation
        )


def _open_map(env: GridWorld) -> SeenMap:
    """An empty map of the world of a task."""
    (task,) = env.tasks
    return SeenMap(task.plan.rows, task.plan.columns, task.plan.room_size - 1, task.hazard is not None)


def _answers(env: Environment[Any], state: Any) -> list[str]:
    """The answers to the good queries of a first state."""
    rows = jax.device_get(_hints(env, state))
    return [env.vocabulary.decode(row) for row in rows if row.any()]


@partial(jax.jit, static_argnums=0)
def _hints(env: Environment[Any], state: Any) -> Any:
    """The answers to the good queries as tokens."""
    return world_of(env).curriculum.hints(env, state)


@partial(jax.jit, static_argnums=0)
def _observe(env: Environment[Any], state: Any) -> Any:
    """The first observation."""
    return env.observe(state)


@partial(jax.jit, static_argnums=0)
def _step(env: Environment[Any], state: Any, action: jax.Array) -> tuple[Any, TimeStep]:
    """Act or ask."""
    return env.step(state, action)
