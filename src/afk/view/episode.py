"""An episode as the page gets it: plain values, one moment before the first step and one after each.

A moment holds the world as it is then, the step that led there and what it was chosen from,
and the notebook.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np

from afk.agents.notebook import Similarity
from afk.envs.base import Environment
from afk.envs.qbabyai import cells
from afk.envs.qbabyai.view import seen_cells
from afk.envs.qtextworld.commands import possible_commands
from afk.envs.qtextworld.environment import QTextWorld
from afk.envs.qtextworld.words import ORACLE, split_text
from afk.envs.registry import task_named
from afk.experiments.recorder import Diary
from afk.experiments.recording import Recording, Step
from afk.language import Vocabulary
from afk.learn.rollout import Play

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


def describe_recording(source: Source, play: Play, recording: Recording) -> dict[str, Any]:
    """A whole episode."""
    steps = recording.steps
    states = [*(step.state for step in steps), recording.last_state]
    sights = [*(step.seen for step in steps), recording.last_seen]
    first = _note_instruction(recording)
    moments = [
        _describe_moment(play, recording.instruction, state, seen, step, step.notebook if step else first)
        for state, seen, step in zip(states, sights, (None, *steps), strict=True)
    ]
    return _describe_head(source, play, recording.instruction) | {
        "moments": moments,
        "ending": describe_ending(recording),
    }


def describe_diary(source: Source, diary: Diary) -> dict[str, Any]:
    """An episode under way, all of it."""
    if diary.steps:
        return describe_recording(source, diary.play, diary.record())
    return _describe_head(source, diary.play, diary.instruction) | {
        "moments": [describe_now(diary)],
        "ending": None,
    }


def describe_now(diary: Diary) -> dict[str, Any]:
    """The latest moment of an episode under way."""
    step = diary.steps[-1] if diary.steps else None
    return _describe_moment(diary.play, diary.instruction, diary.state, diary.seen, step, diary.notebook)


def describe_ending(recording: Recording) -> dict[str, str] | None:
    """How an episode ended and what it amounts to; nothing if it is under way."""
    if recording.ending == "under way":
        return None
    return {"how": recording.ending, "summary": recording.summary()}


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
        "world": "text" if isinstance(env, QTextWorld) else "grid",
        "instruction": instruction,
        "reads_notes": play.variant.notebook,
        "n_gram": play.rules.similarity.n,
        "max_steps": env.max_steps,
        "words": _describe_words(env.vocabulary),
        "address": f"ask {ORACLE} " if isinstance(env, QTextWorld) else "",
    }


def _describe_words(vocabulary: Vocabulary) -> dict[str, list[str]]:
    """What questions are made of."""
    functions = [word for word in _QUESTIONS if word in vocabulary.functions]
    classes = {"adjectives": vocabulary.adjectives, "nouns": vocabulary.nouns}
    return {"functions": functions} | {name: list(words) for name, words in classes.items()}


def _note_instruction(recording: Recording) -> tuple[tuple[str, ...], ...]:
    """The notebook before the first step: the instruction is the first note of A_0 ever after."""
    return ((recording.steps[0].notes[0],),)


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
    """The world: a grid with what is seen of it, or a text with the commands that can be carried out."""
    if isinstance(env, QTextWorld):
        _, room = split_text(seen, instruction, step.answer if step else "")
        return {"room": room, "commands": possible_commands(env.task, state)}
    kind, colour = divmod(int(state.carrying), 8)
    return {
        "width": state.grid.shape[1],
        "cells": np.asarray(state.grid, np.uint8).tobytes().hex(),
        "seen": "".join("01"[each] for each in seen_cells(seen, state).ravel().tolist()),
        "position": np.asarray(state.position).tolist(),
        "direction": int(state.direction),
        "carries": f"{cells.COLOURS[colour]} {cells.KIND_WORDS[kind]}" if kind in cells.KIND_WORDS else "",
    }


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
