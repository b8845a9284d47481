"""Collecting experience: a batch of episodes that never stops, played by an agent with a notebook."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from afk.agents.base import Agent
from afk.agents.networks.ops import for_wanted
from afk.agents.notebook import Notebook, NoteTaking, open_notebook, write
from afk.agents.reading import Reading, read_focus, read_latest
from afk.agents.variants import Variant
from afk.envs.core import Environment, TimeStep, query_quality
from afk.envs.level_pool import Batch, Pool, advance, start_batch
from afk.language import PAD
from afk.learning.devices import by_share, shares


@dataclass(frozen=True)
class Play:
    """Who plays what, and how notes are taken; everything that is fixed while a loop is compiled.

    Attributes:
        env: the environment.
        variant: what the agent is equipped with.
        rules: how notes are taken.
        keeps_answer: whether an answer is in view until the next one; for one step otherwise. It matters to
            agents without a notebook.
        begins_told: whether the answers to Q_t are in the notebook from the start.
    """

    env: Environment
    variant: Variant
    rules: NoteTaking
    keeps_answer: bool = False
    begins_told: bool = False


class TrainingLevels(eqx.Module):
    """Levels to play, and the notebook that an agent begins each of them with, with a leading axis."""

    pool: Pool
    notebooks: Notebook


class Actors(eqx.Module):
    """Episodes under way and what the agent carries through them, with a leading axis.

    Attributes:
        batch: the episodes.
        notebooks: F of each.
        memory: (n, ...), what the agent remembers.
        starts: (n,) bool, whether the next step is the first of an episode.
    """

    batch: Batch
    notebooks: Notebook
    memory: jax.Array
    starts: jax.Array


class AgentInputs(eqx.Module):
    """What an agent has before it at a step of n episodes.

    Attributes:
        seen: what it sees, with a leading axis n.
        reading: what it reads.
        memory: (n, ...), what it remembers.
        starts: (n,) bool, whether this is the first step of an episode.
    """

    seen: Any
    reading: Reading
    memory: jax.Array
    starts: jax.Array


class Episodes(eqx.Module):
    """Sums over the episodes that ended, float32 each; means are these over `count`.

    `reward` is summed over all steps instead, since what episodes are paid comes before they end. `cost` is
    what their questions cost, None where there is the paper's oracle alone.
    """

    count: jax.Array
    success: jax.Array
    steps: jax.Array
    reward: jax.Array
    queries: jax.Array
    precision: jax.Array
    recall: jax.Array
    f1: jax.Array
    cost: jax.Array | None = None


class Experience(eqx.Module):
    """Steps of many episodes; leading axes are (steps, n).

    Attributes:
        seen: what was seen.
        reading: what was read.
        starts: () bool, whether an episode started at this step.
        action: (components,) int32.
        log_probability: () float32, of the action when it was taken.
        value: () float32, V before the step.
        reward: () float32, r_env.
        grew: () bool, whether A_0 grew by the answer.
        terminated: () bool.
        truncated: () bool.
        final_value: () float32, V of the last observation where the episode was truncated, else 0.
        cost: () float32, what a question cost; None where there is the paper's oracle alone.
    """

    seen: Any
    reading: Reading
    starts: jax.Array
    action: jax.Array
    log_probability: jax.Array
    value: jax.Array
    reward: jax.Array
    grew: jax.Array
    terminated: jax.Array
    truncated: jax.Array
    final_value: jax.Array
    cost: jax.Array | None = None


@partial(jax.jit, static_argnums=0)
def open_levels(play: Play, pool: Pool) -> TrainingLevels:
    """Levels that begin with nothing known but the instruction."""
    return TrainingLevels(pool, jax.vmap(partial(open_notebook, rules=play.rules))(pool.observations.mission))


def start_actors(agent: Agent, training_levels: TrainingLevels, count: int, *, stagger: int = 1) -> Actors:
    """Start episodes in the first of some levels; see `start_batch`."""
    batch = start_batch(training_levels.pool, count, stagger=stagger)
    notebooks = _take(training_levels.notebooks, batch.cursor)
    return Actors(batch, notebooks, agent.first_state(count), jnp.ones(count, bool))


def read(play: Play, agent: Agent, notebooks: Notebook, latest: jax.Array) -> Reading:
    """What the agent reads in each of n episodes: A_0, or the latest (n, tokens) response only."""
    size = agent.size
    if play.variant.notebook:
        return jax.vmap(partial(read_focus, notes=size.notes, words=size.note_words))(notebooks)
    latest_only = partial(read_latest, rules=play.rules, notes=size.notes, words=size.note_words)
    return jax.vmap(latest_only)(notebooks, latest)


def decide(agent: Agent, inputs: AgentInputs) -> tuple[jax.Array, Any]:
    """One step of the agent: its memory after it, and its output with a leading axis n."""
    arrays, static = eqx.partition(agent, eqx.is_array)

    def run(arrays: Any, inputs: AgentInputs) -> tuple[jax.Array, Any]:
        batched = jax.tree.map(lambda leaf: leaf[None], (inputs.seen, inputs.reading, inputs.starts))
        memory, output = eqx.combine(arrays, static)(inputs.memory, *batched)
        return memory.astype(inputs.memory.dtype), jax.tree.map(lambda leaf: leaf[0], output)

    return by_share(run, arrays, inputs)


def decide_for(agent: Agent, inputs: AgentInputs, wanted: jax.Array) -> tuple[jax.Array, Any]:
    """The same for those of n episodes that are wanted, (n,) bool; what others get is nobody's business."""
    if shares() > 1:  # each device has its own of them, and all of these wait for the longest episode
        return decide(agent, inputs)
    return for_wanted(partial(decide, agent), wanted, inputs)


