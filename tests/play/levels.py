"""Fresh levels of a task, and the expert who reads playing them."""

import re
from functools import lru_cache
from typing import Any

import jax
import numpy as np

from afk.envs.adapters.gymnasium.support import question_texts
from afk.envs.core import Environment
from afk.envs.level_pool import draw_pool
from afk.envs.qtextworld.curriculum import hints
from afk.envs.qtextworld.environment import CookingGames
from afk.envs.registry import make
from afk.play.episode import Episode
from afk.play.expert import make_expert
from afk.training.evaluate import fresh_keys

GRID_TASKS = ["C", "S", "D", "H", "CS", "CD", "CH", "SD", "SH", "DH", "CSD", "CSH", "CDH", "SDH", "CSDH"]
TEXT_TASKS = [f"qtextworld/{name}" for name in ("take-1", "take-2", "take-1-cut", "take-2-cut")]
HINTS = jax.jit(hints, static_argnums=0)


@lru_cache(maxsize=4)
def _drawn(env: Environment[Any], count: int) -> Any:
    return jax.device_get(draw_pool(env, fresh_keys(0)[0], count).states)


def fresh(task: str, count: int = 1) -> list[tuple[Environment[Any], Any]]:
    """The first levels that `afk eval --seed 0` plays, each with its environment."""
    env = make(task)
    states = _drawn(env, count)
    return [(env, jax.tree.map(lambda leaf, level=level: leaf[level], states)) for level in range(count)]


def play_through(episode: Episode) -> list[str]:
    """Let the expert play an episode; returns all that was read."""
    expert, read = make_expert(episode.rules), [episode.observation]
    while not episode.is_over:
        move = expert.reply(read[-1])
        read.append((episode.ask if move.tool == "ask" else episode.act)(move.line))
    return read


def count_tokens(text: str) -> int:
    """Words, numbers and marks: about what a tokeniser makes of plain English."""
    return len(re.findall(r"\w+|[^\w\s]", text))


def bare(text: str) -> str:
    """Words alone, without those that questions and answers may leave out."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    return f" {' '.join(word for word in words if word not in ('is', 'the', 'a', 's'))} "


def secrets(env: Environment[Any], state: Any) -> list[str]:
    """The good queries of a level and their answers, as `bare` has them; questions first in Q-TextWorld."""
    if isinstance(env, CookingGames):
        answers = [env.vocabulary.decode(row) for row in HINTS(env, state) if row.any()]
        names = {re.split(r" is (?:in|on) | needs to ", answer)[0].removeprefix("the ") for answer in answers}
        asked = [f"{word} {name}" for name in sorted(names) for word in ("where", "how")]
        return [bare(each) for each in asked + answers]
    facts, level = state.facts, state.level
    found = question_texts(level.good_queries)
    vocabulary = make("qbabyai/danger").vocabulary
    for query in np.asarray(level.good_queries):
        rows = ((facts.keys == query) | (facts.keys == -1)).all(-1)
        found += [vocabulary.decode(answer).split(", ")[-1] for answer in facts.answers[rows]]
    return [bare(each) for each in found if each]


def unasked(text: str, hidden: list[str]) -> str:
    """A text without the answer to the last question: at its end in Q-BabyAI, else at its beginning."""
    words = bare(text.split("The answer:")[0])
    return next((words[len(each) - 1 :] for each in hidden if words.startswith(each)), words)
