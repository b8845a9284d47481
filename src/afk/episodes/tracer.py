"""Playing one episode of an agent and keeping everything: what it saw, weighed, did, heard and noted."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np

from afk.agents.base import Agent
from afk.agents.notebook import UNUSED, Notebook, write
from afk.compiling import jit_lightly
from afk.envs.core import EpisodeStats, TimeStep
from afk.envs.level_pool import Pool
from afk.envs.qbabyai.world import cells
from afk.envs.registry import shared_program, world_of
from afk.episodes.trace import Head, Step, Trace
from afk.language import Vocabulary
from afk.learning.hints import begin_levels
from afk.learning.rollout import (
    Actors,
    Play,
    TrainingLevels,
    act,
    agent_inputs,
    decide,
    start_actors,
)
from afk.training.evaluate import draw_level, fresh_keys

_TITLES: tuple[str, ...] = (
    "action",
    "function",
    "adjective",
    "noun",
)  # of heads; an action ends in numbers for these


class Moment(NamedTuple):
    """What led to a step and came of it, on the host.

    Attributes:
        heads: (choices,) log-probabilities by title, see `Head`.
        asking: the probability of asking, see `Step`.
        value: V before the action.
        action: (components,) int32.
        time_step: what the step gave.
        state: the world's, after the step.
        notebook: F after the step.
    """

    heads: dict[str, Any]
    asking: Any
    value: Any
    action: Any
    time_step: TimeStep
    state: Any
    notebook: Notebook


class Tracer:
    """Writes an episode down step by step, whoever plays.

    Attributes:
        play: who plays what.
        instruction: v_0 as text.
        state: the world's now, on the host.
        seen: what there is to see of it, as it is recorded.
        notebook: the sets of notes now, A_0 first.
        steps: what has happened so far.
    """

    def __init__(self, play: Play, state: Any, observation: Any, notebook: Notebook) -> None:
        world = world_of(play.env)
        self.play, self._text, self._trim = play, world.text, partial(world.trim, play.env)
        self._decode = play.env.vocabulary.decode
        self.state, self.seen = self._trim(state), self._text.see(play.env, observation.seen)
        self.instruction = self._decode(observation.mission)
        self.notebook = _sets(notebook, self._decode)
        self.steps: list[Step] = []
        self._stats: EpisodeStats | None = None

    @property
    def is_over(self) -> bool:
        """Whether the episode has ended."""
        return bool(self.steps) and (self.steps[-1].terminated or self.steps[-1].truncated)

    def add(self, moment: Moment) -> Step:
        """Write a step down."""
        action, time_step, known = moment.action, moment.time_step, self.notebook[0]
        env = self.play.env
        asks, seen = self._text.is_query(env, action), self._text.see(env, time_step.observation.seen)
        self.notebook = _sets(moment.notebook, self._decode)
        step = Step(
            number=len(self.steps) + 1,
            state=self.state,
            seen=self.seen,
            action=action,
            said=self._text.say(env, action),
            asks=asks,
            answer=self._decode(time_step.observation.response),
            news="" if asks else _find_news(self.seen, seen),
            reward=float(time_step.reward),
            notebook=self.notebook,
            new=tuple(note for note in self.notebook[0] if note not in known),
            heads=_name_heads(moment.heads, self.play.env.vocabulary, action, asks=asks),
            asking=None if moment.asking is None else float(moment.asking),
            value=None if moment.value is None else float(moment.value),
            terminated=bool(time_step.terminated),
            truncated=bool(time_step.truncated),
            success=bool(time_step.success),
        )
        self.state, self.seen = self._trim(moment.state), seen
        self._stats = jax.tree.map(int, time_step.stats)
        self.steps.append(step)
        return step

    def record(self) -> Trace:
        """The episode so far; a ValueError before its first step."""
        if self._stats is None:
            raise ValueError("nothing has happened yet: there is no episode before its first step")
        return Trace(
            self.play.env.name,
            self.play.variant,
            self.instruction,
            tuple(self.steps),
            self.state,
            self.seen,
            self._stats,
        )


def trace_episode(play: Play, agent: Agent, *, seed: int, level: int = 0) -> Trace:
    """Play one fresh level, actions drawn from the agent's policy as in training, and keep everything."""
    _, key = fresh_keys(seed)
    pool = draw_level(play.env, seed=seed, level=level)
    shared = replace(play, env=shared_program(play.env))
    levels, actors = _start(shared, agent, pool)
    first = jax.device_get((pool.states, pool.observations, actors.notebooks))
    tracer = Tracer(play, *jax.tree.map(lambda leaf: leaf[0, ...], first))  # arrays, be they of () numbers
    while not tracer.is_over:
        actors, key, moment = _compiled_act()(shared, agent, levels, actors, key)
        tracer.add(jax.device_get(moment))
    return tracer.record()


