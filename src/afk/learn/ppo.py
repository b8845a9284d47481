"""Proximal policy optimisation for recurrent agents that ask (paper, appendix C.1)."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from afk.agents.agent import Agent
from afk.agents.reading import Reading
from afk.checks import check_counts, check_shares
from afk.language import PAD
from afk.learn.parallel import spread
from afk.learn.rollout import Actors, Course, Episodes, Experience, Play, collect, decide, glance_at


@dataclass(frozen=True)
class Settings:
    """Settings of PPO; the defaults are the paper's.

    Attributes:
        environments: episodes played at once.
        steps: steps of each between two updates.
        bptt: steps that gradients flow back through the LSTM.
        minibatches: batches that an epoch is split into.
        epochs: how often each step is learned from.
        learning_rate: of Adam.
        discount: gamma.
        trace: lambda of generalised advantage estimation.
        clip: how far the probability ratio may leave 1.
        clip_value: whether V, too, may only move as far in an update.
        advantage_floor: advantages are divided by their standard deviation, but never by less than this.
        value_weight: weight of the value loss.
        entropy_weight: weight of the entropy of the heads.
        switch_entropy_weight: weight of the entropy of the switch.
        entropy_pays_for_asking: whether the entropy of the heads is a reason to use the richer ones.
        gradient_norm: where the gradient's norm is cut off.
        bonus: beta, what an answer is worth that grows A_0.
        bonus_until: the part of training after which the bonus falls to zero linearly; 1 keeps it.
        lend_bonus: whether the bonus is only lent, see `bonuses`.
        settle_after: the part of training after which the learning rate and the weights of entropy do.
        reward_scale: what rewards and bonus are multiplied by.
        half_precision: whether the network computes in bfloat16; parameters stay in float32.
    """

    environments: int = 64
    steps: int = 40
    bptt: int = 20
    minibatches: int = 2
    epochs: int = 4
    learning_rate: float = 1e-4
    discount: float = 0.99
    trace: float = 0.95
    clip: float = 0.2
    clip_value: bool = True
    advantage_floor: float = 0.0
    value_weight: float = 0.5
    entropy_weight: float = 0.01
    switch_entropy_weight: float = 0.01
    entropy_pays_for_asking: bool = False
    gradient_norm: float = 0.5
    bonus: float = 0.1
    bonus_until: float = 1.0
    lend_bonus: bool = False
    settle_after: float = 1.0
    reward_scale: float = 1.0
    half_precision: bool = False

    def __post_init__(self) -> None:
        check_counts(self, "environments", "steps", "bptt", "minibatches", "epochs")
        for name, value in vars(self).items():
            if isinstance(value, float) and not 0 <= value < math.inf:
                raise ValueError(f"{name} is a number from 0 on, not {value}")
        check_shares(self, "bonus_until", "settle_after")
        if self.steps % self.bptt:
            raise ValueError(f"steps ({self.steps}) must be a multiple of bptt ({self.bptt})")
        sequences = self.environments * (self.steps // self.bptt)
        if sequences % self.minibatches:
            raise ValueError(f"{sequences} sequences cannot be split into {self.minibatches} minibatches")

    @property
    def steps_per_update(self) -> int:
        """Environment steps between two updates."""
        return self.environments * self.steps


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


class Pace(NamedTuple):
    """What changes as training goes on, () float32 each.

    Attributes:
        bonus: beta at this time.
        learning_rate: of Adam.
        entropy_weight: weight of the entropy of the heads; none in DQN.
        switch_entropy_weight: weight of the entropy of the switch; none in DQN.
    """

    bonus: jax.Array
    learning_rate: jax.Array
    entropy_weight: jax.Array
    switch_entropy_weight: jax.Array


class Losses(NamedTuple):
    """What an update minimised, () float32 each; `skipped` is the share of minibatches that had no finite gradient."""

    policy: jax.Array
    value: jax.Array
    entropy: jax.Array
    switch_entropy: jax.Array
    clipped: jax.Array
    ratio_error: jax.Array
    skipped: jax.Array


class Sequences(NamedTuple):
    """Pieces of experience to learn from; leading axes are (pieces, bptt) except for `memory`."""

    experience: Experience
    memory: jax.Array
    advantage: jax.Array
    target: jax.Array


def optimiser(settings: Settings) -> optax.GradientTransformation:
    """Adam behind a cut-off of the gradient's global norm; steps are not scaled by the learning rate yet."""
    return optax.chain(optax.clip_by_global_norm(settings.gradient_norm), optax.scale_by_adam(eps=1e-5))


