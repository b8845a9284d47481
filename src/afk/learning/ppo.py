"""Proximal policy optimisation for recurrent agents that ask (paper, appendix C.1)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from afk.agents.base import Agent
from afk.learning.advantages import advantages, bonuses
from afk.learning.algorithm import Algorithm
from afk.learning.devices import by_share, everywhere, spread
from afk.learning.ppo_settings import Settings
from afk.learning.precision import in_compute_precision
from afk.learning.rollout import (
    Actors,
    Episodes,
    Experience,
    Play,
    TrainingLevels,
    agent_inputs,
    collect,
    decide,
    start_actors,
)
from afk.learning.schedules import Schedules
from afk.learning.sequences import Sequences, cut_sequences
from afk.learning.vectors import as_vectors

# Far beyond any sound update: what is drawn in float32 had a probability of e^-20 at least, head by head.
# From e^88 on a ratio is infinite, and its gradient infinity times zero.
_LARGEST_LOG_RATIO = 20.0


class Learner(eqx.Module):
    """Everything that training carries from one update to the next.

    Attributes:
        agent: the network, in float32.
        optimiser: Adam's state.
        actors: episodes under way.
        key: what the next update draws from.
        updates: () int32, updates done.
    """

    agent: Agent
    optimiser: optax.OptState
    actors: Actors
    key: jax.Array
    updates: jax.Array


class Losses(NamedTuple):
    """What an update minimised, () float32 each.

    Attributes:
        policy: the clipped surrogate.
        value: half of the squared error of V.
        entropy: of the heads.
        switch_entropy: of the switch.
        clipped: the share of steps whose probability ratio left the clip range.
        ratio_error: how far the ratio of the first minibatch is from 1, which it is but for rounding.
        skipped: the share of minibatches that had no finite gradient.
    """

    policy: jax.Array
    value: jax.Array
    entropy: jax.Array
    switch_entropy: jax.Array
    clipped: jax.Array
    ratio_error: jax.Array
    skipped: jax.Array


def optimiser(settings: Settings) -> optax.GradientTransformation:
    """Adam behind a cut-off of the gradient's global norm; steps are not scaled by the learning rate yet."""
    return optax.chain(optax.clip_by_global_norm(settings.max_grad_norm), optax.scale_by_adam(eps=1e-5))


def init(play: Play, settings: Settings, agent: Agent, levels: TrainingLevels, key: jax.Array) -> Learner:
    """Where training starts."""
    actors = start_actors(agent, levels, settings.environments)
    state = optimiser(settings).init(eqx.filter(agent, eqx.is_inexact_array))
    return Learner(agent, state, actors, key, jnp.int32(0))


def update(
    play: Play, settings: Settings, learner: Learner, levels: TrainingLevels, schedules: Schedules
) -> tuple[Learner, Episodes, Losses]:
    """Collect experience and learn from it."""
    key, collect_key, learn_key = jax.random.split(learner.key, 3)
    actors, sequences, ended = gather(play, settings, learner, levels, schedules, collect_key)
    params, static = eqx.partition(learner.agent, eqx.is_inexact_array)
    minibatches = draw_minibatches(settings, learn_key)
    params, state, losses = learn(
        settings, static, params, learner.optimiser, sequences, schedules, minibatches
    )
    # A memory that is not finite would keep its episode's steps out of every minibatch: it is forgotten.
    actors = replace(actors, memory=jnp.nan_to_num(actors.memory, posinf=0.0, neginf=0.0))
    agent = eqx.combine(params, static)
    return Learner(agent, state, spread(actors), key, learner.updates + 1), ended, losses


