"""Games as a task of Inspect: ``inspect eval afk/games --model MODEL -T task=CS`` (extra ``inspect``).

A sample is one of the levels that `afk eval` plays. The model has `Player`'s tools, and what counts is what
happened in the game, whatever was said of it.
"""

# Inspect's own dependencies do not go with our pinned ones: it is installed where it is used.
# pyright: reportMissingImports=false

from functools import cache
from typing import Any

import jax
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, execute_tools, get_model
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolDef

from afk.envs.core import query_quality
from afk.envs.level_pool import draw_pool
from afk.envs.registry import make, task_named
from afk.play.conversation import GIVES_UP
from afk.play.episode import Episode
from afk.play.player import Player, begin_episode
from afk.play.tools import describe_form, describe_tool, tool_names
from afk.training.evaluate import check_episodes, fresh_keys

_MEASURES = ("success", "reward", "steps", "queries", "precision", "recall", "f1", "invalid")


@task(name="games")
def games(
    task: str = "qbabyai/danger",
    episodes: int = 100,
    seed: int = 0,
    mode: str = "asking",
    macros: bool = False,
) -> Task:
    """The fresh levels of a task, played with tools; see `Episode` for modes and macros."""
    check_episodes(episodes)
    name = task_named(task)
    levels = [
        Sample(id=level, input=f"Level {level} of {name}.", metadata={"level": level})
        for level in range(episodes)
    ]
    return Task(dataset=levels, solver=play(name, episodes, seed, mode, macros), scorer=measures())


@cache
def _draw(name: str, episodes: int, seed: int) -> Any:
    """The levels, with their first states on the host."""
    return jax.device_get(draw_pool(make(name), fresh_keys(seed)[0], episodes).states)


@solver
def play(name: str, episodes: int, seed: int, mode: str, macros: bool) -> Solver:
    """Play a level to its end, or until the model has said nothing that can be read for a while."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate
        level = state.metadata["level"]
        first = jax.tree.map(lambda leaf: leaf[level], _draw(name, episodes, seed))
        episode = begin_episode(make(name), first, seed=seed + level, mode=mode, macros=macros)
        in_vain = 0
        state.tools = [_bind(episode, tool) for tool in tool_names(mode)]
        state.messages = [
            ChatMessageSystem(content=f"{episode.rules}\n{describe_form(mode, tools=True)}"),
            ChatMessageUser(content=episode.observation),
        ]
        while not episode.is_over and in_vain < GIVES_UP:
            invalid = episode.invalid
            state.output = await get_model().generate(state.messages, state.tools)
            state.messages.append(state.output.message)
            if state.output.message.tool_calls:
                results, _ = await execute_tools([state.output.message], state.tools)
                state.messages.extend(results)
            else:
                why = f"you called no tool. {describe_form(mode, tools=True)}"
                state.messages.append(ChatMessageUser(content=episode.reject(why)))
            in_vain = in_vain + 1 if episode.invalid > invalid else 0
        state.store.set("measures", _measure(episode))
        return state

    return solve


def _bind(episode: Episode, name: str) -> Any:
    """A tool of `Player`, with its schema, that plays this episode."""
    schema = describe_tool(getattr(Player, name))
    (parameter,) = schema["parameters"]["properties"].items()

    async def act(action: str) -> str:
        return episode.act(action)

    async def ask(question: str) -> str:
        return episode.ask(question)

    texts = {parameter[0]: parameter[1]["description"]}
    run = {"act": act, "ask": ask}[name]
    return ToolDef(run, name, schema["description"], texts, parallel=False).as_tool()


def _measure(episode: Episode) -> dict[str, float]:
    """The measures of our agents, of one episode."""
    stats = jax.tree.map(int, episode.stats)
    precision, recall, f1 = query_quality(stats.good, stats.queries, stats.wanted)
    values = (episode.success, episode.reward, stats.steps, stats.queries, precision, recall, f1)
    return {name: float(value) for name, value in zip(_MEASURES, (*values, episode.invalid), strict=True)}


@scorer(metrics={name: [mean(), stderr()] for name in _MEASURES})
def measures() -> Scorer:
    """What the episode came to."""

    async def score(state: TaskState, target: Target) -> Score:
        del target
        return Score(value=state.store.get("measures"))

    return score