@eqx.filter_jit
def _start(play: Play, agent: Agent, pool: Pool[Any]) -> tuple[TrainingLevels, Actors]:
    """The one actor before its first step."""
    levels = begin_levels(play, pool)
    return levels, start_actors(agent, levels, 1)


@lru_cache(maxsize=1)
def _compiled_act() -> Callable[..., tuple[Actors, jax.Array, Moment]]:
    """The following, compiled: for some steps of one episode nobody waits longer than they take."""
    return jit_lightly(_act, static_argnums=0)


def _act(
    play: Play, agent: Agent, levels: TrainingLevels, actors: Actors, key: jax.Array
) -> tuple[Actors, jax.Array, Moment]:
    """A step of the one actor, the key of the next, and all that led to it and came of it."""
    following_key, key = jax.random.split(key)
    _, output = decide(agent, agent_inputs(play, agent, actors))
    following, time_step, experience, _ = act(play, agent, levels, actors, key)
    heads, asking = agent.weigh(output, experience.action)
    # Where the episode ends the actor is in the next one already: how this one ended is worked out again.
    states, _ = jax.vmap(play.env.step)(actors.batch.states, experience.action)
    response = time_step.observation.response
    notebooks, _ = jax.vmap(partial(write, rules=play.rules))(actors.notebooks, response)
    moment = Moment(heads, asking, output.value, experience.action, time_step, states, notebooks)
    return following, following_key, jax.tree.map(lambda leaf: leaf[0], moment)


def _name_heads(
    logits: dict[str, np.ndarray], vocabulary: Vocabulary, action: np.ndarray, *, asks: bool
) -> tuple[Head, ...]:
    """Heads in words, for (choices,) log-probabilities by title."""
    words = (cells.ACTIONS, vocabulary.functions, vocabulary.adjectives, vocabulary.nouns)
    # In Q-TextWorld actions are three words; in Q-BabyAI a physical action and the switch come before them.
    taken = dict(zip(reversed(_TITLES), reversed(action.tolist()), strict=False))
    heads = []
    for title, said in zip(_TITLES, words, strict=True):
        if title in logits:
            chances = np.exp(logits[title])
            order = np.argsort(-chances, kind="stable")
            probabilities = {said[word]: float(chances[word]) for word in order if chances[word] > 0}
            counts = "action" not in logits or (title == "action") != asks
            heads.append(Head(title, said[taken[title]], probabilities, counts))
    return tuple(heads)


def _find_news(before: Any, after: Any) -> str:
    """What a text says first, and its sentences that the text before it has not; nothing of an image."""
    if not isinstance(after, str):
        return ""
    old, (feedback, *described) = (re.split(r"(?<=[.!?]) ", text) for text in (before, after))
    return " ".join([feedback, *(Counter(described) - Counter(old)).elements()])


def _sets(notebook: Notebook, decode: Callable[[np.ndarray], str]) -> tuple[tuple[str, ...], ...]:
    """The sets of a notebook as text, A_0 first."""
    used = sorted(set(notebook.group.tolist()) - {UNUSED})
    sets = (np.asarray(notebook.notes[notebook.group == index]) for index in used)
    return tuple(tuple(map(decode, each)) for each in sets)