def gather(
    play: Play,
    settings: Settings,
    learner: Learner,
    levels: TrainingLevels,
    schedules: Schedules,
    key: jax.Array,
) -> tuple[Actors, Sequences, Episodes]:
    """The experience of an update, in sequences with advantages, and what ended in it."""
    agent = in_compute_precision(learner.agent, settings.half_precision)

    def piece(actors: Actors, key: jax.Array) -> tuple[Actors, tuple[jax.Array, Experience, Episodes]]:
        before = actors.memory
        actors, experience, ended = collect(play, agent, levels, actors, key, steps=settings.bptt)
        return actors, (before, experience, ended)

    piece_keys = jax.random.split(key, settings.rollout_steps // settings.bptt)
    actors, (memories, experience, ended) = jax.lax.scan(piece, learner.actors, piece_keys)
    experience = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), experience)
    last = agent_inputs(play, agent, actors)
    bonus = schedules.bonus * bonuses(experience, last.reading, settings)
    cost = 0.0 if experience.cost is None else schedules.price * experience.cost
    rewards = settings.reward_scale * (experience.reward + bonus - cost)
    advantage = advantages(experience, rewards, decide(agent, last)[1].value, settings)
    sequences = cut_sequences(experience, memories, advantage, settings.bptt)
    return actors, sequences, jax.tree.map(lambda leaf: leaf.sum(0), ended)


def draw_minibatches(settings: Settings, key: jax.Array) -> jax.Array:
    """Which sequences are in each minibatch of all epochs: (epochs * minibatches, sequences) int32."""
    keys = jax.random.split(key, settings.epochs)
    orders = jax.vmap(lambda each: jax.random.permutation(each, settings.sequences))(keys)
    return orders.reshape(settings.epochs * settings.minibatches, -1)


def learn(
    settings: Settings,
    static: Any,
    params: Any,
    state: optax.OptState,
    sequences: Sequences,
    schedules: Schedules,
    minibatches: jax.Array,
) -> tuple[Any, optax.OptState, Losses]:
    """Some epochs over the sequences in random minibatches; losses are means, but the first ratio error."""
    (vector, restore), (flat, restore_state) = as_vectors(params, state)
    # Several devices exchange experience once: whatever is drawn of it, each then finds its share at home.
    sequences = everywhere(sequences)

    def build(vector: jax.Array) -> Agent:
        return eqx.combine(restore(vector), static)

    def step(
        carry: tuple[jax.Array, optax.OptState], index: jax.Array
    ) -> tuple[tuple[jax.Array, optax.OptState], Losses]:
        chosen = jax.tree.map(lambda leaf: leaf[index], sequences)
        vector, flat, losses, _ = learn_from(*carry, build, chosen, settings, schedules)
        return (vector, flat), losses

    (vector, flat), losses = jax.lax.scan(step, (vector, flat), minibatches)
    taken = losses.skipped == 0
    means = jax.tree.map(lambda leaf: leaf.mean(where=taken), losses)  # not a number if none was taken
    first_error = jnp.where(taken[0], losses.ratio_error[0], 0)
    means = means._replace(ratio_error=first_error, skipped=losses.skipped.mean())
    return restore(vector), restore_state(flat), means


def learn_from(
    params: Any,
    state: optax.OptState,
    build: Callable[[Any], Agent],
    chosen: Sequences,
    settings: Settings,
    schedules: Schedules,
) -> tuple[Any, optax.OptState, Losses, Any]:
    """One step of gradient descent on the sequences of a minibatch; the gradient comes along.

    Parameters, the optimiser's state and the gradient have any form of which an agent can be built.
    """

    def differentiate(whole: tuple[Any, Schedules], rows: Sequences) -> tuple[Any, Losses]:
        params, schedules = whole
        of_params = jax.grad(lambda each: loss(build(each), rows, settings, schedules), has_aux=True)
        return jax.tree.map(lambda leaf: leaf[None], of_params(params))

    gradients, losses = by_share(differentiate, (params, schedules), normalise(chosen, settings))
    furthest = losses.ratio_error.max()
    gradients, losses = jax.tree.map(lambda leaf: leaf.mean(0), (gradients, losses))
    losses = losses._replace(ratio_error=furthest)
    # One minibatch without a finite gradient must not cost the run: it is left out, and counted.
    is_finite = jnp.isfinite(optax.global_norm(gradients))
    changes, following = optimiser(settings).update(gradients, state)
    changes = jax.tree.map(lambda each: -schedules.learning_rate * each, changes)
    improved = optax.apply_updates(params, changes), following
    params, state = jax.tree.map(lambda new, old: jnp.where(is_finite, new, old), improved, (params, state))
    return params, state, losses._replace(skipped=1.0 - is_finite), gradients


