"""All tasks for users of Gymnasium: single environments, batches on the device, and other forms.

``import afk`` makes their ids known (`afk.envs.adapters.ids`)::

    import afk
    import gymnasium

    env = gymnasium.make("QBabyAI-ObjectInBox-v0")  # "afk:QBabyAI-ObjectInBox-v0" needs no `import afk`
    envs = gymnasium.make_vec("QBabyAI-ObjectInBox-v0", 64, vectorization_mode="vector_entry_point")

Q-BabyAI is a `QueryableEnv`, a `GridTextEnv` (``QBabyAIText-ObjectInBox-v0``) in words, or flat a `FlatEnv`;
Q-TextWorld is a `TextEnv`, with a form in tokens `TokenEnv`. `np_random` draws the number of a level, so the
same seed gives the same episodes in a single environment, in Gymnasium's `SyncVectorEnv` and in a batch on
the device.
"""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs

from afk.envs.adapters.gymnasium.grid_text import GridTextEnv
from afk.envs.adapters.gymnasium.images import check_image, image_space, show_image
from afk.envs.adapters.gymnasium.support import (
    IMAGE_SIZES,
    SingleEnv,
    check_actions,
    check_tile_size,
    observation_arrays,
    observation_space,
    question_texts,
    render_state,
)
from afk.envs.adapters.gymnasium.text import TextEnv, TokenEnv, TokenVectorEnv
from afk.envs.adapters.gymnasium.vector import QueryableVectorEnv
from afk.envs.adapters.ids import register_ids, spell_id
from afk.envs.qbabyai.environment import QBabyAI
from afk.envs.qbabyai.levels.tasks import Task
from afk.envs.qbabyai.world.state import Observation, State
from afk.envs.qbabyai.world.words import VOCABULARY
from afk.envs.registry import family_of, find_task, find_task_of, list_task, task_named, task_names

__all__ = [
    "FlatEnv",
    "GridTextEnv",
    "QueryableEnv",
    "QueryableVectorEnv",
    "TextEnv",
    "TokenEnv",
    "TokenVectorEnv",
    "gymnasium_id",
    "register_all",
]

_WINDOW_WIDTH = 640
_LINE_HEIGHT = 28


def gymnasium_id(name: str) -> str:
    """The id of a task: ``qbabyai/danger+open-door``, or ``SH``, is ``QBabyAI-Danger-OpenDoor-v0``."""
    name = task_named(name) if "/" not in name else name
    return spell_id(family_of(name), name)


def register_all() -> None:
    """Make every task known to Gymnasium, those of your own as well; what is known already stays."""
    register_ids({name: list_task(find_task(name)) for name in task_names()})


