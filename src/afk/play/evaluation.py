"""A chat model on fresh levels: several at once, to be stopped and gone on with at any point."""

import queue
import re
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from afk.checks import check_counts
from afk.envs.asking import AS_IT_ASKS, ORACLE
from afk.envs.level_pool import draw_pool
from afk.envs.registry import make, task_named
from afk.files import read_object, write_json
from afk.knowledge.catalogue import find_source
from afk.play.budget import Budget, BudgetSpentError
from afk.play.client import Endpoint, Reply
from afk.play.conversation import Conversation, Transcript
from afk.play.player import begin_episode
from afk.play.rules import check_mode
from afk.training.evaluate import Episodes, check_episodes, fresh_keys, summarise
from afk.training.lock import lock

SETTINGS, RESULT, SPENT = "model.json", "result.json", "spent.json"
MODELS = Path("runs/models")  # where results are kept, and where `afk leaderboard` looks for them
MOST_AT_ONCE = 64
_READING = {"natural_questions": True}
_EARLIER = {"source": ORACLE, "natural_questions": False}  # what earlier runs do not name
_FIELDS = ("success", "steps", "reward", "queries", "good", "wanted")


@dataclass(frozen=True)
class Settings:
    """What a model plays, and how.

    Attributes:
        model: its name.
        task: the task's name.
        episodes: how many of the fresh levels.
        seed: what these are drawn with.
        mode: see `Episode`.
        macros: see `Episode`.
        tools: whether it has tools, or plain text.
        history: see `Conversation`.
        max_tokens: of a reply.
        temperature: see `Endpoint`.
        source: who answers questions, see `check_asked`.
    """

    model: str
    task: str
    episodes: int = 100
    seed: int = 0
    mode: str = "asking"
    macros: bool = False
    tools: bool = True
    history: int = 0
    max_tokens: int = 512
    temperature: float | None = None
    source: str = ORACLE

    def __post_init__(self) -> None:
        if not self.model.strip():
            raise ValueError("openai: comes before the name of a model, as in openai:gpt-4o-mini")
        check_episodes(self.episodes)
        check_mode(self.mode)
        check_asked(self.source)
        if self.source != ORACLE and self.mode != AS_IT_ASKS:
            raise ValueError(f"nobody is asked in mode {self.mode}: leave out --source")
        check_counts(self, "history", least=0)
        check_counts(self, "max_tokens")

    @property
    def folder(self) -> Path:
        """Where its transcripts are kept if nothing else is said."""
        parts = (
            self.task,
            self.mode,
            "macros" if self.macros else "steps",
            "tools" if self.tools else "text",
            *((self.source,) if self.source != ORACLE else ()),
        )
        name = "-".join((*parts, f"seed{self.seed}"))
        return MODELS / re.sub(r"[^\w.+-]+", "-", self.model) / re.sub(r"[^\w.+-]+", "-", name)


def evaluate_model(
    settings: Settings,
    endpoint: Endpoint,
    folder: Path,
    *,
    at_once: int = 4,
    budget: int | None = None,
    console: Console | None = None,
) -> dict[str, Any]:
    """Play fresh levels, or go on with them; returns the measures, and leaves them with the transcripts.

    A ValueError if it stopped before the end, with how far it got; the same call goes on. So is there if
    another process plays in that folder.
    """
    if not 1 <= at_once <= MOST_AT_ONCE:
        raise ValueError(f"from 1 to {MOST_AT_ONCE} levels are played at once, not {at_once}")
    with lock(folder):
        check_settings(settings, folder)
        return _evaluate(settings, endpoint, folder, at_once, budget, console or Console(quiet=True))


