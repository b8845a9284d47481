"""What the forms for Gymnasium share: single environments, spaces, checks, and levels by number."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from functools import cache, partial
from typing import Any, Generic, NamedTuple

import gymnasium
import jax
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from jax._src import xla_bridge  # nothing public says whether JAX has begun without beginning it
from numpy.typing import ArrayLike

from afk.compiling import known_options
from afk.envs.core import Environment, StateT, TimeStep
from afk.envs.drawing import NO_SOUND_LEVEL, LevelSource
from afk.envs.level_pool import Batch, Pool, advance
from afk.envs.qbabyai.world.cells import COLOURS, DIRECTIONS, DOOR_STATES, SQUARE
from afk.envs.qbabyai.world.state import Observation, State
from afk.envs.qbabyai.world.view import VIEW
from afk.envs.qbabyai.world.words import MISSION_LENGTH, RESPONSE_LENGTH, VOCABULARY
from afk.envs.registry import shared_program
from afk.knowledge.facts import ANY, UNUSED
from afk.language import NONE, Query, Vocabulary

IMAGE_SIZES = (SQUARE + 1, len(COLOURS), len(DOOR_STATES), len(DIRECTIONS))  # values of the image's channels
NOT_BEGUN = "no episode has begun: call reset() first"
_FEW = 16  # up to so many levels are drawn one by one
_PIECE = 512  # more of them are drawn so many at a time
_HOPELESS = 4_096  # this many draws of a level without a sound one: there is none
_first_to_fork: list[int] = []  # the process that forked while its JAX was running, if any did


class Compiled(NamedTuple, Generic[StateT]):
    """An environment's functions, compiled; where they are copied or pickled, they are found again.

    Attributes:
        world: the environment.
        observe: see `Environment.observe`.
        observe_all: the same over a leading axis.
        step: see `Environment.step`.
        advance: see `afk.envs.level_pool.advance`; the batch that is passed is used up.
    """

    world: Environment[StateT]
    observe: Callable[[StateT], Any]
    observe_all: Callable[[StateT], Any]
    step: Callable[[StateT, np.ndarray], tuple[StateT, TimeStep]]
    advance: Callable[[Pool[StateT], Batch[StateT], np.ndarray], tuple[Batch[StateT], TimeStep]]

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return compiled, (self.world,)


def compiled(world: Environment[StateT]) -> Compiled[StateT]:
    """The functions above; equal environments share them, and all tasks of Q-BabyAI do.

    A level of Q-BabyAI is data, so only the shape of its world makes them compile.
    """
    _watch_forks()
    return _compiled(shared_program(world))


@cache
def _compiled(world: Environment[Any]) -> Compiled[Any]:
    return Compiled(
        world=world,
        observe=jax.jit(world.observe),
        observe_all=jax.jit(jax.vmap(world.observe)),
        step=jax.jit(world.step),
        advance=jax.jit(partial(advance, world), donate_argnums=1),
    )


@cache
def _watch_forks() -> None:
    """Note from now on which process forks while JAX runs in it."""
    if hasattr(os, "register_at_fork"):  # there is no fork on Windows
        os.register_at_fork(before=_note_fork)


def _note_fork() -> None:
    if xla_bridge.backends_are_initialized() and not _first_to_fork:
        _first_to_fork.append(os.getpid())


def check_process() -> None:
    """A RuntimeError in a process that was forked while JAX ran: its threads are not here, it would hang."""
    if _first_to_fork and os.getpid() not in _first_to_fork:
        raise RuntimeError(
            "JAX ran before this process was forked, and would hang in it: "
            'make_vec(..., vector_kwargs={"context": "spawn", "shared_memory": False})'
        )


class SingleEnv(gymnasium.Env[dict[str, Any], Any], ABC, Generic[StateT]):
    """One environment; how actions are read and observations shown is up to the kind of world.

    Infos hold ``success``, ``queries`` (how many were asked), ``good_queries`` (those of this episode, as
    text) and ``asked`` (how many of these were asked and answered).
    """

    def __init__(self, world: Environment[StateT], render_mode: str | None) -> None:
        self.world = world
        self._compiled = compiled(world)
        self.render_mode = check_render_mode(render_mode, self.metadata["render_modes"])
        self._state: StateT | None = None
        self._over = False
        self._questions: list[str] = []

    @property
    def state(self) -> StateT:
        """Where the episode stands, for solvers and for drawing."""
        if self._state is None:
            raise ResetNeeded(NOT_BEGUN)
        return self._state

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start the next episode; there are no options."""
        check_process()
        super().reset(seed=check_seed(seed))
        self._state = draw_level(self.world, level_seeds(self.np_random, 1)[0])
        self._over = False
        self._questions = self._list_questions(self._state)
        observation = jax.device_get(self._compiled.observe(self._state))
        return self._show(observation), self._info(success=False, queries=0, asked=0)

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Act or ask."""
        action = self._read(action)
        if self._over:
            raise ResetNeeded("the episode is over: call reset() before step()")
        self._state, time_step = self._compiled.step(self.state, action)
        time_step = jax.device_get(time_step)
        self._over = bool(time_step.done)
        observation, stats = self._show(time_step.observation), time_step.stats
        info = self._info(success=bool(time_step.success), queries=int(stats.queries), asked=int(stats.good))
        return (
            observation,
            float(time_step.reward),
            bool(time_step.terminated),
            bool(time_step.truncated),
            info,
        )

    @abstractmethod
    def _read(self, action: Any) -> np.ndarray:
        """An action as the world takes it, (components,) int32; a ValueError if it is none."""

    @abstractmethod
    def _show(self, observation: Any) -> dict[str, Any]:
        """An observation on the host as Gymnasium has it."""

    @abstractmethod
    def _list_questions(self, state: StateT) -> list[str]:
        """The good queries of an episode, as text."""

    def _info(self, **counts: int) -> dict[str, Any]:
        """The infos, with a list of questions that is the caller's own."""
        return {**counts, "good_queries": list(self._questions)}


