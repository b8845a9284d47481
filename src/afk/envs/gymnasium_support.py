"""What the single and the batched form for Gymnasium share: spaces, checks, and levels by number."""

from collections.abc import Callable, Collection
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike

from afk.envs.base import Batch, Environment, Pool, TimeStep, advance
from afk.envs.qbabyai.cells import COLOURS, DIRECTIONS, DOOR_STATES, SQUARE
from afk.envs.qbabyai.environment import QBabyAI
from afk.envs.qbabyai.state import Observation, State
from afk.envs.qbabyai.tasks import Task, paper_tasks
from afk.envs.qbabyai.view import VIEW
from afk.envs.qbabyai.words import MISSION_LENGTH, RESPONSE_LENGTH, VOCABULARY
from afk.knowledge.facts import ANY, UNUSED
from afk.language import NONE, Query

IMAGE_SIZES = (SQUARE + 1, len(COLOURS), len(DOOR_STATES), len(DIRECTIONS))  # values of the image's channels
_FEW = 16  # up to so many levels are drawn one by one
_PIECE = 512  # more of them are drawn so many at a time
_HOPELESS = 4_096  # this many draws of a level without a sound one: there is none
_HOPELESS_MESSAGE = "{}: hardly any draw gives a sound level; make rooms larger or things fewer"


class Compiled(NamedTuple):
    """Functions that serve every task: a level is data, so only the shape of its world makes them compile.

    Attributes:
        observe: see `Environment.observe`.
        observe_all: the same over a leading axis.
        step: see `Environment.step`.
        advance: see `afk.envs.base.advance`; the batch that is passed is used up.
    """

    observe: Callable[[State], Observation]
    observe_all: Callable[[State], Observation]
    step: Callable[[State, np.ndarray], tuple[State, TimeStep]]
    advance: Callable[[Pool[State], Batch[State], np.ndarray], tuple[Batch[State], TimeStep]]


@cache
def compiled() -> Compiled:
    """The functions above, made once in a process."""
    world = QBabyAI(paper_tasks()[0])
    return Compiled(
        observe=jax.jit(world.observe),
        observe_all=jax.jit(jax.vmap(world.observe)),
        step=jax.jit(world.step),
        advance=jax.jit(partial(advance, world), donate_argnums=1),
    )


def observation_space(*, text: bool = True) -> spaces.Dict:
    """What a single environment shows, with or without its sentences as text."""
    letters = "".join(sorted({" ", *"".join(VOCABULARY.tokens)}))
    longest = 1 + max(map(len, VOCABULARY.tokens))
    most = np.broadcast_to(np.array(IMAGE_SIZES, np.uint8) - np.uint8(1), (VIEW, VIEW, len(IMAGE_SIZES)))
    entries: dict[str, spaces.Space[Any]] = {
        "image": spaces.Box(np.zeros_like(most), most, dtype=np.uint8),
        "mission_tokens": _token_space(MISSION_LENGTH),
        "response_tokens": _token_space(RESPONSE_LENGTH),
    }
    if text:
        entries["mission"] = spaces.Text(MISSION_LENGTH * longest, charset=letters)
        entries["response"] = spaces.Text(RESPONSE_LENGTH * longest, min_length=0, charset=letters)
    return spaces.Dict(entries)


def observation_arrays(observation: Observation) -> dict[str, Any]:
    """The entries of an observation that are arrays, as copies on the host that may be written to."""
    return {
        "image": np.array(observation.image),
        "mission_tokens": np.array(observation.mission),
        "response_tokens": np.array(observation.response),
    }


def question_texts(good_queries: ArrayLike) -> list[str]:
    """The good queries of a level, (8, 3) int8, as text; where any adjective will do, none is named."""
    any_adjective = VOCABULARY.adjectives.index(NONE)
    return [
        VOCABULARY.phrase(Query(function, any_adjective if adjective == ANY else adjective, noun))
        for function, adjective, noun in np.asarray(good_queries).tolist()
        if function != UNUSED
    ]


def check_seed(seed: Any) -> int | None:
    """The seed as Gymnasium wants it; a ValueError if it is anything but a natural number or None."""
    if seed is None:
        return None
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"a seed is None or an integer that is not negative, not {seed!r}")
    return int(seed)