def _evaluate(
    settings: Settings, endpoint: Endpoint, folder: Path, at_once: int, budget: int | None, console: Console
) -> dict[str, Any]:
    """See `evaluate_model`; the folder is ours."""
    env = make(task_named(settings.task))
    states = jax.device_get(draw_pool(env, fresh_keys(settings.seed)[0], settings.episodes).states)
    # The budget is that of the whole evaluation; earlier versions have counted in transcripts only.
    said = [line for path in folder.glob("level-*.jsonl") for line in Transcript(path).said]
    spent = Budget(budget, folder / SPENT, spent=sum(sum(line["usage"].values()) for line in said))

    def play(level: int) -> dict[str, Any]:
        transcript = Transcript(folder / f"level-{level:05}.jsonl")
        if transcript.result is not None:
            return transcript.result
        state = jax.tree.map(lambda leaf: leaf[level], states)
        options = {"source": settings.source, "mode": settings.mode, "macros": settings.macros}
        episode = begin_episode(env, state, seed=settings.seed + level, **options)
        conversation = Conversation(episode, settings.mode, settings.tools, settings.history)
        return conversation.play(complete, transcript)

    def complete(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Reply:
        return spent.complete(endpoint, messages, tools)

    results, problem = _play_all(play, settings, at_once, spent, console)
    if len(results) < settings.episodes:
        raise ValueError(
            f"{len(results)} of {settings.episodes} levels are done, {spent.spent:,} tokens spent: {problem}"
            "; the same command goes on"
        )
    summary = summarise_results(settings, [results[level] for level in range(settings.episodes)])
    write_json(folder / RESULT, summary)
    return summary


def check_asked(name: str) -> None:
    """A ValueError if there is no source of a name, or if it may answer otherwise the next time.

    What a model did is played again where a run goes on.
    """
    if not find_source(name).is_deterministic:
        raise ValueError(
            f"a model cannot be evaluated with the source {name}, which answers differently each time; with "
            "sql, documents or one of your own that does not it can (afk.play.Player takes any)"
        )


def check_settings(settings: Settings, folder: Path) -> None:
    """Write the settings to a folder; a ValueError if it holds transcripts of others."""
    ours = {name: value for name, value in asdict(settings).items() if name != "episodes"} | _READING
    path = folder / SETTINGS
    if not path.exists():
        write_json(path, ours)
        return
    theirs = _EARLIER | read_object(path)
    for name, value in ours.items():
        if theirs.get(name) != value:
            raise ValueError(
                f"{folder} was begun with {name} {theirs.get(name)!r}, not {value!r}; name another with --out"
            )


def _play_all(
    play: Callable[[int], dict[str, Any]], settings: Settings, at_once: int, spent: Budget, console: Console
) -> tuple[dict[int, dict[str, Any]], str]:
    """Results by level, and why there are not more, if there are not."""
    levels: queue.SimpleQueue[int] = queue.SimpleQueue()
    ended: queue.SimpleQueue[tuple[int, dict[str, Any] | Exception]] = queue.SimpleQueue()
    stop = threading.Event()
    for level in range(settings.episodes):
        levels.put(level)

    def work() -> None:
        while not stop.is_set():
            try:
                level = levels.get_nowait()
            except queue.Empty:
                return
            try:
                ended.put((level, play(level)))
            except Exception as error:
                stop.set()  # one more request would most likely fail as well
                ended.put((level, error))

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(at_once, settings.episodes))]
    for thread in threads:
        thread.start()
    results: dict[int, dict[str, Any]] = {}
    problems: list[Exception] = []
    columns = (
        TextColumn(f"{settings.model} on {settings.task}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[tokens]:,} tokens"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("", total=settings.episodes, tokens=spent.spent)
        try:
            while any(thread.is_alive() for thread in threads) or not ended.empty():
                try:
                    level, outcome = ended.get(timeout=0.2)
                except queue.Empty:
                    progress.update(bar, tokens=spent.spent)
                    continue
                if isinstance(outcome, Exception):
                    problems.append(outcome)
                else:
                    results[level] = outcome
                progress.update(bar, completed=len(results), tokens=spent.spent)
        finally:
            stop.set()
    for problem in problems:
        if not isinstance(problem, ValueError | OSError):
            raise problem
    problems.sort(key=lambda problem: isinstance(problem, BudgetSpentError))
    return results, str(problems[0]) if problems else ""


def summarise_results(settings: Settings, results: list[dict[str, Any]]) -> dict[str, Any]:
    """The measures of our agents, each a mean over levels, and what a model costs."""
    success, steps, reward, queries, good, wanted = (
        np.array([result[name] for result in results]) for name in _FIELDS
    )
    measures = summarise([Episodes(success, steps, reward, queries, good, wanted)])
    for name in ("prompt_tokens", "completion_tokens", "requests", "invalid", "seconds"):
        measures[name] = float(np.mean([result[name] for result in results]))
    endings = [result["ending"] for result in results]
    measures["endings"] = {ending: endings.count(ending) for ending in sorted(set(endings))}
    won = [bool(result["success"]) for result in results]
    return {"agent": f"openai:{settings.model}", **asdict(settings), **measures, "won": won}
