"""An episode as an agent went through it: one record for both worlds, in plain values.

Records hold words, numbers and numpy arrays only, so that what `dataclasses.asdict` gives can be written as
JSON, with ``default=np.ndarray.tolist``.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from afk.agents.variants import Variant
from afk.envs.core import EpisodeStats, query_quality


class Choice(NamedTuple):
    """A word or an action that the agent could choose, and whether it did."""

    word: str
    probability: float
    taken: bool


@dataclass(frozen=True)
class Head:
    """What one word of a command or a question, or a physical action, was chosen from.

    Attributes:
        title: ``action``, ``function``, ``adjective`` or ``noun``.
        taken: what was chosen.
        probabilities: of all that could be chosen, likeliest first. Where words are said in turn (see
            `QueryHeads`), those of each are given the ones before it.
        counts: whether the choice is part of what was done: an agent of Q-BabyAI chooses words while it acts.
    """

    title: str
    taken: str
    probabilities: dict[str, float]
    counts: bool

    def likeliest(self, count: int) -> list[Choice]:
        """So many likeliest choices, the one that was taken among them whatever its probability."""
        taken_first = sorted(self.probabilities, key=lambda word: word != self.taken)
        return [
            Choice(word, probability, word == self.taken)
            for word, probability in self.probabilities.items()
            if word in taken_first[:count]
        ]


@dataclass(frozen=True)
class Step:
    """One step of an episode, and what the agent made of it.

    Attributes:
        number: counted from 1.
        state: the world's, before the action.
        seen: what the agent sees of it: (7, 7, 4) uint8 in Q-BabyAI, a text in Q-TextWorld.
        action: (components,) int32.
        said: the action in words, as `afk play` reads it.
        asks: whether it is a question.
        answer: to a question; empty otherwise.
        news: what Q-TextWorld says to a command, and what the text after it has that the one before had not;
            empty otherwise.
        reward: r_env.
        notebook: F after the step: the sets A_0, A_1, ... of notes, each in the order of writing. The
            instruction is the first note of A_0.
        new: the notes of A_0 that were not in it before.
        heads: what was chosen from; none if the agent has no probabilities.
        asking: the probability of asking; nothing if the agent cannot ask, or has no probabilities.
        value: V before the action; nothing if the agent has none.
        terminated: whether the episode ended here in success or in a mistake.
        truncated: whether it ran out of steps here.
        success: whether the task is done.
    """

    number: int
    state: Any
    seen: Any
    action: np.ndarray
    said: str
    asks: bool
    answer: str
    news: str
    reward: float
    notebook: tuple[tuple[str, ...], ...]
    new: tuple[str, ...]
    heads: tuple[Head, ...]
    asking: float | None
    value: float | None
    terminated: bool
    truncated: bool
    success: bool

    @property
    def notes(self) -> tuple[str, ...]:
        """A_0 after the step."""
        return self.notebook[0]

    @property
    def weighed(self) -> list[Head]:
        """The heads that count: what a question's words were chosen from, or the action."""
        return [head for head in self.heads if head.counts]


@dataclass(frozen=True)
class Trace:
    """An episode.

    Attributes:
        task: what was played.
        variant: what the agent is equipped with.
        instruction: v_0 as text.
        steps: all of them.
        last_state: the world's, after the last step.
        last_seen: what there is to see of it.
        stats: what the episode amounts to.
    """

    task: str
    variant: Variant
    instruction: str
    steps: tuple[Step, ...]
    last_state: Any
    last_seen: Any
    stats: EpisodeStats

    @property
    def is_text(self) -> bool:
        """Whether it was played in Q-TextWorld."""
        return isinstance(self.last_seen, str)

    @property
    def ending(self) -> str:
        """How it ended: ``success``, ``failure`` or ``out of time``; ``under way`` if it has not."""
        last = self.steps[-1]
        if not (last.terminated or last.truncated):
            return "under way"
        return "success" if last.success else "failure" if last.terminated else "out of time"

    @property
    def notes_title(self) -> str:
        """What stands before the notes in A_0."""
        return "A0" if self.variant.notebook else "A0, which it does not read"

    def summary(self) -> str:
        """What it amounts to, in one sentence; precision and recall are those against Q_t."""
        stats, reward = self.stats, sum(step.reward for step in self.steps)
        precision, recall, _ = query_quality(stats.good, stats.queries, stats.wanted)
        return (
            f"after {stats.steps} steps, reward {reward:.2f}; questions {stats.queries}, good ones "
            f"{stats.good} of {stats.wanted}: precision {precision:.0%}, recall {recall:.0%}"
        )
