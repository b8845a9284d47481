"""What most users need, in four functions: load an agent, evaluate it, watch it, train one."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from rich.console import Console

from afk.envs.asking import PAPERS_ORACLE, Asking
from afk.envs.registry import task_named
from afk.episodes.interactive import trace_policy
from afk.episodes.trace import Trace
from afk.episodes.tracer import trace_episode
from afk.files import keep_compiled_programs
from afk.studies.record import RunRecord
from afk.studies.study import FRESH_LEVELS, do_run
from afk.training.build import env_of, play_by_plan
from afk.training.changes import change
from afk.training.evaluate import POLICIES, summarise
from afk.training.presets import default_preset, preset
from afk.training.pretrained import (
    PRETRAINED,
    SHOWN,
    TrainedAgent,
    check_plays_by_plan,
    find_agent,
    play_fresh,
    play_on,
)

AgentLike = TrainedAgent | str | PathLike[str]


def load_agent(
    name: str | PathLike[str] = PRETRAINED, task: str | None = None, *, any_task: bool = False
) -> TrainedAgent:
    """A trained agent; a ValueError if there is none.

    Args:
        name: ``pretrained`` for one that comes with the package, the folder of a run, or a checkpoint.
        task: what it is to play, a name or letters; if None, what it was trained on, and for ``pretrained``
            the tasks of Q-BabyAI.
        any_task: whether it may have been trained on other tasks than `task`.
    """
    if task is None and str(name) == PRETRAINED:
        task = SHOWN
    return find_agent(str(name), () if task is None else (task,), any_task=any_task)


def evaluate(
    agent: AgentLike,
    task: str,
    *,
    episodes: int = 500,
    seed: int = 0,
    any_task: bool = False,
    asking: Asking = PAPERS_ORACLE,
) -> dict[str, Any]:
    """The paper's measures of an agent on fresh levels of a task (section 4), as `afk eval` prints them.

    Args:
        agent: what `load_agent` gave, what it takes, or ``expert`` or ``random``.
        task: what is played, a name or letters.
        episodes: how many levels.
        seed: what the levels are drawn with.
        any_task: whether the agent may have been trained on other tasks.
        asking: whom it asks, and on what terms; the paper's oracle if nothing is said.

    Returns:
        Success with its 95% interval, episode length, reward, queries, |Q_t|, precision, recall and F1.
    """
    keep_compiled_programs()
    name = agent if isinstance(agent, TrainedAgent) else str(agent)
    labels, chunks = play_fresh(
        name, task_named(task), episodes=episodes, seed=seed, any_task=any_task, asking=asking
    )
    return labels | summarise(chunks)


def watch(
    agent: AgentLike,
    task: str,
    *,
    seed: int = 0,
    level: int = 0,
    any_task: bool = False,
    asking: Asking = PAPERS_ORACLE,
) -> Trace:
    """One episode with everything that was seen, weighed, done, answered and noted; see `evaluate`."""
    keep_compiled_programs()
    if isinstance(agent, str) and agent in POLICIES:
        check_plays_by_plan(agent, asking)
        return trace_policy(play_by_plan(task, asking), agent, seed=seed, level=level)
    found = agent if isinstance(agent, TrainedAgent) else load_agent(agent, task, any_task=any_task)
    name = agent if isinstance(agent, str) else "the agent"
    env = asking.put_into(env_of(found.config, task))
    return trace_episode(
        play_on(found, env, name=name, mode=asking.mode), found.network, seed=seed, level=level
    )


def train(
    tasks: str | Sequence[str],
    *,
    out: str | PathLike[str],
    agent: str = "afk",
    preset_name: str | None = None,
    seeds: Sequence[int] = (24,),
    steps: int | None = None,
    changes: Mapping[str, Any] | None = None,
    levels: int = FRESH_LEVELS,
    console: Console | None = None,
) -> RunRecord:
    """Train an agent, evaluate it, and leave a run's folder with a record, as `afk train` does.

    Called again with the same arguments it goes on with a run that was stopped, and returns the record of one
    that is over.

    Args:
        tasks: what to train on, names or letters; several are trained on in equal shares.
        out: the folder of the run.
        agent: the variant: ``afk``, ``query``, ``no-query``, ``afk-plus``, ...
        preset_name: hyperparameters by name; what this machine can do if None.
        seeds: trained side by side.
        steps: environment steps a seed; the preset's if None.
        changes: other hyperparameters by name, such as ``{"settings.entropy_coef": 0.03}``.
        levels: fresh levels that each agent plays in the end.
        console: where to show a progress bar; nowhere if None.
    """
    keep_compiled_programs()
    chosen = (tasks,) if isinstance(tasks, str) else tuple(tasks)
    fields: dict[str, Any] = {"seeds": tuple(seeds)} | ({} if steps is None else {"steps": steps})
    config = change(preset(preset_name or default_preset(), chosen, agent=agent, **fields), changes or {})
    return do_run(config, Path(out), console=console or Console(quiet=True), levels=levels)
