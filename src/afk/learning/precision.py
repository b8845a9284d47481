"""Mixed precision: parameters stay in float32, and the network may compute in bfloat16."""

from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp

AgentT = TypeVar("AgentT")


def in_compute_precision(
    agent: AgentT, half_precision: bool, *, keep: Callable[[AgentT], Any] | None = None
) -> AgentT:
    """The network as it computes.

    Args:
        agent: in float32.
        half_precision: whether it computes in bfloat16.
        keep: the part that stays in float32, if any.
    """
    if not half_precision:
        return agent
    half = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16) if eqx.is_inexact_array(leaf) else leaf, agent)
    return half if keep is None else eqx.tree_at(keep, half, keep(agent))