def normalise(sequences: Sequences, settings: Settings) -> Sequences:
    """The sequences of a minibatch with advantages as PPO is paid for them."""
    if not settings.normalise_advantages:
        return sequences
    advantage = everywhere(sequences.advantage)
    # Before the first successes advantages are little but noise; blown up, it would drown the entropy.
    deviation = jnp.maximum(advantage.std(), settings.advantage_floor)
    return sequences._replace(advantage=(advantage - advantage.mean()) / (deviation + 1e-8))


def loss(
    agent: Agent, sequences: Sequences, settings: Settings, schedules: Schedules
) -> tuple[jax.Array, Losses]:
    """PPO's clipped loss on (pieces, bptt) sequences with advantages as `normalise` gives them."""
    experience = jax.tree.map(lambda leaf: leaf.swapaxes(0, 1), sequences.experience)
    advantage, target = sequences.advantage.T, sequences.target.T
    agent = in_compute_precision(agent, settings.half_precision)
    _, output = agent(sequences.memory, experience.seen, experience.reading, experience.starts)
    evaluation = agent.evaluate_actions(
        output, experience.action, pays_for_asking=settings.entropy_pays_for_asking
    )
    log_ratio = evaluation.log_probability - experience.log_probability
    ratio = jnp.exp(jnp.minimum(log_ratio, _LARGEST_LOG_RATIO))
    clipped = jnp.clip(ratio, 1 - settings.clip, 1 + settings.clip)
    policy = -jnp.minimum(ratio * advantage, clipped * advantage).mean()
    error = (output.value - target) ** 2
    if settings.clip_value:
        near = experience.value + jnp.clip(output.value - experience.value, -settings.clip, settings.clip)
        error = jnp.maximum(error, (near - target) ** 2)
    value = 0.5 * error.mean()
    switch_entropy, entropy = evaluation.switch_entropy.mean(), evaluation.entropy.mean()
    total = (
        policy
        + settings.value_coef * value
        - schedules.entropy_coef * entropy
        - schedules.switch_entropy_coef * switch_entropy
    )
    outside = (jnp.abs(ratio - 1) > settings.clip).mean()
    furthest = jnp.abs(ratio - 1).max()
    return total, Losses(policy, value, entropy, switch_entropy, outside, furthest, jnp.float32(0))


def _rollout(
    play: Play, settings: Settings, agent: Agent, levels: TrainingLevels, actors: Actors, key: jax.Array
) -> Any:
    """As many steps as an update plays."""
    agent = in_compute_precision(agent, settings.half_precision)
    return collect(play, agent, levels, actors, key, steps=settings.rollout_steps)[:2]


def _check(settings: Settings, task: Any) -> None:
    """No episode may be cut off twice within an unroll."""
    if task.max_steps < settings.bptt:
        raise ValueError(f"episodes of {task.name} are shorter than bptt ({settings.bptt})")


PPO = Algorithm(
    name="ppo",
    settings=Settings,
    init=init,
    update=update,
    rollout=_rollout,
    # A gradient is three passes, and every step is played once.
    cost=lambda settings: ({"epochs": settings.epochs}, 1 + 3 * settings.epochs),
    check=_check,
    rows=lambda settings: {
        "environments": settings.environments,
        "sequences of a minibatch": settings.sequences // settings.minibatches,
    },
)
