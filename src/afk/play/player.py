"""`Player`: one episode for a language model or a person, with the methods that become its tools."""

from typing import Any

import jax

from afk.envs.core import Environment
from afk.envs.registry import make
from afk.knowledge.catalogue import ORACLE, find_source
from afk.play.episode import Episode
from afk.play.informant import Informant
from afk.training.evaluate import draw_level

LEVELS = 1_000  # of each seed: those before a level are drawn with it


class Player:
    """One episode at a time, in text: `reset` begins it, `act` and `ask` go on, `get_reward` counts.

    The signatures and docstrings of `act` and `ask` are what tool schemas are made of.
    """

    def __init__(self) -> None:
        self._episode: Episode | None = None

    def reset(
        self,
        task: str = "qbabyai/danger",
        seed: int = 0,
        level: int = 0,
        source: str = "oracle",
        mode: str = "asking",
        macros: bool = False,
    ) -> str:
        """Begin an episode, and return its rules and what is observed first.

        Args:
            task: a task's name or letters.
            seed: what levels are drawn with; the same number gives the same levels.
            level: which of them is played.
            source: who answers: oracle, sql, documents, openai:MODEL or human; see `afk sources`.
            mode: no-questions, asking, or all-told: all that is worth asking is told at the start.
            macros: whether actions of Q-BabyAI are macros such as `go to the grey ball`.
        """
        env = make(task)
        state = first_state(env, seed=seed, level=level)
        options = {"source": source, "mode": mode, "macros": macros}
        self._episode = begin_episode(env, state, seed=seed + level, **options)
        return f"{self._episode.rules}\n\n{self._episode.observation}"

    def act(self, action: str) -> str:
        """Do something in the world, and get what you observe then.

        Args:
            action: one action, as the rules name them.
        """
        return self._begun().act(action)

    def ask(self, question: str) -> str:
        """Ask a question, and get the answer together with what you observe.

        Args:
            question: one question in a few words, as the rules describe them.
        """
        return self._begun().ask(question)

    def get_reward(self) -> float:
        """What the episode has paid so far."""
        return self._begun().reward

    def _begun(self) -> Episode:
        if self._episode is None:
            raise ValueError("no episode has begun: call reset first")
        return self._episode


def begin_episode(
    env: Environment[Any],
    state: Any,
    *,
    source: str = ORACLE,
    seed: int,
    mode: str = "asking",
    macros: bool = False,
) -> Episode:
    """An episode whose player may ask a source by name, in natural words as well.

    Args:
        env: see `Episode`.
        state: see `Episode`.
        source: who answers.
        seed: what the source draws from.
        mode: see `Episode`.
        macros: see `Episode`.
    """
    informant = Informant(find_source(source), env, state, seed=seed)
    return Episode(env, state, mode=mode, macros=macros, informant=informant)


def first_state(env: Environment[Any], *, seed: int, level: int) -> Any:
    """The first state of one of the fresh levels of a seed, the same that `afk eval` plays."""
    if not 0 <= level < LEVELS:
        raise ValueError(f"the level is a number from 0 to {LEVELS - 1}, not {level}")
    return jax.tree.map(lambda leaf: leaf[0], draw_level(env, seed=seed, level=level).states)