class QueryableEnv(SingleEnv[State]):
    """One environment of Q-BabyAI; see `SingleEnv` for its infos.

    An action is ``<switch, physical, func, adj, noun>``. An observation holds the image, (7, 7, 4) uint8, and
    the instruction and the answer of this step, each as text and as tokens; the answer is empty when nothing
    was asked. Without texts it is numbers only, as Stable-Baselines3's ``MultiInputPolicy`` takes it.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  (Gymnasium's name and type)
        "render_modes": ["rgb_array", "human", "ansi"],
        "render_fps": 10,
    }

    def __init__(
        self,
        name: str,
        render_mode: str | None = None,
        tile_size: int = 32,
        text: bool = True,
        image: str = "view",
    ) -> None:
        """Make the environment of a task.

        Args:
            name: the task, such as ``qbabyai/object-in-box``.
            render_mode: ``rgb_array``, ``human``, ``ansi`` or None.
            tile_size: pixels along a cell of a picture.
            text: whether observations have the instruction and the answer as texts, too.
            image: ``view``, the 7 x 7 cells that the agent sees, in codes; ``grid``, the whole world in
                codes; ``rgb``, the view as a picture of 8 pixels a cell.
        """
        task = find_task_of(Task, name)
        super().__init__(QBabyAI(task), render_mode)
        self.tile_size, self.text, self.image = check_tile_size(tile_size), text, check_image(image)
        self.action_space = spaces.MultiDiscrete(np.array(self.world.action_sizes))
        self.observation_space = observation_space(text=text, image=image_space(task.plan.shape, image))
        self._lines = ("", "")  # the instruction and the answer
        self._window: _Window | None = None

    def __getstate__(self) -> dict[str, Any]:
        """All but the window: a copy opens its own."""
        return {**self.__dict__, "_window": None}

    def render(self) -> Any:
        """A picture (height, width, 3) uint8, a text, or None when it is shown in a window."""
        if self.render_mode != "human":
            return render_state(self.state, self.render_mode, self.tile_size)
        self._window = self._window or _Window()
        picture = render_state(self.state, "rgb_array", self.tile_size)
        self._window.show(picture, self._lines, self.metadata["render_fps"])
        return None

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def _read(self, action: Any) -> np.ndarray:
        return check_actions(self.world, action, (len(self.world.action_sizes),))

    def _show(self, observation: Observation) -> dict[str, Any]:
        """The observation as Gymnasium has it; in the window too, if a person watches."""
        self._lines = VOCABULARY.decode(observation.mission), VOCABULARY.decode(observation.response)
        if self.render_mode == "human":
            self.render()
        arrays = observation_arrays(observation)
        arrays["image"] = show_image(self.state, arrays["image"], self.image)
        mission, response = self._lines
        return arrays | ({"mission": mission, "response": response} if self.text else {})

    def _list_questions(self, state: State) -> list[str]:
        return question_texts(state.level.good_queries)


class FlatEnv(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """One number as action and one vector as observation, for libraries that want these.

    Actions are first the seven physical ones, then every query with the noun changing fastest. Observations
    are one-hot float32: for each of the 49 cells, column by column, its type (9), colour (6) and state (3);
    the agent's direction (4); each token of the instruction (20 x 67) and of the answer (12 x 67).
    """

    def __init__(self, env: gymnasium.Env[dict[str, Any], np.ndarray], *, flat_actions: bool = True) -> None:
        """Wrap an environment.

        Args:
            env: a `QueryableEnv`, or what `gymnasium.make` gives.
            flat_actions: False leaves the actions as vectors. A library that takes these explores better:
                drawn evenly, one number in 150 is a physical action, but every second vector is.
        """
        RecordConstructorArgs.__init__(self, flat_actions=flat_actions)
        super().__init__(env)
        if not isinstance(env.unwrapped, QueryableEnv) or env.unwrapped.image != "view":
            raise ValueError(f"FlatEnv wraps an environment that takes queries in Q-BabyAI, not {env}")
        _, self._acts, *queries = env.unwrapped.world.action_sizes
        self._query_sizes = tuple(queries)
        self._count = self._acts + int(np.prod(queries))
        self._flat_actions = flat_actions
        if flat_actions:
            self.action_space = spaces.Discrete(self._count)
        example = {name: np.zeros(space.shape or (), int) for name, space in observation_space().items()}
        self.observation_space = spaces.Box(0.0, 1.0, self.observation(example).shape, np.float32)

    def action(self, flat: int) -> np.ndarray:
        """The action vector (5,) of a number; what does not matter is 0."""
        if not 0 <= flat < self._count:
            raise ValueError(f"a flat action is from 0 to below {self._count}, not {flat}")
        if flat < self._acts:
            return np.array([0, flat, 0, 0, 0])
        return np.array([1, 0, *np.unravel_index(flat - self._acts, self._query_sizes)])

    def flatten_action(self, vector: np.ndarray) -> int:
        """The number of an action vector (5,)."""
        switch, physical, *query = (int(each) for each in vector)
        return self._acts + int(np.ravel_multi_index(query, self._query_sizes)) if switch else physical

    def observation(self, observation: dict[str, Any]) -> np.ndarray:
        """An observation as one vector; see the class for its layout."""
        image, tokens = observation["image"], len(VOCABULARY.tokens)
        cells = [_one_hot(image[..., channel], size) for channel, size in enumerate(IMAGE_SIZES[:-1])]
        parts = [
            np.concatenate(cells, axis=-1),
            _one_hot(image[0, 0, -1], IMAGE_SIZES[-1]),
            _one_hot(observation["mission_tokens"], tokens),
            _one_hot(observation["response_tokens"], tokens),
        ]
        return np.concatenate([part.ravel() for part in parts])

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start the next episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self.observation(observation), info

    def step(self, action: Any) -> tuple[np.ndarray, Any, bool, bool, dict[str, Any]]:
        """Act or ask."""
        vector = self.action(action) if self._flat_actions else action
        observation, reward, terminated, truncated, info = self.env.step(vector)
        return self.observation(observation), reward, terminated, truncated, info


class _Window:
    """A window with a picture and lines of text below it."""

    def __init__(self) -> None:
        import pygame.freetype

        pygame.display.init()
        pygame.freetype.init()
        pygame.display.set_caption("Q-BabyAI")
        self._font = pygame.freetype.Font(None, 16)
        self._clock = pygame.time.Clock()

    def show(self, picture: np.ndarray, lines: tuple[str, ...], frames_per_second: int) -> None:
        """Show a picture (height, width, 3) uint8, and wait until it is time for the next one."""
        import pygame

        height = _WINDOW_WIDTH * picture.shape[0] // picture.shape[1]
        size = (_WINDOW_WIDTH, height + _LINE_HEIGHT * len(lines))
        screen = pygame.display.get_surface()
        if screen is None or screen.get_size() != size:
            screen = pygame.display.set_mode(size)
        screen.fill("white")
        surface = pygame.surfarray.make_surface(picture.transpose(1, 0, 2))
        screen.blit(pygame.transform.smoothscale(surface, (_WINDOW_WIDTH, height)), (0, 0))
        for number, line in enumerate(lines):
            self._font.render_to(screen, (8, height + _LINE_HEIGHT * number + 6), line)
        pygame.event.pump()
        self._clock.tick(frames_per_second)
        pygame.display.flip()

    def close(self) -> None:
        """Close it."""
        import pygame

        pygame.display.quit()


def _one_hot(numbers: Any, size: int) -> np.ndarray:
    """Integers (...) as (..., size) float32."""
    return np.eye(size, dtype=np.float32)[np.asarray(numbers, int)]
