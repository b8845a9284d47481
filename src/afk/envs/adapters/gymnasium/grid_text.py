"""Q-BabyAI in words for users of Gymnasium: what is seen as sentences, actions and questions as lines."""

import string
from typing import Any

import jax
import numpy as np
from gymnasium import spaces

from afk.envs.adapters.gymnasium.support import SingleEnv, question_texts, render_state, text_space
from afk.envs.qbabyai.environment import QBabyAI
from afk.envs.qbabyai.levels.tasks import Task
from afk.envs.qbabyai.text import describe_observation, describe_rules, read_action
from afk.envs.qbabyai.world import cells
from afk.envs.qbabyai.world.state import Observation, State
from afk.envs.qbabyai.world.words import MISSION_LENGTH, RESPONSE_LENGTH, VOCABULARY
from afk.envs.registry import find_task_of

_LINE_LENGTH = 128  # letters of an action that is sampled; longer ones are read as well
_TEXT_LENGTH = 4096
_LETTERS = string.ascii_letters + string.digits + string.punctuation + " "
_NOTHING = np.array([0, cells.DONE, 0, 0, 0], np.int32)


class GridTextEnv(SingleEnv[State]):
    """One environment of Q-BabyAI in words; see `SingleEnv` for what else is in its infos.

    An action is a line: ``turn left``, ``move forward``, ``pick up the red ball``, or a question such as
    ``where is the blue ball?``. What cannot be read takes a step in which nothing is done, and the text
    begins with what can be written.

    An observation holds ``text`` (where the agent is, and what it sees and carries, then the answer),
    ``mission`` (the instruction) and ``response`` (the answer; empty when nothing was asked). Infos also hold
    ``rules``, what a player has to know before the first step.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 10}  # noqa: RUF012  (Gymnasium's)

    def __init__(self, name: str, render_mode: str | None = None) -> None:
        """Make the environment of a task.

        Args:
            name: the task, such as ``qbabyai/object-in-box``.
            render_mode: ``ansi`` or None.
        """
        self.task = find_task_of(Task, name)
        super().__init__(QBabyAI(self.task), render_mode)
        self.action_space = spaces.Text(_LINE_LENGTH, min_length=0, charset=_LETTERS)
        self.observation_space = spaces.Dict(
            {
                "text": spaces.Text(_TEXT_LENGTH, charset=_LETTERS + "\n"),
                "mission": text_space(VOCABULARY, MISSION_LENGTH),
                "response": text_space(VOCABULARY, RESPONSE_LENGTH, min_length=0),
            }
        )
        self._refusal = ""  # why the last line could not be read

    def render(self) -> str | None:
        """The whole level in sentences, with render mode ``ansi``."""
        return render_state(jax.device_get(self.state), self.render_mode, 1)

    def _read(self, action: Any) -> np.ndarray:
        if not isinstance(action, str):
            raise ValueError(f"an action is a line of text, not {action!r}")
        try:
            return read_action(action)
        except ValueError as error:
            self._refusal = f"{error}\n"
            return _NOTHING

    def _show(self, observation: Observation) -> dict[str, Any]:
        text, self._refusal = self._refusal + describe_observation(observation, self.state), ""
        return {
            "text": text,
            "mission": VOCABULARY.decode(observation.mission),
            "response": VOCABULARY.decode(observation.response) if observation.response.any() else "",
        }

    def _list_questions(self, state: State) -> list[str]:
        return question_texts(state.level.good_queries)

    def _info(self, **counts: int) -> dict[str, Any]:
        return {**super()._info(**counts), "rules": describe_rules(self.task)}