def agent_inputs(play: Play, agent: Agent, actors: Actors) -> AgentInputs:
    """What the agent has before it at the next step."""
    observed = actors.batch.observations
    return AgentInputs(
        observed.seen, read(play, agent, actors.notebooks, observed.response), actors.memory, actors.starts
    )


def act(
    play: Play,
    agent: Agent,
    training_levels: TrainingLevels,
    actors: Actors,
    key: jax.Array,
    *,
    deciding: Callable[[Agent, AgentInputs], tuple[jax.Array, Any]] = decide,
) -> tuple[Actors, TimeStep, Experience, AgentInputs]:
    """One step in each of n episodes, for which the agent decides as `decide` does, or otherwise.

    Returns:
        The actors after it, what it gave, the step as experience (with no `final_value` yet), and what the
        agent has before it after the step, which differs from what the actors have where an episode ended.
    """
    inputs = agent_inputs(play, agent, actors)
    memory, output = deciding(agent, inputs)
    action, log_probability = agent.choose(output, key)
    batch, time_step = advance(play.env, training_levels.pool, actors.batch, action)
    response = time_step.observation.response
    notebooks, grew = jax.vmap(partial(write, rules=play.rules))(actors.notebooks, response)
    if play.keeps_answer:
        response = _choose((response != PAD).any(-1), response, actors.batch.observations.response)
        in_view = _choose(time_step.done, batch.observations.response, response)
        batch = eqx.tree_at(lambda each: each.observations.response, batch, in_view)
    reading = read(play, agent, notebooks, response)
    final = AgentInputs(time_step.observation.seen, reading, memory, jnp.zeros_like(grew))
    experience = Experience(
        seen=inputs.seen,
        reading=inputs.reading,
        starts=inputs.starts,
        action=action,
        log_probability=log_probability,
        value=output.value,
        reward=time_step.reward,
        grew=grew,
        terminated=time_step.terminated,
        truncated=time_step.truncated,
        final_value=jnp.zeros_like(output.value),
        cost=time_step.cost,
    )
    notebooks = _choose(time_step.done, _take(training_levels.notebooks, batch.cursor), notebooks)
    return Actors(batch, notebooks, memory, time_step.done), time_step, experience, final


def collect(
    play: Play, agent: Agent, training_levels: TrainingLevels, actors: Actors, key: jax.Array, *, steps: int
) -> tuple[Actors, Experience, Episodes]:
    """Play some steps in every episode; experience has leading axes (steps, n).

    No episode is cut off twice within these steps, so that there is one last observation to keep for each.
    """

    def step(
        carry: tuple[Actors, AgentInputs], key: jax.Array
    ) -> tuple[tuple[Actors, AgentInputs], tuple[Experience, Episodes]]:
        actors, last = carry
        actors, time_step, experience, final = act(play, agent, training_levels, actors, key)
        return (actors, _choose(time_step.truncated, final, last)), (experience, count_ended(time_step))

    carry = actors, agent_inputs(play, agent, actors)
    (actors, last), (experience, episodes) = jax.lax.scan(step, carry, jax.random.split(key, steps))
    final_value = jnp.where(experience.truncated, decide(agent, last)[1].value, 0)
    return (
        actors,
        replace(experience, final_value=final_value),
        jax.tree.map(jnp.sum, episodes),
    )


def _take(tree: Any, index: jax.Array) -> Any:
    """Rows of every leaf."""
    return jax.tree.map(lambda leaf: leaf[index], tree)


def _choose(mask: jax.Array, yes: Any, no: Any) -> Any:
    """Leaves of one pytree or the other, by an (n,) mask."""
    return jax.tree.map(lambda a, b: jnp.where(mask.reshape(-1, *[1] * (a.ndim - 1)), a, b), yes, no)


def count_ended(time_step: TimeStep) -> Episodes:
    """What ended at a step of n episodes, (n,) each; devices that share them have nothing to exchange yet."""
    stats = time_step.stats
    precision, recall, f1 = query_quality(stats.good, stats.queries, stats.wanted)
    paid = {} if time_step.dealings is None else {"cost": time_step.dealings.paid}
    measures = paid | {
        "count": jnp.ones_like(precision),
        "success": time_step.success,
        "steps": stats.steps,
        "queries": stats.queries,
        "precision": precision,
        "recall": recall,
        "f1": f1,
    }
    ended = {name: jnp.where(time_step.done, each, 0).astype(jnp.float32) for name, each in measures.items()}
    return Episodes(**ended, reward=time_step.reward)