def check_actions(env: Environment, actions: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Actions as int32 of a shape; a ValueError if they have another, or are out of range."""
    checked = env.check_action(actions)
    if checked.shape != shape:
        raise ValueError(f"actions of shape {shape} are expected here, not {checked.shape}")
    return checked


def check_render_mode(mode: str | None, modes: Collection[str]) -> str | None:
    """The mode; a ValueError if it is not one of `modes`, or None."""
    if mode is not None and mode not in modes:
        raise ValueError(f"render_mode is None or one of {', '.join(modes)}, not {mode!r}")
    return mode


def render_state(state: State, mode: str | None, tile_size: int) -> Any:
    """A single state as (height, width, 3) uint8 with mode ``rgb_array``, as text with ``ansi``, or None."""
    # Imported when they are needed, since Minigrid takes a while to load.
    if mode == "rgb_array":
        from afk.envs.qbabyai.minigrid import render

        return render(state, tile_size=tile_size)
    if mode == "ansi":
        from afk.envs.qbabyai.text import describe_state

        return describe_state(state)
    return None


def level_seeds(generator: np.random.Generator, count: int) -> np.ndarray:
    """The numbers of the next levels, (count,) uint32: the same whether drawn at once or one by one."""
    return generator.integers(2**32, size=count, dtype=np.uint32)


def draw_level(task: Task, seed: np.integer[Any]) -> State:
    """The level of a number, on the host: its first draw that is sound."""
    draw = _compiled_draw(task, bulk=False)
    for attempt in range(_HOPELESS):
        state, sound = jax.device_get(draw(seed, np.uint32(attempt)))
        if sound:
            return state
    raise ValueError(_HOPELESS_MESSAGE.format(task.name))


def draw_levels(task: Task, seeds: np.ndarray) -> State:
    """The levels of (levels,) uint32 numbers, on the host and with a leading axis; see `draw_level`."""
    if len(seeds) <= _FEW:
        return jax.tree.map(lambda *leaves: np.stack(leaves), *(draw_level(task, seed) for seed in seeds))
    missing = np.arange(len(seeds))
    places, parts = [], []
    for attempt in range(_HOPELESS):
        states, sound = _draw_all(task, seeds[missing], np.uint32(attempt))
        places.append(missing[sound])
        parts.append(jax.tree.map(lambda leaf, sound=sound: leaf[sound], states))
        missing = missing[~sound]
        if not len(missing):
            break
    else:
        raise ValueError(_HOPELESS_MESSAGE.format(task.name))
    order = np.argsort(np.concatenate(places))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[order], *parts)


def _draw_all(task: Task, seeds: np.ndarray, attempt: np.uint32) -> tuple[State, np.ndarray]:
    """One draw for each number, in pieces of one length, so that only one is compiled."""
    pieces = np.resize(seeds, (-(-len(seeds) // _PIECE), _PIECE))
    draw = _compiled_draw(task, bulk=True)
    drawn = [jax.device_get(draw(piece, attempt)) for piece in pieces]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[: len(seeds)], *drawn)


@cache
def _compiled_draw(task: Task, *, bulk: bool) -> Callable[..., tuple[State, jax.Array]]:
    """A draw by number and attempt, made once for a task; in bulk, the numbers have a leading axis."""

    def draw(seed: jax.Array, attempt: jax.Array) -> tuple[State, jax.Array]:
        return task.draw(jax.random.fold_in(jax.random.key(seed), attempt))

    # On a CPU the time to compile is what is felt, and less optimisation cuts it by 40 %. In bulk, levels are
    # drawn as fast; one by one, those of the largest worlds take 0.6 ms longer.
    options = {"xla_backend_optimization_level": 1 if bulk else 0}
    return jax.jit(
        jax.vmap(draw, in_axes=(0, None)) if bulk else draw,
        compiler_options=options if jax.default_backend() == "cpu" else None,
    )


def _token_space(length: int) -> spaces.Box:
    return spaces.Box(0, len(VOCABULARY.tokens) - 1, (length,), np.uint8)
