"""Deep Q-learning with noisy nets, two rings of replay and multi-step returns (paper, appendix C.2)."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from afk.agents.networks.transformer import by_length
from afk.agents.text_reader import TextReader, best_value, value_of
from afk.checks import check_counts, check_shares, check_types
from afk.learning.algorithm import Algorithm
from afk.learning.collect_replay import play_into, shorten
from afk.learning.devices import by_share, shares, spread
from afk.learning.precision import in_compute_precision
from afk.learning.replay import Replay, Step, Transitions, check_capacity, draw, empty_replay
from afk.learning.rollout import (
    Actors,
    Episodes,
    Play,
    TrainingLevels,
    act,
    agent_inputs,
    start_actors,
)
from afk.learning.schedules import Schedules
from afk.learning.vectors import as_vectors


@dataclass(frozen=True)
class Settings:
    """Settings of DQN; the defaults are the paper's.

    Attributes:
        environments: episodes played at once.
        rollout_steps: steps of each between two updates.
        batch: transitions that a gradient is computed from.
        samples_per_step: how many transitions are learned from for each step that is played; how many
            gradients an update takes follows from it, so that more environments need not learn less.
        capacity: steps that the replay holds.
        multi_step: over how many steps a return reaches, at most.
        discount: gamma.
        learning_rate: of Adam.
        max_grad_norm: what the gradient's global norm is clipped to.
        target_every: episodes after which the target network is renewed.
        warm_up: episodes before the first update.
        noise: sigma_0, how strong the noise of the network is at first.
        bonus: beta, paid for an answer that grows A_0, the notes related to the instruction.
        bonus_until: the part of training after which the bonus falls to zero linearly; 1 keeps it.
        anneal_after: the part of training after which the learning rate does.
        half_precision: whether the network computes in bfloat16; parameters and values stay in float32.
    """

    environments: int = 20
    rollout_steps: int = 2
    batch: int = 64
    samples_per_step: float = 1.6
    capacity: int = 500_000
    multi_step: int = 3
    discount: float = 0.9
    learning_rate: float = 2.5e-4
    max_grad_norm: float = 5.0
    target_every: int = 1_000
    warm_up: int = 100
    noise: float = 0.5
    bonus: float = 0.1
    bonus_until: float = 1.0
    anneal_after: float = 1.0
    half_precision: bool = False

    def __post_init__(self) -> None:
        check_types(self)
        check_counts(self, "environments", "rollout_steps", "batch", "multi_step")
        check_counts(self, "capacity", most=100_000_000)
        check_counts(self, "target_every", most=2**31 - 1)
        check_counts(self, "warm_up", least=0, most=2**31 - 1)
        for name, value in vars(self).items():
            if value < 0:
                raise ValueError(f"{name} is a number from 0 on, not {value}")
        check_shares(self, "discount", "bonus_until", "anneal_after")
        learned = self.steps_per_update * self.samples_per_step
        if self.gradients < 1 or not math.isclose(learned, self.gradients * self.batch):
            raise ValueError(
                f"{self.environments} environments, {self.rollout_steps} steps and {self.samples_per_step} "
                f"samples a step make {learned:g} samples an update: that is no multiple of the batch "
                f"({self.batch})"
            )

    @property
    def steps_per_update(self) -> int:
        """Environment steps between two updates."""
        return self.environments * self.rollout_steps

    @property
    def gradients(self) -> int:
        """Gradients that an update takes, one after the other."""
        return round(self.steps_per_update * self.samples_per_step / self.batch)


class Learner(eqx.Module):
    """Everything that training carries from one update to the next.

    Attributes:
        agent: the network, in float32.
        target: the network that values what follows.
        optimiser: Adam's state.
        actors: episodes under way.
        replay: what was played.
        key: what the next update draws from.
        updates: () int32, updates done.
        episodes: () int32, episodes that ended.
    """

    agent: TextReader
    target: TextReader
    optimiser: optax.OptState
    actors: Actors
    replay: Replay
    key: jax.Array
    updates: jax.Array
    episodes: jax.Array


class Losses(NamedTuple):
    """What an update minimised, () float32 each.

    Attributes:
        error: Huber's loss of the temporal difference.
        value: Q of the actions in the batch.
    """

    error: jax.Array
    value: jax.Array


def optimiser(settings: Settings) -> optax.GradientTransformation:
    """Adam behind a cut-off of the gradient's global norm; steps are not scaled by the learning rate yet."""
    return optax.chain(optax.clip_by_global_norm(settings.max_grad_norm), optax.scale_by_adam())


