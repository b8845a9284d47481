"""Schedules: what is annealed as training goes on."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

_PRICE_RAMP = 0.2  # the part of training in which prices rise


class Schedules(NamedTuple):
    """The values at one time, () float32 each.

    Attributes:
        bonus: beta.
        learning_rate: of Adam.
        entropy_coef: weight of the entropy of the heads; 0 in algorithms without it.
        switch_entropy_coef: weight of the entropy of the switch; likewise.
        price: the part of their price that questions cost.
    """

    bonus: jax.Array
    learning_rate: jax.Array
    entropy_coef: jax.Array
    switch_entropy_coef: jax.Array
    price: jax.Array


def schedules_at(settings: Any, progress: float, *, pays_bonus: bool) -> Schedules:
    """The values after a part of training, from 0 to 1.

    The bonus is annealed to zero from `bonus_until` on, learning rate and entropies from `anneal_after` on.
    Questions are free until `price_after`; their prices then rise to what they are over a fifth of training.

    Args:
        settings: of the algorithm.
        progress: the part of training that is over.
        pays_bonus: whether the agent gets a bonus at all.
    """

    def share(until: float) -> float:
        """1 until a part of training is over, then linearly less, 0 in the end."""
        past = (progress - until) / max(1e-9, 1 - until)
        return 1 - min(1.0, max(0.0, past))

    bonus = settings.bonus * share(settings.bonus_until) if pays_bonus else 0.0
    annealed = [
        getattr(settings, name, 0.0) * share(settings.anneal_after)
        for name in ("learning_rate", "entropy_coef", "switch_entropy_coef")
    ]
    free = getattr(settings, "price_after", 0.0)
    price = min(1.0, max(0.0, (progress - free) / _PRICE_RAMP)) if free else 1.0
    return Schedules(*map(jnp.float32, (bonus, *annealed, price)))
