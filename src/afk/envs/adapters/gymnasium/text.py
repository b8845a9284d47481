"""Q-TextWorld for users of Gymnasium: games in text, the same in tokens, and batches on the device."""

import string
from typing import Any

import gymnasium
import jax
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils import RecordConstructorArgs

from afk.envs.adapters.gymnasium.support import (
    NOT_BEGUN,
    SingleEnv,
    check_actions,
    text_space,
    token_space,
)
from afk.envs.adapters.gymnasium.vector import DeviceVectorEnv
from afk.envs.qtextworld.commands import possible_commands, read_command, write_command
from afk.envs.qtextworld.environment import QTextWorld
from afk.envs.qtextworld.levels.tasks import Task
from afk.envs.qtextworld.world.state import Observation, State
from afk.envs.qtextworld.world.things import THINGS
from afk.envs.qtextworld.world.words import MISSION_LENGTH, ORACLE, RESPONSE_LENGTH
from afk.envs.registry import find_task_of
from afk.language import Vocabulary

_COMMAND_LENGTH = 128  # letters of an action that is sampled; longer ones are read as well
_COMMAND_LETTERS = string.ascii_letters + string.digits + string.punctuation + " "


class TextEnv(SingleEnv[State]):
    """One game of Q-TextWorld in text; see `SingleEnv` for what else is in its infos.

    An action is a command, such as ``take red apple from fridge``, or a question to the oracle: ``ask Charlie
    where's the parsley?``, ``ask Charlie how to cut the hot pepper``. What cannot be read or cannot be done
    takes a step, and the text begins with "invalid command.", as in TextWorld.

    An observation holds ``text`` (the feedback or the answer, then the room, then the inventory), ``mission``
    (the instruction, which is the first feedback too) and ``response`` (the answer; empty when nothing was
    asked). Infos also hold ``admissible_commands``: what can be done now. Questions are not listed there, as
    the oracle answers *where* and *how* for every adjective and noun, of which there are 38 and 45.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 10}  # noqa: RUF012  (Gymnasium's)

    def __init__(self, name: str, render_mode: str | None = None) -> None:
        """Make the environment of a task.

        Args:
            name: the task, such as ``qtextworld/take-1``.
            render_mode: ``ansi`` or None.
        """
        self.task = find_task_of(Task, name)
        super().__init__(QTextWorld(self.task), render_mode)
        self.action_space = spaces.Text(_COMMAND_LENGTH, min_length=0, charset=_COMMAND_LETTERS)
        vocabulary = self.world.vocabulary
        self.observation_space = spaces.Dict(
            {
                "text": text_space(vocabulary, self.task.text_length),
                "mission": text_space(vocabulary, MISSION_LENGTH),
                "response": text_space(vocabulary, RESPONSE_LENGTH, min_length=0),
            }
        )
        self._observation: Observation | None = None

    @property
    def observation(self) -> Observation:
        """What was seen last, as tokens on the host."""
        if self._observation is None:
            raise ResetNeeded(NOT_BEGUN)
        return self._observation

    def render(self) -> str | None:
        """What was read last, with render mode ``ansi``."""
        text = self.world.vocabulary.decode(self.observation.text)
        return text if self.render_mode == "ansi" else None

    def _read(self, action: Any) -> np.ndarray:
        try:
            return read_command(self.task, action)
        except ValueError:
            if not isinstance(action, str):
                raise
            return read_command(self.task, "take none")  # which is read, but can never be done

    def _show(self, observation: Observation) -> dict[str, Any]:
        self._observation = observation
        decode = self.world.vocabulary.decode
        return {name: decode(getattr(observation, name)) for name in ("text", "mission", "response")}

    def _list_questions(self, state: State) -> list[str]:
        names = [THINGS[thing].name for thing in state.game.things[state.game.is_ingredient]]
        asked = [("where", name) for name in names]
        asked += [("how", name) for name in names if self.task.prepares]
        asked += [("where", "knife")] if self.task.finds_knife else []
        return [f"ask {ORACLE.lower()} {function} {name}" for function, name in asked]

    def _info(self, **counts: int) -> dict[str, Any]:
        commands = list(possible_commands(self.task, self.state))
        return {**super()._info(**counts), "admissible_commands": commands}


class TokenEnv(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """A `TextEnv` in numbers, the form that agents learn from.

    An action is ``<func, adj, noun>``: in the paper's tasks, numbers below (7, 38, 45). An observation holds
    ``text_tokens``, (384,) uint16, or longer where there is more furniture, ``mission_tokens``, (64,), and
    ``response_tokens``, (32,), all padded with 0.

    Attributes:
        vocabulary: the words of actions by class, and of tokens.
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        """Wrap a `TextEnv`, or what `gymnasium.make` gives."""
        RecordConstructorArgs.__init__(self)
        super().__init__(env)
        if not isinstance(env.unwrapped, TextEnv):
            raise ValueError(f"TokenEnv wraps an environment of Q-TextWorld, not {env}")
        self._game = env.unwrapped
        self.vocabulary = self._game.world.vocabulary
        self.action_space = spaces.MultiDiscrete(np.array(self._game.world.action_sizes))
        self.observation_space = _token_spaces(self._game.task, self.vocabulary)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start the next episode; there are no options."""
        _, info = self.env.reset(seed=seed, options=options)
        return _token_arrays(self._game.observation), info

    def step(self, action: Any) -> tuple[dict[str, Any], Any, bool, bool, dict[str, Any]]:
        """Act or ask."""
        world, task = self._game.world, self._game.task
        command = write_command(task, check_actions(world, action, (len(world.action_sizes),)))
        _, reward, terminated, truncated, info = self.env.step(command)
        return _token_arrays(self._game.observation), reward, terminated, truncated, info


class TokenVectorEnv(DeviceVectorEnv[State]):
    """Games of Q-TextWorld in a batch: what `SyncVectorEnv` over `TokenEnv` gives, without texts in infos.

    Attributes:
        vocabulary: the words of actions by class, and of tokens.
    """

    def __init__(
        self,
        name: str,
        num_envs: int = 1,
        render_mode: str | None = None,
        max_episode_steps: int | None = None,
    ) -> None:
        """Make environments of a task.

        Args:
            name: the task, such as ``qtextworld/take-1``.
            num_envs: how many there are.
            render_mode: ``ansi`` or None.
            max_episode_steps: what Gymnasium says of the task; there is no other length of episodes.
        """
        task = find_task_of(Task, name)
        world = QTextWorld(task)
        self.vocabulary = world.vocabulary
        space = _token_spaces(task, world.vocabulary)
        super().__init__(world, space, num_envs, render_mode, max_episode_steps)

    def render(self) -> tuple[str, ...] | None:
        """What was read last in every environment, with render mode ``ansi``."""
        batch = self.batch
        if self.render_mode is None:
            return None
        return tuple(map(self.vocabulary.decode, jax.device_get(batch.observations.text)))

    def _observations(self, observation: Observation) -> dict[str, Any]:
        return _token_arrays(observation)


def _token_spaces(task: Task, vocabulary: Vocabulary) -> spaces.Dict:
    """The space of observations in tokens."""
    lengths = {"text": task.text_length, "mission": MISSION_LENGTH, "response": RESPONSE_LENGTH}
    return spaces.Dict(
        {f"{name}_tokens": token_space(vocabulary, length, np.uint16) for name, length in lengths.items()}
    )


def _token_arrays(observation: Observation) -> dict[str, Any]:
    """An observation, or a batch of them, in tokens: copies on the host that may be written to."""
    return {
        "text_tokens": np.array(observation.text),
        "mission_tokens": np.array(observation.mission),
        "response_tokens": np.array(observation.response),
    }
