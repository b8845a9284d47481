"""Evaluation: episodes on fresh levels, and what the paper reports of them (section 4)."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from afk.agents.base import Agent
from afk.checks import MOST
from afk.envs.core import Environment, TimeStep, query_quality
from afk.envs.level_pool import Pool, draw_pool, pool_of
from afk.envs.registry import shared_program, world_of
from afk.knowledge.traits import DealingStats
from afk.learning.devices import side_by_side, spread, stack
from afk.learning.hints import begin_levels
from afk.learning.rollout import Actors, Play, act, decide_for, start_actors

CHUNK = 500  # episodes played at once
_TOGETHER = 128  # levels drawn, at least
_Z = 1.96  # a 95% interval
_FRESH = 1_000  # far from the purposes that a run splits its seed into


class Episodes(NamedTuple):
    """Finished episodes, each field (episodes,).

    Attributes:
        success: whether the task was done.
        length: steps, queries included.
        reward: what the environment paid.
        queries: n_tot, queries asked, duplicates counted.
        good: n_g, good queries asked, duplicates not counted.
        wanted: |Q_t|.
        dealings: what the questions cost and came to, where sources have traits; None otherwise.
    """

    success: Any
    length: Any
    reward: Any
    queries: Any
    good: Any
    wanted: Any
    dealings: DealingStats | None = None


_Carry = tuple[Actors, Episodes, jax.Array, jax.Array, jax.Array]
Policy = Callable[[Environment[Any], Any, jax.Array], np.ndarray]


def expert(env: Environment[Any], states: Any, key: jax.Array) -> np.ndarray:
    """The solver's plans for a batch of first states: (episodes, max_steps, components) int32."""
    del key
    return world_of(env).plan(env, states)


def random(env: Environment[Any], states: Any, key: jax.Array) -> np.ndarray:
    """Every component of every action uniformly at random: (episodes, max_steps, components) int32."""
    shape = (len(states.step), env.max_steps, len(env.action_sizes))
    return np.asarray(jax.random.randint(key, shape, 0, jnp.array(env.action_sizes)))


def fresh_keys(seed: int) -> tuple[jax.Array, jax.Array]:
    """Two keys, for levels and for actions, that no run of training uses: its seed is split otherwise."""
    return _fresh_keys(np.uint32(seed % 2**32))