def init(
    play: Play, settings: Settings, agent: TextReader, levels: TrainingLevels, key: jax.Array
) -> Learner:
    """Where training starts."""
    count = settings.environments
    # Episodes that nobody wins yet would all end at once, and the replay grow by thousands of steps then.
    actors = start_actors(agent, levels, count, stagger=play.env.max_steps)
    inputs = agent_inputs(play, agent, actors)
    step = Step(
        seen=inputs.seen,
        reading=shorten(inputs.reading, agent),
        action=jnp.zeros((count, len(play.env.action_sizes)), jnp.uint8),
        reward=jnp.zeros(count),
        grew=jnp.zeros(count, bool),
    )
    return Learner(
        agent=agent,
        target=agent,
        optimiser=optimiser(settings).init(eqx.filter(agent, eqx.is_inexact_array)),
        actors=actors,
        replay=empty_replay(step, capacity=settings.capacity, longest=play.env.max_steps),
        key=key,
        updates=jnp.int32(0),
        episodes=jnp.int32(0),
    )


def update(
    play: Play, settings: Settings, learner: Learner, levels: TrainingLevels, schedules: Schedules
) -> tuple[Learner, Episodes, Losses]:
    """Play some steps and learn from the replay."""
    key, play_key, learn_key = jax.random.split(learner.key, 3)
    agent = _compute(learner.agent, settings)
    keys = jax.random.split(play_key, settings.rollout_steps)
    actors, replay, ended = play_into(learner.replay, play, agent, levels, learner.actors, keys)
    episodes = learner.episodes + ended.count.astype(jnp.int32)
    trained, state, losses = _learn(learner, replay, settings, schedules, learn_key)
    is_warm = episodes >= settings.warm_up
    renews = episodes // settings.target_every > learner.episodes // settings.target_every
    agent, state = _choose(is_warm, (trained, state), (learner.agent, learner.optimiser))
    return (
        Learner(
            agent=agent,
            target=_choose(renews, agent, learner.target),
            optimiser=state,
            actors=spread(actors),
            replay=replay,
            key=key,
            updates=learner.updates + 1,
            episodes=episodes,
        ),
        ended,
        losses,
    )


def _compute(agent: TextReader, settings: Settings) -> TextReader:
    """The network as it computes; values differ by less than what bfloat16 can tell apart."""
    return in_compute_precision(agent, settings.half_precision, keep=lambda each: each.heads)


