"""Q-TextWorld as a world: what the rest of the project needs of it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from afk.envs.qtextworld import curriculum, solver
from afk.envs.qtextworld.commands import (
    describe_commands,
    describe_rules,
    possible_commands,
    read_command,
    write_command,
)
from afk.envs.qtextworld.environment import CookingGames, QTextWorld
from afk.envs.qtextworld.levels.tasks import Task, paper_tasks
from afk.envs.qtextworld.multitask import MultiTaskKitchen, is_alike
from afk.envs.qtextworld.world import oracle
from afk.envs.qtextworld.world.state import State
from afk.envs.qtextworld.world.words import ORACLE, QUERIES
from afk.envs.world import Curriculum, TextInterface, World


def _help(task: Task, state: State) -> str:
    """The commands that can be carried out now, and the questions."""
    questions = (f"ask {ORACLE} where NAME", f"ask {ORACLE} how NAME")
    return "\n".join([*possible_commands(task, state), *questions])


def _plan(env: Any, states: State) -> np.ndarray:
    return np.asarray(solver.plan(env, states))


def _mix(tasks: Sequence[Task], beside: Sequence[Task]) -> MultiTaskKitchen:
    return MultiTaskKitchen(*tasks, beside=beside)


def _share(env: Any) -> CookingGames:
    """In a world with room for others, the mixture of them all, which is the same for each of them."""
    tasks = sorted({*env.tasks, *env.beside}, key=lambda task: task.name)
    return MultiTaskKitchen(*tasks, bank=env.bank).with_sources(env.sources) if env.beside else env


def _describe(task: Task) -> dict[str, Any]:
    """What is to be done, what stands about, and how long it may take."""
    return {
        "ingredients": task.ingredients,
        "cut": task.cut,
        "cook": task.cook,
        "knife": "to be found" if task.finds_knife else "held" if task.cut else "not needed",
        "pieces": task.pieces,
        "max_steps": task.max_steps,
        "good_queries": task.good_queries,
    }


QTEXTWORLD = World(
    name="qtextworld",
    title="Q-TextWorld",
    task_type=Task,
    paper_tasks=paper_tasks,
    make=QTextWorld,
    mix=_mix,
    beside=lambda task: [each for each in paper_tasks() if is_alike(each, task)],
    shared=_share,
    plan=_plan,
    most_sources=1,
    curriculum=Curriculum(random_start=curriculum.random_start, hints=curriculum.hints),
    # All tasks of a mixture have the same verbs: the first stands for them.
    text=TextInterface(
        see=lambda env, seen: env.vocabulary.decode(seen[0] if env.sources else seen),
        say=lambda env, action: write_command(env.tasks[0], action),
        read=lambda env, line: read_command(env.tasks[0], line),
        is_query=lambda env, action: env.tasks[0].functions[int(action[0])] in QUERIES,
        help=lambda env, state: _help(env.tasks[0], state),
        rules=lambda env: describe_rules(env.tasks[0]),
        acting=lambda env: describe_commands(env.tasks[0]),
        asking=lambda env: f"{ORACLE} answers `where NAME` and `how NAME`, such as `where cookbook`.",
        describe=lambda env, state, observation: env.vocabulary.decode(observation.text),
        idle=(0, 0, 0),
        address=f"ask {ORACLE} ",
    ),
    describe=_describe,
    facts=oracle.host_facts,
)
