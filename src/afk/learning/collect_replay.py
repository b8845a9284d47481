"""Playing into the replay: steps of many episodes, kept as they are taken."""

from dataclasses import replace

import jax
import jax.numpy as jnp

from afk.agents.base import Agent
from afk.agents.reading import Reading
from afk.learning.replay import Ending, Replay, Step, add
from afk.learning.rollout import Actors, Episodes, Play, TrainingLevels, act, count_ended


def play_into(
    replay: Replay, play: Play, agent: Agent, levels: TrainingLevels, actors: Actors, keys: jax.Array
) -> tuple[Actors, Replay, Episodes]:
    """Play a step in every episode for each key, and put it into the replay."""

    def step(carry: tuple[Actors, Replay], key: jax.Array) -> tuple[tuple[Actors, Replay], Episodes]:
        actors, replay = carry
        actors, time_step, experience, final = act(play, agent, levels, actors, key)
        now = Step(
            seen=experience.seen,
            reading=shorten(experience.reading, agent),
            action=experience.action.astype(jnp.uint8),
            reward=experience.reward,
            grew=experience.grew,
        )
        then = replace(now, seen=final.seen, reading=shorten(final.reading, agent))
        ending = Ending(time_step.terminated, time_step.truncated, time_step.success)
        return (actors, add(replay, now, then, ending)), count_ended(time_step)

    (actors, replay), ended = jax.lax.scan(step, (actors, replay), keys)
    return actors, replay, jax.tree.map(jnp.sum, ended)


def shorten(reading: Reading, agent: Agent) -> Reading:
    """Of the instruction only as much as is read: there are many steps to keep."""
    return Reading(reading.instruction[:, : agent.size.instruction_words], reading.notes)
