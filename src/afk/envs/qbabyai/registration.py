"""Q-BabyAI as a world: what the rest of the project needs of it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from afk.envs.core import Environment
from afk.envs.qbabyai import curriculum, solver
from afk.envs.qbabyai.environment import GridWorld, QBabyAI
from afk.envs.qbabyai.levels.tasks import Task, paper_tasks
from afk.envs.qbabyai.multitask import MultiTaskGrid
from afk.envs.qbabyai.released.tasks import released_tasks
from afk.envs.qbabyai.text import (
    MAP_LEGEND,
    describe_action,
    describe_observation,
    describe_rules,
    read_action,
)
from afk.envs.qbabyai.world import cells
from afk.envs.qbabyai.world.asking import known
from afk.envs.qbabyai.world.state import State
from afk.envs.qbabyai.world.words import SOURCE_NAMES, VOCABULARY
from afk.envs.world import Curriculum, TextInterface, World
from afk.language import NONE


def _plan(env: Environment[Any], states: State) -> np.ndarray:
    """The solver's plans, filled up with *done*."""
    states = jax.device_get(states)
    actions = np.zeros((len(states.step), env.max_steps, len(env.action_sizes)), np.int32)
    actions[..., 1] = cells.DONE
    for index, row in enumerate(actions):
        plan = solver.find_plan(jax.tree.map(lambda leaf, index=index: leaf[index], states))
        if plan:  # a level of the released edition may have no solution: the expert waits
            row[: len(plan)] = plan
    return actions


def _help() -> str:
    """The physical actions, the questions, and what the map's marks mean."""
    return (
        f"{', '.join(cells.ACTIONS)}\n"
        f"{' or '.join(VOCABULARY.functions)}, perhaps an adjective, and a noun: `where red ball`\n"
        f"you look up from the lowest row of your view: {MAP_LEGEND}"
    )


_ASKING = (
    "A question is `what` or `where`, perhaps an adjective, and a noun: `where is the kitchen`. "
    f"Adjectives: {', '.join(word for word in VOCABULARY.adjectives if word != NONE)}. "
    f"Nouns: {', '.join(word for word in VOCABULARY.nouns if not word.startswith('room'))}, room0, room1, ..."
)


def _mix(tasks: Sequence[Task], beside: Sequence[Task]) -> MultiTaskGrid:
    return MultiTaskGrid(*tasks, beside=beside)


def _trim(env: Any, state: State) -> State:
    """The part of the grid that levels of the environment's own tasks fill."""
    heights, widths = zip(*(task.plan.shape for task in env.tasks), strict=True)
    return replace(state, grid=state.grid[..., : max(heights), : max(widths)])


def _describe(task: Task) -> dict[str, Any]:
    """Size, length and good queries."""
    return {
        "rooms": task.plan.rooms,
        "room_size": task.plan.room_size,
        "max_steps": task.max_steps,
        "good_queries": len(task.questions),
        "early_termination": task.ends_early,
        "questions": list(task.questions),
    }


def _shared(env: Environment[Any]) -> GridWorld:
    """A level is data, so one program plays all tasks; who is asked on the host is part of it."""
    assert isinstance(env, GridWorld)
    other = QBabyAI(paper_tasks()[0]).with_sources(env.sources)
    other.live = env.live
    return other


QBABYAI = World(
    name="qbabyai",
    title="Q-BabyAI",
    task_type=Task,
    paper_tasks=paper_tasks,
    editions=released_tasks,
    trim=_trim,
    make=QBabyAI,
    mix=_mix,
    beside=lambda task: paper_tasks(),
    shared=_shared,
    plan=_plan,
    curriculum=Curriculum(
        random_start=curriculum.random_start,
        hints=curriculum.hints,
        wrong_key=curriculum.hold_wrong_key,
        distractors=curriculum.add_distractors,
    ),
    text=TextInterface(
        see=lambda env, seen: np.asarray(seen[0] if env.sources else seen),
        say=lambda env, action: describe_action(action, sources=len(env.sources)),
        read=lambda env, line: read_action(line, sources=len(env.sources)),
        is_query=lambda env, action: bool(action[0] >= cells.ASK),
        help=lambda env, state: _help(),
        rules=lambda env: describe_rules(env.tasks[0]),
        acting=lambda env: f"Say one of: {', '.join(cells.ACTIONS)}.",
        asking=lambda env: _ASKING,
        describe=lambda env, state, observation: describe_observation(observation, state),
        idle=(cells.ACT, cells.DONE, 0, 0, 0),
    ),
    describe=_describe,
    facts=known,
    most_sources=len(SOURCE_NAMES),
)
