"""Rows that nobody wants are not computed, and nothing else about a function changes."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from afk.agents.networks import ops
from afk.agents.networks.encoders import NoteEncoder, _encode_used
from afk.language import PAD

_ROWS = 3 * ops._SOME - 5


@pytest.mark.parametrize("share", [0.0, 0.2, 0.7, 1.0])
def test_rows_that_are_wanted_are_those_of_the_function(share: float) -> None:
    rows = np.random.default_rng(0).normal(size=(_ROWS, 4)).astype(np.float32)
    wanted = np.random.default_rng(1).uniform(size=_ROWS) < share

    def compute(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        return x + 1, x.sum(-1)

    found = jax.jit(partial(ops.for_wanted, compute))(wanted, rows)
    for few, every in zip(found, (rows + 1, rows.sum(-1)), strict=True):
        assert np.allclose(few[wanted], every[wanted])


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="other devices compute all rows at once")
def test_rows_that_nobody_wants_are_not_computed() -> None:
    counted: list[int] = []

    def count(x: jax.Array) -> jax.Array:
        jax.debug.callback(lambda: counted.append(len(x)))
        return x

    rows, wanted = jnp.zeros((_ROWS, 2)), jnp.arange(_ROWS) % 10 == 0
    jax.block_until_ready(jax.jit(partial(ops.for_wanted, count))(wanted, rows))
    jax.effects_barrier()
    assert counted == [ops._SOME]


def test_encodings_of_notes_and_their_gradients_do_not_depend_on_who_is_left_out() -> None:
    note = NoteEncoder(9, 8, key=jax.random.key(0))
    tokens = jax.random.randint(jax.random.key(1), (_ROWS, 5), 1, 9)
    tokens = jnp.where(jnp.arange(_ROWS)[:, None] % 4 == 0, tokens, PAD)

    def of(encode: object, each: NoteEncoder) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
        words, notes = encode(each, tokens)  # pyright: ignore[reportCallIssue]
        return (words**2).sum() + notes.sum(), (words, notes)

    (_, ours), gradient = jax.value_and_grad(partial(of, _encode_used), has_aux=True)(note)
    (_, plain), wanted = jax.value_and_grad(partial(of, NoteEncoder.__call__), has_aux=True)(note)
    for one, other in zip(jax.tree.leaves((ours, gradient)), jax.tree.leaves((plain, wanted)), strict=True):
        assert np.allclose(one, other, atol=1e-6)
    for one, other in zip(jax.jit(_encode_used)(note, tokens), plain, strict=True):
        assert np.allclose(one, other, atol=1e-6)