@jax.jit
def _fresh_keys(seed: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The same, compiled as one program."""
    levels_key, actions_key = jax.random.split(jax.random.fold_in(jax.random.key(seed), _FRESH))
    return levels_key, actions_key


def draw_level(env: Environment[Any], *, seed: int, level: int = 0) -> Pool[Any]:
    """One of the fresh levels of a seed, as a pool of one; `afk watch` and `afk play` show the first."""
    # In one of few numbers, and cut on the host: a program is compiled for every shape.
    count = -(-(level + 1) // _TOGETHER) * _TOGETHER
    states = jax.device_get(env.draw_many(fresh_keys(seed)[0], count))
    one = jax.tree.map(lambda leaf: jax.device_put(leaf[level : level + 1]), states)
    return pool_of(shared_program(env), one)


POLICIES: dict[str, Policy] = {"expert": expert, "random": random}


def play(env: Environment[Any], policy: Policy, *, episodes: int, seed: int) -> Iterable[Episodes]:
    """Play fresh levels, some hundred at a time."""
    check_episodes(episodes)
    levels_key, policy_key = fresh_keys(seed)
    states = jax.device_get(env.draw_many(levels_key, episodes))
    world = shared_program(env)
    for number, start in enumerate(range(0, episodes, CHUNK)):
        chunk = jax.tree.map(lambda leaf, start=start: leaf[start : start + CHUNK], states)
        actions = policy(env, chunk, jax.random.fold_in(policy_key, number))
        yield Episodes(*jax.device_get(_play_actions(world, chunk, jnp.asarray(actions))))


def check_episodes(episodes: int) -> None:
    """A ValueError if there are none, or more than their levels would fit into memory."""
    if not 1 <= episodes <= MOST:
        raise ValueError(f"from 1 to {MOST:,} episodes are played, not {episodes:,}")


@partial(jax.jit, static_argnums=0)
def _play_actions(env: Environment[Any], states: Any, actions: jax.Array) -> Episodes:
    """Play (episodes, steps, components) actions until each episode is over."""

    def step(
        carry: tuple[Any, Episodes, jax.Array], action: jax.Array
    ) -> tuple[tuple[Any, Episodes, jax.Array], None]:
        states, ended, over = carry
        states, time_step = jax.vmap(env.step)(states, action)
        return (states, _follow(ended, over, time_step), over | time_step.done), None

    carry = (states, _nothing(len(actions), deals=bool(env.sources)), jnp.zeros(len(actions), bool))
    return jax.lax.scan(step, carry, actions.swapaxes(0, 1))[0][1]


def _nothing(count: int, *, deals: bool) -> Episodes:
    """So many episodes before their first step, with sources that have traits or not."""
    zeros = jnp.zeros(count, jnp.int32)
    paid = zeros.astype(jnp.float32)
    dealings = DealingStats(paid, zeros, zeros, zeros, zeros) if deals else None
    return Episodes(zeros.astype(bool), zeros, paid, zeros, zeros, zeros, dealings)


def _follow(episodes: Episodes, over: jax.Array, time_step: TimeStep) -> Episodes:
    """What (episodes,) episodes amount to after one more step; those that are over stay as they are."""
    stats, reward = time_step.stats, episodes.reward + time_step.reward
    counts = time_step.success, stats.steps, reward, stats.queries, stats.good, stats.wanted
    now = Episodes(*counts, time_step.dealings)
    return jax.tree.map(lambda old, new: jnp.where(over, old, new), episodes, now)


def play_agent(play: Play, agent: Agent, *, episodes: int, seed: int) -> Iterable[Episodes]:
    """A trained agent on fresh levels, its actions drawn from its policy; some hundred levels at a time."""
    levels_key, play_key = fresh_keys(seed)
    levels = draw_pool(play.env, levels_key, episodes)
    for played in play_in_chunks(play, stack([agent]), stack([levels]), stack([play_key])):
        yield jax.tree.map(lambda field: field[0], played)


def play_in_chunks(play: Play, agents: Agent, pools: Pool[Any], keys: jax.Array) -> Iterable[Episodes]:
    """As `play_agents`, some hundred levels of each pool at a time."""
    levels = jax.device_get(pools)  # cut on the host: on a device, each shape of a part takes a program
    for number, start in enumerate(range(0, len(levels.states.step[0]), CHUNK)):
        part = jax.tree.map(lambda leaf, start=start: leaf[:, start : start + CHUNK], levels)
        yield play_agents(play, agents, part, _chunk_keys(keys, np.int32(number)))


@jax.jit
def _chunk_keys(keys: jax.Array, number: jax.Array) -> jax.Array:
    """The key of each agent for the levels of a number."""
    return jax.vmap(jax.random.fold_in, (0, None))(keys, number)


def play_agents(play: Play, agents: Agent, pools: Pool[Any], keys: jax.Array) -> Episodes:
    """Several agents side by side, each in one episode of each level of its pool: fields (agents, levels).

    A ValueError if a network gives no numbers, as it does when there are more distinct notes than it allows,
    or where training broke down.
    """
    episodes, sound = jax.device_get(_play_agents(play, agents, pools, keys))
    if not sound.all():
        distinct = agents.size.distinct_notes
        hint = f" (more distinct notes than size.distinct_notes, {distinct}?)" if distinct else ""
        raise ValueError(f"the network gives no numbers{hint}")
    return Episodes(*episodes)


def compile_play(play: Play, agents: Agent, pools: Pool[Any], keys: jax.Array) -> None:
    """Compile what `play_agents` would, for the cache of compiled programs; nothing is played."""
    program = _play_agents.lower(play, agents, pools, keys)  # pyright: ignore[reportFunctionMemberAccess]
    program.compile()


@eqx.filter_jit
def _play_agents(play: Play, agents: Agent, pools: Pool[Any], keys: jax.Array) -> tuple[Episodes, jax.Array]:
    """The same on the device, and whether each agent's values were numbers."""
    arrays, static = eqx.partition(agents, eqx.is_array)

    def play_one(arrays: Any, pool: Pool[Any], key: jax.Array) -> tuple[Episodes, jax.Array]:
        agent = eqx.combine(arrays, static)

        def step(carry: _Carry) -> _Carry:
            actors, ended, over, sound, key = carry
            key, act_key = jax.random.split(key)
            thinking = partial(decide_for, wanted=~over)
            actors, time_step, experience, _ = act(play, agent, levels, actors, act_key, deciding=thinking)
            sound &= jnp.isfinite(experience.value).all()
            return actors, _follow(ended, over, time_step), over | time_step.done, sound, key

        levels = begin_levels(play, pool)
        actors = spread(start_actors(agent, levels, pool.size))
        carry = (
            actors,
            _nothing(pool.size, deals=bool(play.env.sources)),
            jnp.zeros(pool.size, bool),
            jnp.bool_(True),
            key,
        )
        _, ended, _, sound, _ = jax.lax.while_loop(lambda carry: ~carry[2].all(), step, carry)
        return ended, sound

    return side_by_side(play_one, arrays, pools, keys)


def summarise_by_task(episodes: Episodes, tasks: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The paper's measures for each task of a mixture, whose levels come in turn."""
    shares: dict[str, list[Episodes]] = {task: [] for task in tasks}
    for index, task in enumerate(tasks):
        shares[task].append(jax.tree.map(lambda field, index=index: field[index :: len(tasks)], episodes))
    return {task: summarise(played) for task, played in shares.items()}


def summarise(chunks: Iterable[Episodes]) -> dict[str, Any]:
    """The paper's measures, each the mean over episodes; success with its 95% (Wilson) interval.

    Where sources have traits, there is more: see `summarise_dealings`.
    """
    episodes = jax.tree.map(lambda *fields: np.concatenate(fields), *chunks)
    precision, recall, f1 = query_quality(episodes.good, episodes.queries, episodes.wanted)
    return {
        "episodes": len(episodes.success),
        "success": float(episodes.success.mean()),
        "success_interval": list(wilson_interval(int(episodes.success.sum()), len(episodes.success))),
        "episode_length": float(episodes.length.mean()),
        "reward": float(episodes.reward.mean()),
        "queries": float(episodes.queries.mean()),
        "good_queries": float(episodes.wanted.mean()),
        "precision": float(precision.mean()),
        "recall": float(recall.mean()),
        "f1": float(f1.mean()),
        **summarise_dealings(episodes),
    }


def summarise_dealings(episodes: Episodes) -> dict[str, float]:
    """What questions cost and came to, means over episodes; nothing where there is the paper's oracle alone.

    The pooled F1 is that of all questions of all episodes together; the step of the first question is the
    mean over episodes that asked.
    """
    dealings = episodes.dealings
    if dealings is None:
        return {}
    counts = (float(field.sum()) for field in (episodes.good, episodes.queries, episodes.wanted))
    first = dealings.first_question[dealings.first_question > 0]
    return {
        "pooled_f1": float(query_quality(*counts)[2]),
        "cost": float(dealings.paid.mean()),
        "net_return": float((episodes.reward - dealings.paid).mean()),
        "refusals": float(dealings.refusals.mean()),
        "false_answers": float(dealings.lies.mean()),
        "acted_on_false": float(dealings.acted_on.mean()),
        "first_question": float(first.mean()) if len(first) else 0.0,
    }


def wilson_interval(successes: int, trials: int) -> tuple[float, float]:
    """The 95% interval of a success rate; unlike the normal one it is sensible at 0% and 100%."""
    rate = successes / trials
    middle = rate + _Z**2 / (2 * trials)
    margin = _Z * math.sqrt(rate * (1 - rate) / trials + _Z**2 / (4 * trials**2))
    scale = 1 + _Z**2 / trials
    low = (middle - margin) / scale if successes else 0.0
    high = (middle + margin) / scale if successes < trials else 1.0
    return low, high
