"""Who can be watched: pretrained agents, checkpoints in the viewer's folders, and plans.

Requests name agents by what is listed here, and no path is ever made of a name that came with a request.
"""

from collections.abc import Callable, Hashable
from concurrent.futures import Future
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar

import jax

from afk.envs.asking import PAPERS_ORACLE, Asking
from afk.envs.registry import Task, find_task, task_names, tasks_by_letters, world_of
from afk.episodes.interactive import trace_policy
from afk.episodes.trace import Trace
from afk.episodes.tracer import trace_episode
from afk.learning.rollout import Play
from afk.training import checkpoint
from afk.training.build import env_of, play_by_plan
from afk.training.config import Config
from afk.training.evaluate import POLICIES
from afk.training.pretrained import PRETRAINED, SHOWN, TrainedAgent, find_agent, load_agent, play_on
from afk.training.pretrained import pretrained_tasks as list_pretrained
from afk.view.episode import Source, describe_trace
from afk.view.memory import give_back

LEVELS = 100  # of each seed
# With an agent its compiled programs go, and with them those of the others: they are still on the disk.
_KEPT_EPISODES, _KEPT_AGENTS = 64, 16
_TRIM_EVERY = 16  # episodes, between two times that memory is given back
Value = TypeVar("Value")


class Kept(Generic[Value]):
    """Values that are made once, however many ask for them at the same time; the latest are kept.

    What else is kept of a value that has to make room is forgotten with `forget`.
    """

    def __init__(self, size: int, *, forget: Callable[[], None] = lambda: None) -> None:
        self._size, self._forget, self._lock = size, forget, Lock()
        self._futures: dict[Hashable, Future[Value]] = {}

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value of a key, made here if nobody has; what fails is tried again by the next who asks."""
        with self._lock:
            future = self._futures.pop(key, None)
            is_mine = future is None
            future = future or Future()
            self._futures[key] = future  # the latest last
            while len(self._futures) > self._size:
                del self._futures[next(iter(self._futures))]
                self._forget()
        if is_mine:
            try:
                future.set_result(make())
            except BaseException as error:
                with self._lock:
                    self._futures.pop(key, None)
                future.set_exception(error)
        return future.result()


class Library:
    """Tasks, agents, and the episodes that were asked for last."""

    def __init__(
        self, runs: Path | None = None, chosen: Path | None = None, asking: Asking = PAPERS_ORACLE
    ) -> None:
        """Look agents up.

        Args:
            runs: a folder of runs, whose checkpoints are listed as they come and go.
            chosen: a run's folder or a checkpoint to open with.
            asking: whom agents and people ask, and on what terms.
        """
        self.asking = asking
        self._runs, self._chosen = runs, chosen
        self._episodes: Kept[tuple[Play, Trace]] = Kept(_KEPT_EPISODES)
        self._played = count(1)
        self._agents: Kept[TrainedAgent] = Kept(_KEPT_AGENTS, forget=jax.clear_caches)
        if chosen is not None and not _checkpoints_at(chosen):
            raise ValueError(
                f"{chosen} is neither a checkpoint of an agent nor a run's folder that holds one"
            )
        for path in {} if chosen is None else _checkpoints_at(chosen).values():
            _check(path)

    def describe(self) -> dict[str, Any]:
        """All that there is to choose from, and what to open with."""
        pretrained, letters = list_pretrained(), {name: short for short, name in tasks_by_letters().items()}
        agents: list[dict[str, Any]] = [{"name": PRETRAINED, "tasks": pretrained}]
        for name, path in self._checkpoints().items():
            agents.append({"name": name, "tasks": _tasks_of(path)})
        agents += [{"name": name, "tasks": None} for name in POLICIES]
        tasks = [_describe_task(find_task(name), letters.get(name, "")) for name in task_names()]
        shown = [task for task in task_names() if task in pretrained]
        gallery = [Source(task, PRETRAINED, 0, 0).describe() for task in shown]
        known = {"tasks": tasks, "agents": agents, "levels": LEVELS, "gallery": gallery}
        known |= {"asking": self.asking.title}
        return known | {"first": self.first().describe()}

    def first(self) -> Source:
        """What the page opens with: the chosen agent, or else a pretrained one."""
        if self._chosen is not None:
            name, path = next(iter(_checkpoints_at(self._chosen).items()))
            return Source(_tasks_of(path)[0], name, 0, 0)
        return Source(SHOWN, PRETRAINED, 0, 0)

    def check(self, source: Source, *, by_hand: bool = False) -> Source:
        """A source that can be played; a ValueError that names what is wrong otherwise."""
        if not 0 <= source.seed < 2**32:
            raise ValueError(f"the seed is a number from 0 to {2**32 - 1}, not {source.seed}")
        if not 0 <= source.level < LEVELS:
            raise ValueError(f"the level is a number from 0 to {LEVELS - 1}, not {source.level}")
        if not by_hand and source.agent not in (PRETRAINED, *POLICIES, *self._checkpoints()):
            raise ValueError(
                f"there is no agent {source.agent[:80]!r} here; choose {PRETRAINED}, "
                f"{', '.join((*self._checkpoints(), *POLICIES))}"
            )
        return source

    def record(self, source: Source) -> tuple[Play, Trace]:
        """An episode, played unless it was before."""
        path = self._checkpoints().get(self.check(source).agent)
        key = source, None if path is None else _written(path)
        return self._episodes.get(key, lambda: self._play(source))

    def describe_episode(self, source: Source) -> dict[str, Any]:
        """An episode for the page."""
        return describe_trace(source, *self.record(source))

    def _play(self, source: Source) -> tuple[Play, Trace]:
        if next(self._played) % _TRIM_EVERY == 0:
            give_back()
        where = {"seed": source.seed, "level": source.level}
        if source.agent in POLICIES:
            play = play_by_plan(source.task, self.asking)
            return play, trace_policy(play, source.agent, **where)
        agent = self._find(source)
        env = self.asking.put_into(env_of(agent.config, source.task))
        play = play_on(agent, env, name=source.agent, mode=self.asking.mode)
        return play, trace_episode(play, agent.network, **where)

    def _find(self, source: Source) -> TrainedAgent:
        """The agent of a source; a checkpoint is read again when it has changed."""
        if source.agent == PRETRAINED:
            return find_agent(PRETRAINED, (source.task,))
        path = self._checkpoints()[source.agent]
        return self._agents.get((path, _written(path)), lambda: load_agent(path))

    def left_out(self) -> dict[str, str]:
        """Why some agents in the folder of runs cannot be watched, by name; modules may be missing."""
        reasons: dict[str, str] = {}
        for name, path in self._found().items():
            try:
                _check(path)
            except ValueError as error:
                reasons[name] = str(error)
        return reasons

    def _checkpoints(self) -> dict[str, Path]:
        """The checkpoints that can be watched, by name."""
        unknown = self.left_out()
        return {name: path for name, path in self._found().items() if name not in unknown}

    def _found(self) -> dict[str, Path]:
        """The checkpoints that there are, by name."""
        folders = [] if self._runs is None or not self._runs.is_dir() else sorted(self._runs.iterdir())
        found: dict[str, Path] = {} if self._chosen is None else _checkpoints_at(self._chosen)
        for folder in folders:
            for name, path in _checkpoints_at(folder).items() if folder.is_dir() else ():
                found.setdefault(name, path)
        return found


def _check(path: Path) -> None:
    """A ValueError if nobody here knows the tasks or the kind of an agent."""
    Config.from_json(checkpoint.read_description(path).get("config", {}))


def _written(path: Path) -> int:
    """When a file was written, in nanoseconds."""
    return path.stat().st_mtime_ns


def _checkpoints_at(path: Path) -> dict[str, Path]:
    """A checkpoint, or the best agents of a run's folder, by names such as ``box/best-24``."""
    paths = sorted(path.glob("best-*.safetensors")) if path.is_dir() else [path]
    return {f"{each.resolve().parent.name}/{each.stem}": each for each in paths if _tasks_of(each)}


def _tasks_of(path: Path) -> list[str]:
    """The tasks that the agent of a checkpoint was trained on; none if it is not one."""
    try:
        return list(dict.fromkeys(checkpoint.read_description(path)["config"]["tasks"]))
    except (ValueError, KeyError, TypeError):
        return []


def _describe_task(task: Task, letters: str) -> dict[str, Any]:
    title = getattr(task, "title", "") or task.name.partition("/")[2].replace("-", " ").title()
    return {"name": task.name, "world": world_of(task).title, "title": title, "short": letters or title}