def observation_space(*, text: bool = True, image: spaces.Box | None = None) -> spaces.Dict:
    """What a single environment shows, with or without its sentences as text.

    Tokens are categories, which libraries turn into one-hot vectors: none is larger than another.
    """
    most = np.broadcast_to(np.array(IMAGE_SIZES, np.uint8) - np.uint8(1), (VIEW, VIEW, len(IMAGE_SIZES)))
    tokens = len(VOCABULARY.tokens)
    entries: dict[str, spaces.Space[Any]] = {
        "image": image or spaces.Box(np.zeros_like(most), most, dtype=np.uint8),
        "mission_tokens": spaces.MultiDiscrete(np.full(MISSION_LENGTH, tokens)),
        "response_tokens": spaces.MultiDiscrete(np.full(RESPONSE_LENGTH, tokens)),
    }
    if text:
        entries["mission"] = text_space(VOCABULARY, MISSION_LENGTH)
        entries["response"] = text_space(VOCABULARY, RESPONSE_LENGTH, min_length=0)
    return spaces.Dict(entries)


def token_space(vocabulary: Vocabulary, length: int, dtype: type[np.unsignedinteger[Any]]) -> spaces.Box:
    """Rows (length,) of tokens."""
    return spaces.Box(0, len(vocabulary.tokens) - 1, (length,), dtype)


def text_space(vocabulary: Vocabulary, length: int, *, min_length: int = 1) -> spaces.Text:
    """What rows of up to so many tokens stand for."""
    letters = "".join(sorted({" ", *"".join(vocabulary.tokens)}))
    longest = 1 + max(map(len, vocabulary.tokens))
    return spaces.Text(length * longest, min_length=min_length, charset=letters)