def update(
    play: Play, settings: Settings, learner: Learner, course: Course, pace: Pace
) -> tuple[Learner, Episodes, Losses]:
    """Collect experience and learn from it."""
    key, collect_key, learn_key = jax.random.split(learner.key, 3)
    agent = in_compute_precision(learner.agent, settings)

    def piece(actors: Actors, key: jax.Array) -> tuple[Actors, tuple[jax.Array, Experience, Episodes]]:
        before = actors.memory
        actors, experience, ended = collect(play, agent, course, actors, key, steps=settings.bptt)
        return actors, (before, experience, ended)

    piece_keys = jax.random.split(collect_key, settings.steps // settings.bptt)
    actors, (memories, experience, ended) = jax.lax.scan(piece, learner.actors, piece_keys)
    experience = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), experience)
    last = glance_at(play, agent, actors)
    bonus = pace.bonus * bonuses(experience, last.reading, settings)
    rewards = settings.reward_scale * (experience.reward + bonus)
    advantage = advantages(experience, rewards, decide(agent, last)[1].value, settings)
    sequences = _cut(experience, memories, advantage, settings)
    agent, state, losses = _learn(learner.agent, learner.optimiser, sequences, settings, pace, learn_key)
    learner = Learner(agent, state, spread(actors), key, learner.updates + 1)
    return learner, jax.tree.map(lambda leaf: leaf.sum(0), ended), losses


def bonuses(experience: Experience, last: Reading, settings: Settings) -> jax.Array:
    """What answers are worth at each step, (steps, n), in units of beta.

    As published, 1 where A_0 grew. What is lent is the change of a potential, the number of notes that are
    read: the agent is paid for a note when it is written, and loses as much in the end. Nothing can be gained
    by asking more than it takes, and what is best without a bonus is best with it (Ng et al., 1999).

    Args:
        experience: the steps.
        last: what is read after the last of them.
        settings: whether it is lent, and the discount.
    """
    if not settings.lend_bonus:
        return experience.grew.astype(jnp.float32)
    held, held_last = ((each.notes[..., 0] != PAD).sum(-1) for each in (experience.reading, last))
    after = jnp.concatenate([held[1:], held_last[None]])
    after = jnp.where(experience.truncated, held + experience.grew, after)
    return settings.discount * jnp.where(experience.terminated, 0, after) - held


def advantages(
    experience: Experience, rewards: jax.Array, last_value: jax.Array, settings: Settings
) -> jax.Array:
    """Generalised advantage estimates, (steps, n).

    Real endings are worth nothing further; where the steps ran out, V of the last observation is.
    """
    following = jnp.concatenate([experience.value[1:], last_value[None]])
    done = experience.terminated | experience.truncated
    following = jnp.where(done, experience.final_value, following)
    surprise = rewards + settings.discount * following - experience.value

    def back(later: jax.Array, step: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        surprise, done = step
        advantage = surprise + settings.discount * settings.trace * jnp.where(done, 0, later)
        return advantage, advantage

    return jax.lax.scan(back, jnp.zeros_like(last_value), (surprise, done), reverse=True)[1]


def in_compute_precision(agent: Agent, settings: Settings) -> Agent:
    """The network as it computes."""
    if not settings.half_precision:
        return agent
    return jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16) if eqx.is_inexact_array(leaf) else leaf, agent)


