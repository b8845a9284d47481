"""What the rest of the project needs of a world, registered in one place.

A world is a family of tasks with one vocabulary and one kind of action. Whoever has to do something that
differs from world to world looks it up here, instead of asking which class an environment has.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np

from afk.envs.core import Environment
from afk.knowledge.source import Facts

Vary = Callable[[Any, jax.Array], Any]  # a state and a key to the same level, varied


class Curriculum(NamedTuple):
    """What training may do to a level to make it easier to learn from; evaluation never does.

    Attributes:
        random_start: the same level begun at a random reachable state (start-state curriculum).
        hints: the answers to the good queries of a state, (answers, tokens) padded (privileged hints).
        wrong_key: the same level begun with a mistake that can be mended; None if there is no such thing.
        distractors: the same level with more to be seen that means nothing; likewise.
    """

    random_start: Vary
    hints: Callable[[Environment[Any], Any], jax.Array]
    wrong_key: Vary | None = None
    distractors: Vary | None = None


class TextInterface(NamedTuple):
    """A world in words: for people, for language models, and for traces of episodes.

    Attributes:
        see: what an observation shows, as a trace keeps it: an array, or a text.
        say: an action, (components,) int, in words.
        read: the action that a line stands for, (components,) int32; a ValueError if there is none.
        is_query: whether an action is a question.
        help: what can be written in a state.
        rules: what a player has to know of an environment of one task before the first step.
        acting: what can be written to act, as a sentence.
        asking: what can be asked, as a sentence; it names no good query.
        describe: an observation of a state, all of it, with the answer if something was asked.
        idle: an action that changes nothing but the number of steps.
        address: what a question begins with.
    """

    see: Callable[[Environment[Any], Any], Any]
    say: Callable[[Environment[Any], np.ndarray], str]
    read: Callable[[Environment[Any], str], np.ndarray]
    is_query: Callable[[Environment[Any], np.ndarray], bool]
    help: Callable[[Environment[Any], Any], str]
    rules: Callable[[Environment[Any]], str]
    acting: Callable[[Environment[Any]], str]
    asking: Callable[[Environment[Any]], str]
    describe: Callable[[Environment[Any], Any, Any], str]
    idle: tuple[int, ...]
    address: str = ""


@dataclass(frozen=True)
class World:
    """A family of tasks.

    Attributes:
        name: what the names of its tasks begin with.
        title: what it is called in sentences.
        task_type: the class of its tasks.
        paper_tasks: the tasks of the paper.
        make: the environment of one task.
        mix: the environment of several tasks in turn, with room for the tasks beside them.
        beside: the tasks whose compiled programs a task can share in a roomy world.
        shared: what to step levels of an environment with, so that one program plays as many as possible.
        plan: the expert's actions for first states: (episodes, max_steps, components) int32.
        curriculum: how training may vary its levels.
        text: the world in words.
        describe: a row about a task, for lists of tasks: what stands in it by column.
        editions: the paper's tasks with levels of another make.
        trim: a state on the host without the room that a world has for levels of other tasks.
        facts: what is known in a state now, for sources on the host; None if they cannot be asked there.
        most_sources: how many sources with traits its environments have room for.
    """

    name: str
    title: str
    task_type: type
    paper_tasks: Callable[[], tuple[Any, ...]]
    make: Callable[[Any], Environment[Any]]
    mix: Callable[[Sequence[Any], Sequence[Any]], Environment[Any]]
    beside: Callable[[Any], Sequence[Any]]
    shared: Callable[[Environment[Any]], Environment[Any]]
    plan: Callable[[Environment[Any], Any], np.ndarray]
    curriculum: Curriculum
    text: TextInterface
    describe: Callable[[Any], dict[str, Any]]
    editions: Callable[[], tuple[Any, ...]] = tuple
    trim: Callable[[Environment[Any], Any], Any] = lambda env, state: state
    facts: Callable[[Any], Facts] | None = None
    most_sources: int = 0
