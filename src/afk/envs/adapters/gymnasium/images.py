"""What an observation of Q-BabyAI has as its image: the view in codes, the whole world, or a picture."""

import jax
import numpy as np
from gymnasium import spaces

from afk.envs.qbabyai.world import cells
from afk.envs.qbabyai.world.state import State
from afk.envs.qbabyai.world.view import AGENT_COLUMN, AGENT_ROW, VIEW

IMAGES = ("view", "grid", "rgb")
_PIXELS = 8  # along a cell of the picture
_UP = 3  # the direction that the agent has in its own view
_to_minigrid = jax.jit(cells.to_minigrid)


def check_image(image: str) -> str:
    """The kind of image; a ValueError if there is none such."""
    if image in IMAGES:
        return image
    raise ValueError(f"image is one of {', '.join(IMAGES)}, not {image!r}")


def image_space(shape: tuple[int, int], image: str) -> spaces.Box | None:
    """The space of images in a world of a (height, width); None for the view in codes."""
    if image == "rgb":
        return spaces.Box(0, 255, (VIEW * _PIXELS, VIEW * _PIXELS, 3), np.uint8)
    if image == "grid":
        most = [cells.SQUARE, len(cells.COLOURS) - 1, len(cells.DOOR_STATES) - 1, len(cells.DIRECTIONS)]
        high = np.broadcast_to(np.array(most, np.uint8), (*shape[::-1], len(most)))
        return spaces.Box(np.zeros_like(high), high, dtype=np.uint8)
    return None


def show_image(state: State, view: np.ndarray, image: str) -> np.ndarray:
    """The image of a state on the host.

    Args:
        state: a single state.
        view: (7, 7, 4) uint8, what the agent sees, in codes.
        image: the kind.

    Returns:
        The view as it is; (width, height, 4) uint8 [column, row], Minigrid's type, colour and state of every
        cell, and where the agent stands 1 + its direction, 0 elsewhere; or (56, 56, 3) uint8.
    """
    if image == "grid":
        codes = np.array(_to_minigrid(state.grid))  # (height, width, 3)
        agent = np.zeros((*codes.shape[:2], 1), np.uint8)
        x, y = (int(each) for each in np.asarray(state.position))
        agent[y, x] = 1 + int(state.direction)
        return np.concatenate([codes, agent], -1).transpose(1, 0, 2)
    if image == "rgb":
        from minigrid.core.grid import Grid  # imported when it is needed, since it takes a while

        grid, seen = Grid.decode(view[..., :3])
        return grid.render(_PIXELS, (AGENT_COLUMN, AGENT_ROW), _UP, seen)
    return view
