"""Experience cut into sequences that gradients flow back through."""

from typing import NamedTuple

import jax

from afk.learning.rollout import Experience


class Sequences(NamedTuple):
    """Pieces of experience to learn from; leading axes are (pieces, bptt) except for `memory`."""

    experience: Experience
    memory: jax.Array
    advantage: jax.Array
    target: jax.Array


def cut_sequences(experience: Experience, memories: jax.Array, advantage: jax.Array, bptt: int) -> Sequences:
    """Cut (steps, n) experience into (pieces, bptt) sequences."""

    def cut(leaf: jax.Array) -> jax.Array:
        steps, count = leaf.shape[:2]
        split = leaf.reshape(steps // bptt, bptt, count, *leaf.shape[2:])
        return split.swapaxes(1, 2).reshape(-1, bptt, *leaf.shape[2:])

    return Sequences(
        experience=jax.tree.map(cut, experience),
        memory=memories.reshape(-1, *memories.shape[2:]),
        advantage=cut(advantage),
        target=cut(advantage + experience.value),
    )
