"""What steps were worth: the episodic bonus (paper, section 3.3), and generalised advantage estimates."""

from typing import Protocol

import jax
import jax.numpy as jnp

from afk.agents.reading import Reading
from afk.language import PAD
from afk.learning.rollout import Experience


class AdvantageSettings(Protocol):
    """The settings that advantages depend on; see `afk.learning.ppo.Settings`."""

    @property
    def discount(self) -> float:
        """Gamma."""
        ...

    @property
    def gae_lambda(self) -> float:
        """Lambda."""
        ...

    @property
    def bootstrap_time_limit(self) -> bool:
        """Whether V counts where an episode ran out of steps."""
        ...

    @property
    def potential_based_bonus(self) -> bool:
        """Whether the bonus is potential-based shaping."""
        ...


def bonuses(experience: Experience, last: Reading, settings: AdvantageSettings) -> jax.Array:
    """What answers are worth at each step, (steps, n), in units of beta.

    As published, 1 where A_0 grew. As potential-based shaping (Ng et al., 1999), the change of a potential,
    the number of notes that are read: the agent is paid for a note when it is written, and loses as much in
    the end. Nothing can be gained by asking more than it takes, and the best policy stays the best.

    Args:
        experience: the steps.
        last: what is read after the last of them.
        settings: whether it is potential-based, and the discount.
    """
    if not settings.potential_based_bonus:
        return experience.grew.astype(jnp.float32)
    held, held_last = ((each.notes[..., 0] != PAD).sum(-1) for each in (experience.reading, last))
    after = jnp.concatenate([held[1:], held_last[None]])
    after = jnp.where(experience.truncated, held + experience.grew, after)
    return settings.discount * jnp.where(experience.terminated, 0, after) - held


def advantages(
    experience: Experience, rewards: jax.Array, last_value: jax.Array, settings: AdvantageSettings
) -> jax.Array:
    """Generalised advantage estimates, (steps, n).

    Real endings are worth nothing further; where the steps ran out, V of the last observation is, unless
    `bootstrap_time_limit` says otherwise.
    """
    following = jnp.concatenate([experience.value[1:], last_value[None]])
    done = experience.terminated | experience.truncated
    final_value = experience.final_value if settings.bootstrap_time_limit else 0.0
    following = jnp.where(done, final_value, following)
    surprise = rewards + settings.discount * following - experience.value

    def back(later: jax.Array, step: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        surprise, done = step
        advantage = surprise + settings.discount * settings.gae_lambda * jnp.where(done, 0, later)
        return advantage, advantage

    return jax.lax.scan(back, jnp.zeros_like(last_value), (surprise, done), reverse=True)[1]