def _learn(
    learner: Learner, replay: Replay, settings: Settings, schedules: Schedules, key: jax.Array
) -> tuple[TextReader, optax.OptState, Losses]:
    """Some gradients, each from a batch of its own; losses are means."""
    params, static = eqx.partition(learner.agent, eqx.is_inexact_array)
    (vector, restore), (flat, restore_state) = as_vectors(params, learner.optimiser)
    target = _compute(learner.target, settings)
    silent = eqx.filter(target, eqx.is_array, inverse=True)

    def differentiate(whole: tuple[Any, ...], batch: Transitions) -> tuple[jax.Array, Losses]:
        vector, target, key, count = whole
        target = eqx.combine(target, silent)

        def learn(mostly_short: bool) -> tuple[jax.Array, Losses]:
            def of_vector(vector: jax.Array) -> tuple[jax.Array, Losses]:
                agent = eqx.combine(restore(vector), static)
                return loss(agent, target, batch, settings, key, mostly_short, count)

            return jax.grad(of_vector, has_aux=True)(vector)

        found = by_length(learn, batch.seen, batch.step.seen)
        return jax.tree.map(lambda leaf: leaf[None], found)

    def improve(
        carry: tuple[Any, optax.OptState], key: jax.Array
    ) -> tuple[tuple[Any, optax.OptState], Losses]:
        vector, flat = carry
        draw_key, loss_key = jax.random.split(key)
        batch = draw(
            replay,
            draw_key,
            count=settings.batch,
            multi_step=settings.multi_step,
            discount=settings.discount,
            bonus=schedules.bonus,
        )
        count = jnp.maximum(batch.exists.sum(), 1) / shares()
        whole = (vector, eqx.filter(target, eqx.is_array), loss_key, count)
        found = by_share(differentiate, whole, spread(batch))
        gradient, losses = jax.tree.map(lambda leaf: leaf.mean(0), found)
        change, flat = optimiser(settings).update(gradient, flat)
        change = jax.tree.map(lambda each: -schedules.learning_rate * each, change)
        return (optax.apply_updates(vector, change), flat), losses

    keys = jax.random.split(key, settings.gradients)
    (vector, flat), losses = jax.lax.scan(improve, (vector, flat), keys)
    trained = eqx.combine(restore(vector), static)
    return trained, restore_state(flat), jax.tree.map(lambda leaf: leaf.mean(), losses)


def loss(
    agent: TextReader,
    target: TextReader,
    batch: Transitions,
    settings: Settings,
    key: jax.Array,
    mostly_short: bool,
    count: jax.Array,
) -> tuple[jax.Array, Losses]:
    """Huber's loss of Q against the return and the target network's best value after it; see `by_length`.

    It is the sum over the transitions that exist by `count`, which is how many they are, or their share.
    """
    agent_key, target_key = jax.random.split(key)
    after = target.think(batch.seen, batch.reading, mostly_short)
    following = best_value(target.heads(after.h_x, target_key), after.sayable)
    wanted = batch.gain + jnp.where(batch.discount > 0, batch.discount * following, 0)
    agent = _compute(agent, settings)
    before = agent.think(batch.step.seen, batch.step.reading, mostly_short)
    value = value_of(agent.heads(before.h_x, agent_key), batch.step.action)
    error = optax.huber_loss(value, wanted).sum(where=batch.exists) / count
    return error, Losses(error, value.sum(where=batch.exists) / count)


def _choose(condition: jax.Array, yes: Any, no: Any) -> Any:
    """The arrays of one pytree or the other."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b) if eqx.is_array(a) else a, yes, no)


def _rollout(
    play: Play, settings: Settings, agent: TextReader, levels: TrainingLevels, actors: Actors, key: jax.Array
) -> Any:
    """As many steps as an update plays."""
    agent = _compute(agent, settings)

    def step(actors: Actors, key: jax.Array) -> tuple[Actors, Any]:
        actors, _, experience, _ = act(play, agent, levels, actors, key)
        return actors, experience

    return jax.lax.scan(step, actors, jax.random.split(key, settings.rollout_steps))


DQN = Algorithm(
    name="dqn",
    settings=Settings,
    init=init,
    update=update,
    rollout=_rollout,
    # A gradient, and a pass through the target network, for every sample.
    cost=lambda settings: (
        {"samples_per_step": settings.samples_per_step},
        1 + 4 * settings.samples_per_step,
    ),
    network=lambda variant: "q-values",
    worlds=("qtextworld",),
    check=lambda settings, task: check_capacity(settings.capacity, settings.environments, task.max_steps),
    pays=False,
    in_turn=True,
    rows=lambda settings: {"environments": settings.environments, "transitions of a batch": settings.batch},
)
