"""Episodes as chat: JSONL with tool calls, and a label for every question, for libraries that fine-tune."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax

from afk.checks import check_counts
from afk.envs.core import Environment
from afk.envs.level_pool import draw_pool
from afk.envs.qbabyai.world.words import VOCABULARY
from afk.envs.registry import make, task_named, world_of
from afk.episodes.tracer import trace_episode
from afk.files import write_file
from afk.language import Query
from afk.play.episode import Episode
from afk.play.expert import Move, make_expert
from afk.play.rules import check_mode
from afk.play.tools import describe_form, describe_tools
from afk.training.evaluate import fresh_keys
from afk.training.pretrained import find_agent, play_on

EXPERT = "expert"


@dataclass(frozen=True)
class Export:
    """What is exported.

    Attributes:
        task: the task's name.
        agent: ``expert``, who reads what a model reads, or a trained agent, see `find_agent`.
        episodes: how many.
        seed: what the levels are drawn with.
        mode: see `Episode`.
        macros: see `Episode`.
    """

    task: str
    agent: str = EXPERT
    episodes: int = 100
    seed: int = 1
    mode: str = "asking"
    macros: bool = False

    def __post_init__(self) -> None:
        check_counts(self, "episodes")
        check_mode(self.mode)
        if self.agent != EXPERT and (self.macros or self.mode != "asking"):
            raise ValueError(
                "a trained agent takes single steps and asks; only the expert has macros and modes"
            )


def play_episodes(export: Export) -> Iterator[dict[str, Any]]:
    """The episodes one by one, as they are written."""
    env = make(task_named(export.task))
    if export.agent == EXPERT:
        states = jax.device_get(draw_pool(env, fresh_keys(export.seed)[0], export.episodes).states)
        for level in range(export.episodes):
            state = jax.tree.map(lambda leaf, level=level: leaf[level], states)
            episode = Episode(env, state, mode=export.mode, macros=export.macros)
            yield _record(export, level, episode, _reading(episode))
        return
    agent = find_agent(export.agent, (env.name,), any_task=False)
    play = play_on(agent, env, name=export.agent)
    for level in range(export.episodes):
        trace = trace_episode(play, agent.network, seed=export.seed, level=level)
        moves = [_spoken(env, step.action) for step in trace.steps]
        yield _record(export, level, Episode(env, trace.steps[0].state), iter(moves))


def _reading(episode: Episode) -> Iterator[Move]:
    """The moves of the expert, who reads."""
    expert = make_expert(episode.rules)
    while True:
        yield expert.reply(episode.observation)


def _spoken(env: Environment[Any], action: Any) -> Move:
    """An agent's action as a move."""
    text = world_of(env).text
    if not text.is_query(env, action):
        return Move("act", text.say(env, action))
    if text.address:
        return Move("ask", text.say(env, action).removeprefix(text.address.lower()))
    return Move("ask", VOCABULARY.phrase(Query(*(int(word) for word in action[2:]))))


def _record(export: Export, level: int, episode: Episode, moves: Iterator[Move]) -> dict[str, Any]:
    """Play an episode, and write it down as one object."""
    form = describe_form(export.mode, tools=True)
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": f"{episode.rules}\n{form}"},
        {"role": "user", "content": episode.observation},
    ]
    questions = []
    for number, move in enumerate(moves):
        if episode.is_over:
            break
        asks = move.tool == "ask"
        seen = episode.ask(move.line) if asks else episode.act(move.line)
        arguments = json.dumps({"question" if asks else "action": move.line})
        function = {"name": move.tool, "arguments": arguments}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": seen})
        if asks:
            questions.append({"call": call["id"], "question": move.line, "label": episode.labels[-1]})
    return {
        "messages": messages,
        "tools": describe_tools(export.mode),
        "questions": questions,
        "task": export.task,
        "agent": export.agent,
        "seed": export.seed,
        "level": level,
        "success": episode.success,
        "reward": round(episode.reward, 6),
        "steps": int(episode.stats.steps),
    }


def write_episodes(path: Path, export: Export, episodes: list[dict[str, Any]]) -> None:
    """Write episodes as JSONL, and a data card beside them."""
    lines = "".join(json.dumps(episode) + "\n" for episode in episodes)
    write_file(path, lines.encode())
    write_file(card_of(path), write_card(export, path.name, episodes).encode())


def card_of(path: Path) -> Path:
    """Where the data card of a file of episodes is."""
    return path.with_suffix(".md")


def write_card(export: Export, name: str, episodes: list[dict[str, Any]]) -> str:
    """What a reader has to know of a file of episodes."""
    labels = Counter(question["label"] for episode in episodes for question in episode["questions"])
    turns = sum(len(episode["messages"]) // 2 - 1 for episode in episodes)
    won = sum(episode["success"] for episode in episodes)
    asked = ", ".join(f"{count} {label}" for label, count in sorted(labels.items())) or "none"
    options = f" --mode {export.mode}" * (export.mode != "asking") + " --macros" * export.macros
    command = f"afk export --task {export.task} --agent {export.agent} --episodes {len(episodes)}"
    return f"""# {name}

Episodes of `{export.agent}` on `{export.task}`, played as a chat with tools; {won} of {len(episodes)} were
won, in {turns} turns. Questions: {asked}.

Made by `{command} --seed {export.seed}{options}`. Everything is generated: no text of people, no names but
Jack's and Mary's. Another seed gives other levels; `afk eval` plays those of seed 0: keep them for testing.

A line is an object:

- `messages`: system (the rules), user (the first observation), then a tool call and its result in turn
- `tools`: the tools as Chat Completions take them
- `questions`: for each, the id of its `call`, the `question`, and its `label`: *good* (in Q_t, answered for
  the first time), *answered* (there is an answer, of no use), *repeated*, or *unanswered*
- `task`, `agent`, `seed`, `level`, `success`, `reward`, `steps`
"""