def _cut(experience: Experience, memories: jax.Array, advantage: jax.Array, settings: Settings) -> Sequences:
    """Cut (steps, n) experience into (pieces, bptt) sequences."""

    def cut(leaf: jax.Array) -> jax.Array:
        steps, count = leaf.shape[:2]
        split = leaf.reshape(steps // settings.bptt, settings.bptt, count, *leaf.shape[2:])
        return split.swapaxes(1, 2).reshape(-1, settings.bptt, *leaf.shape[2:])

    return Sequences(
        experience=jax.tree.map(cut, experience),
        memory=memories.reshape(-1, *memories.shape[2:]),
        advantage=cut(advantage),
        target=cut(advantage + experience.value),
    )


def _learn(
    agent: Agent,
    state: optax.OptState,
    sequences: Sequences,
    settings: Settings,
    pace: Pace,
    key: jax.Array,
) -> tuple[Agent, optax.OptState, Losses]:
    """Some epochs over the sequences in random minibatches; losses are means, but the first ratio error."""
    params, static = eqx.partition(agent, eqx.is_inexact_array)

    def minibatch(
        carry: tuple[Any, optax.OptState], index: jax.Array
    ) -> tuple[tuple[Any, optax.OptState], Losses]:
        params, state = carry
        chosen = spread(jax.tree.map(lambda leaf: leaf[index], sequences))
        of_params = jax.grad(
            lambda each: loss(eqx.combine(each, static), chosen, settings, pace), has_aux=True
        )
        gradients, losses = of_params(params)
        # One minibatch without a finite gradient must not cost the run: it is left out, and counted.
        is_finite = jnp.isfinite(optax.global_norm(gradients))
        changes, following = optimiser(settings).update(gradients, state)
        changes = jax.tree.map(lambda each: -pace.learning_rate * each, changes)
        improved = optax.apply_updates(params, changes), following
        kept = jax.tree.map(lambda new, old: jnp.where(is_finite, new, old), improved, (params, state))
        return kept, losses._replace(skipped=1.0 - is_finite)

    count = len(sequences.memory)
    orders = jax.vmap(lambda each: jax.random.permutation(each, count))(
        jax.random.split(key, settings.epochs)
    )
    orders = orders.reshape(settings.epochs * settings.minibatches, -1)
    (params, state), losses = jax.lax.scan(minibatch, (params, state), orders)
    taken = losses.skipped == 0
    means = jax.tree.map(lambda leaf: leaf.mean(where=taken), losses)  # not a number if none was taken
    first_error = jnp.where(taken[0], losses.ratio_error[0], 0)
    means = means._replace(ratio_error=first_error, skipped=losses.skipped.mean())
    return eqx.combine(params, static), state, means


def loss(agent: Agent, sequences: Sequences, settings: Settings, pace: Pace) -> tuple[jax.Array, Losses]:
    """PPO's clipped loss on (pieces, bptt) sequences."""
    experience = jax.tree.map(lambda leaf: leaf.swapaxes(0, 1), sequences.experience)
    advantage, target = sequences.advantage.T, sequences.target.T
    agent = in_compute_precision(agent, settings)
    _, thoughts = agent(sequences.memory, experience.seen, experience.reading, experience.starts)
    judgement = agent.judge(thoughts, experience.action, pays_for_asking=settings.entropy_pays_for_asking)
    log_ratio = judgement.log_probability - experience.log_probability
    ratio = jnp.exp(log_ratio)
    # Before the first successes advantages are little but noise; blown up, it would drown the entropy term.
    deviation = jnp.maximum(advantage.std(), settings.advantage_floor)
    advantage = (advantage - advantage.mean()) / (deviation + 1e-8)
    clipped = jnp.clip(ratio, 1 - settings.clip, 1 + settings.clip)
    policy = -jnp.minimum(ratio * advantage, clipped * advantage).mean()
    error = (thoughts.value - target) ** 2
    if settings.clip_value:
        near = experience.value + jnp.clip(thoughts.value - experience.value, -settings.clip, settings.clip)
        error = jnp.maximum(error, (near - target) ** 2)
    value = 0.5 * error.mean()
    switch_entropy, entropy = judgement.switch_entropy.mean(), judgement.entropy.mean()
    total = (
        policy
        + settings.value_weight * value
        - pace.entropy_weight * entropy
        - pace.switch_entropy_weight * switch_entropy
    )
    outside = (jnp.abs(ratio - 1) > settings.clip).mean()
    furthest = jnp.abs(ratio - 1).max()
    return total, Losses(policy, value, entropy, switch_entropy, outside, furthest, jnp.float32(0))