def observation_arrays(observation: Observation) -> dict[str, Any]:
    """The entries of an observation that are arrays, as copies on the host that may be written to."""
    return {
        "image": np.array(observation.image),
        "mission_tokens": np.array(observation.mission, int),
        "response_tokens": np.array(observation.response, int),
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


def check_tile_size(size: int) -> int:
    """The pixels along a cell of a picture; a ValueError if there is none."""
    if not isinstance(size, int) or size < 1:
        raise ValueError(f"tile_size is a number of pixels from 1 on, not {size!r}")
    return size


def render_state(state: State, mode: str | None, tile_size: int) -> Any:
    """A single state as (height, width, 3) uint8 with mode ``rgb_array``, as text with ``ansi``, or None."""
    # Imported when they are needed, since Minigrid takes a while to load.
    if mode == "rgb_array":
        from afk.envs.qbabyai.reference import render

        return render(state, tile_size=tile_size)
    if mode == "ansi":
        from afk.envs.qbabyai.text import describe_state

        return describe_state(state)
    return None


def level_seeds(generator: np.random.Generator, count: int) -> np.ndarray:
    """The numbers of the next levels, (count,) uint32: the same whether drawn at once or one by one."""
    return generator.integers(2**32, size=count, dtype=np.uint32)


def draw_level(source: LevelSource[StateT], seed: np.integer[Any]) -> StateT:
    """The level of a number, on the host: its first draw that is sound."""
    draw = _compiled_draw(source, bulk=False)
    for attempt in range(_HOPELESS):
        state, sound = jax.device_get(draw(seed, np.uint32(attempt)))
        if sound:
            return state
    raise ValueError(NO_SOUND_LEVEL.format(source.name))


def draw_levels(source: LevelSource[StateT], seeds: np.ndarray) -> StateT:
    """The levels of (levels,) uint32 numbers, on the host and with a leading axis; see `draw_level`."""
    if len(seeds) <= _FEW:
        return jax.tree.map(lambda *leaves: np.stack(leaves), *(draw_level(source, seed) for seed in seeds))
    missing = np.arange(len(seeds))
    places, parts = [], []
    for attempt in range(_HOPELESS):
        states, sound = _draw_all(source, seeds[missing], np.uint32(attempt))
        places.append(missing[sound])
        parts.append(jax.tree.map(lambda leaf, sound=sound: leaf[sound], states))
        missing = missing[~sound]
        if not len(missing):
            break
    else:
        raise ValueError(NO_SOUND_LEVEL.format(source.name))
    order = np.argsort(np.concatenate(places))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[order], *parts)


def _draw_all(
    source: LevelSource[StateT], seeds: np.ndarray, attempt: np.uint32
) -> tuple[StateT, np.ndarray]:
    """One draw for each number, in pieces of one length, so that only one is compiled."""
    pieces = np.resize(seeds, (-(-len(seeds) // _PIECE), _PIECE))
    draw = _compiled_draw(source, bulk=True)
    drawn = [jax.device_get(draw(piece, attempt)) for piece in pieces]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[: len(seeds)], *drawn)


@cache
def _compiled_draw(source: LevelSource[StateT], *, bulk: bool) -> Callable[..., tuple[StateT, jax.Array]]:
    """A draw by number and attempt, made once for a source; in bulk, the numbers have a leading axis."""

    def draw(seed: jax.Array, attempt: jax.Array) -> tuple[StateT, jax.Array]:
        return source.draw(jax.random.fold_in(jax.random.key(seed), attempt))

    # On a CPU the time to compile is what is felt, and less optimisation cuts it by 40 %. In bulk, levels are
    # drawn as fast; one by one, those of the largest worlds take 0.6 ms longer.
    options = {"xla_backend_optimization_level": 1 if bulk else 0}
    return jax.jit(
        jax.vmap(draw, in_axes=(0, None)) if bulk else draw,
        compiler_options=known_options(options) if jax.default_backend() == "cpu" else None,
    )
