"""An episode as the page gets it: plain values, one moment before the first step and one after each.

A moment holds the world as it is then, the step that led there and what it was chosen from,
and the notebook.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from afk.agents.notebook import Similarity
from afk.envs.core import Environment
from afk.envs.qbabyai.world import cells
from afk.envs.qbabyai.world.view import seen_cells
from afk.envs.qtextworld.commands import possible_commands
from afk.envs.qtextworld.levels.tasks import Task as TextTask
from afk.envs.qtextworld.world.words import split_text
from afk.envs.registry import find_task_of, task_named, world_of
from afk.episodes.trace import Step, Trace
from afk.episodes.tracer import Tracer
from afk.language import Vocabulary
from afk.learning.rollout import Play

Link = tuple[int, int, list[str]]  # two notes and the n-grams that they share
SHOWN = 6  # how many likeliest choices of a head are sent
_QUESTIONS = ("what", "where", "how")  # function words that begin a question, in either world


@dataclass(frozen=True)
class Source:
    """Where an episode comes from, which is all that it takes to see it again.

    Attributes:
        task: what is played; a name, though letters may be given. A ValueError if there is no such task.
        agent: who plays; empty for a person.
        seed: what the levels are drawn with.
        level: which of them it is.
    """

    task: str
    agent: str
    seed: int
    level: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "task", task_named(self.task))

    def describe(self) -> dict[str, Any]:
        """The same in plain values."""
        return {"task": self.task, "agent": self.agent, "seed": self.seed, "level": self.level}


def describe_trace(source: Source, play: Play, trace: Trace) -> dict[str, Any]:
    """A whole episode."""
    steps = trace.steps
    states = [*(step.state for step in steps), trace.last_state]
    sights = [*(step.seen for step in steps), trace.last_seen]
    first = _note_instruction(trace)
    moments = [
        _describe_moment(play, trace.instruction, state, seen, step, step.notebook if step else first)
        for state, seen, step in zip(states, sights, (None, *steps), strict=True)
    ]
    return _describe_head(source, play, trace.instruction) | {
        "moments": moments,
        "ending": describe_ending(trace),
    }


def describe_tracer(source: Source, tracer: Tracer) -> dict[str, Any]:
    """An episode under way, all of it."""
    if tracer.steps:
        return describe_trace(source, tracer.play, tracer.record())
    return _describe_head(source, tracer.play, tracer.instruction) | {
        "moments": [describe_now(tracer)],
        "ending": None,
    }


def describe_now(tracer: Tracer) -> dict[str, Any]:
    """The latest moment of an episode under way."""
    step = tracer.steps[-1] if tracer.steps else None
    return _describe_moment(tracer.play, tracer.instruction, tracer.state, tracer.seen, step, tracer.notebook)


def describe_ending(trace: Trace) -> dict[str, str] | None:
    """How an episode ended and what it amounts to; nothing if it is under way."""
    if trace.ending == "under way":
        return None
    return {"how": trace.ending, "summary": trace.summary()}


def find_links(sets: Sequence[Sequence[str]], similarity: Similarity) -> list[Link]:
    """The notes of a notebook that are related directly, numbered set after set."""
    notes = [note for each in sets for note in each]
    grams = [_n_grams(note, similarity.n) for note in notes]
    links = []
    for one, two in combinations(range(len(notes)), 2):
        shared = [gram for gram in grams[one] if gram in grams[two]]
        if shared and len(shared) >= similarity.needed(min(len(grams[one]), len(grams[two]))):
            links.append((one, two, [" ".join(gram) for gram in shared]))
    return links


def _describe_head(source: Source, play: Play, instruction: str) -> dict[str, Any]:
    """What is the same at every moment."""
    env = play.env
    return source.describe() | {
        "world": _FRAMES[env.world].kind,
        "instruction": instruction,
        "reads_notes": play.variant.notebook,
        "points": play.variant.pointer,
        "n_gram": play.rules.similarity.n,
        "max_steps": env.max_steps,
        "words": _describe_words(env.vocabulary),
        "address": world_of(env).text.address,
    }


def _describe_words(vocabulary: Vocabulary) -> dict[str, list[str]]:
    """What questions are made of."""
    functions = [word for word in _QUESTIONS if word in vocabulary.functions]
    classes = {"adjectives": vocabulary.adjectives, "nouns": vocabulary.nouns}
    return {"functions": functions} | {name: list(words) for name, words in classes.items()}


def _note_instruction(trace: Trace) -> tuple[tuple[str, ...], ...]:
    """The notebook before the first step: the instruction is the first note of A_0 ever after."""
    return ((trace.steps[0].notes[0],),)


def _describe_moment(
    play: Play,
    instruction: str,
    state: Any,
    seen: Any,
    step: Step | None,
    notebook: tuple[tuple[str, ...], ...],
) -> dict[str, Any]:
    return {
        "frame": _describe_frame(play.env, instruction, state, seen, step),
        "step": None if step is None else _describe_step(step),
        "notebook": notebook,
        "links": _links(notebook, play.rules.similarity),
    }


@lru_cache(maxsize=1024)
def _links(sets: tuple[tuple[str, ...], ...], similarity: Similarity) -> list[Link]:
    """Notebooks change with answers only."""
    return find_links(sets, similarity)


def _describe_frame(
    env: Environment[Any], instruction: str, state: Any, seen: Any, step: Step | None
) -> dict[str, Any]:
    """What the page draws of the world."""
    return _FRAMES[env.world].describe(env, instruction, state, seen, step)


def _describe_kitchen(
    env: Environment[Any], instruction: str, state: Any, seen: Any, step: Step | None
) -> dict[str, Any]:
    """A text with the commands that can be carried out."""
    _, room = split_text(seen, instruction, step.answer if step else "")
    return {"room": room, "commands": possible_commands(find_task_of(TextTask, env.name), state)}


def _describe_grid(
    env: Environment[Any], instruction: str, state: Any, seen: Any, step: Step | None
) -> dict[str, Any]:
    """A grid with what is seen of it."""
    del env, instruction, step
    kind, colour = divmod(int(state.carrying), 8)
    return {
        "width": state.grid.shape[1],
        "cells": np.asarray(state.grid, np.uint8).tobytes().hex(),
        "seen": "".join("01"[each] for each in seen_cells(seen, state).ravel().tolist()),
        "position": np.asarray(state.position).tolist(),
        "direction": int(state.direction),
        "carries": f"{cells.COLOURS[colour]} {cells.KIND_WORDS[kind]}" if kind in cells.KIND_WORDS else "",
    }


class _Frame(NamedTuple):
    """How the page shows a world: as what kind of frame, and what is in it."""

    kind: str
    describe: Callable[[Environment[Any], str, Any, Any, Step | None], dict[str, Any]]


_FRAMES = {"qbabyai": _Frame("grid", _describe_grid), "qtextworld": _Frame("text", _describe_kitchen)}


def _describe_step(step: Step) -> dict[str, Any]:
    return {
        "number": step.number,
        "said": step.said,
        "asks": step.asks,
        "answer": step.answer,
        "news": step.news,
        "reward": round(step.reward, 4),
        "new": step.new,
        "heads": [
            {
                "title": head.title,
                "choices": [
                    (choice.word, round(choice.probability, 4), choice.taken)
                    for choice in head.likeliest(SHOWN)
                ],
            }
            for head in step.weighed
        ],
        "asking": None if step.asking is None else round(step.asking, 4),
        "value": None if step.value is None else round(step.value, 4),
    }


def _n_grams(note: str, n: int) -> list[tuple[str, ...]]:
    """The distinct n-grams of a note, in order."""
    words = note.split()
    return list(dict.fromkeys(tuple(words[start : start + n]) for start in range(len(words) - n + 1)))
