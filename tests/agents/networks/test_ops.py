"""Products that are cut into pieces: the same numbers as those of one product."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from afk.agents.networks.encoders import around_words
from afk.agents.networks.ops import add_pieces, add_products, add_rows, align, look_up, weigh_rows
from afk.training.presets import preset

KEY = jax.random.key(0)


@pytest.mark.parametrize("rows", [1, 7, 256, 1000, 4099])
def test_pieces_add_up_to_the_product(rows: int) -> None:
    left, right = (jax.random.normal(KEY, (rows, columns)) for columns in (5, 3))
    for product in (add_products, add_pieces):
        np.testing.assert_allclose(product(left, right), left.T @ right, rtol=1e-4, atol=1e-4)


def test_rows_are_added_up_in_full_precision_as_a_product_and_one_by_one() -> None:
    index, ones = jnp.zeros(10_000, jnp.int32), jnp.ones((10_000, 2), jnp.bfloat16)
    table = jnp.zeros((3, 2), jnp.bfloat16)
    looked = jax.grad(lambda table: look_up(index, table).astype(jnp.float32).sum())(table)
    for added in (add_rows(index, ones, rows=3), looked):
        assert added.dtype == jnp.bfloat16 and added.shape == (3, 2)
        np.testing.assert_allclose(added.astype(jnp.float32), [[1e4] * 2, [0] * 2, [0] * 2], rtol=0.01)


def test_rows_that_are_weighed_or_looked_up_have_the_gradients_of_products() -> None:
    table = jax.random.normal(KEY, (12, 4))
    index = jax.random.randint(KEY, (3, 50), 0, 12)
    one_hot = jax.nn.one_hot(index, 12)
    pull = jax.random.normal(jax.random.key(1), (3, 50, 4))
    wanted = jax.grad(lambda table: (pull * (one_hot @ table)).sum())(table)
    for product in (lambda table: weigh_rows(one_hot, table), lambda table: look_up(index, table)):
        np.testing.assert_allclose(product(table), table[index], rtol=1e-5)
        np.testing.assert_allclose(
            jax.grad(lambda table, product=product: (pull * product(table)).sum())(table), wanted, rtol=1e-4
        )
        pulls = jnp.stack([pull, 2 * pull])
        several = jax.vmap(
            lambda pull, product=product: jax.grad(lambda table: (pull * product(table)).sum())(table)
        )(pulls)
        np.testing.assert_allclose(several, jnp.stack([wanted, 2 * wanted]), rtol=1e-4)


def test_columns_are_aligned_upwards() -> None:
    assert [align(columns) for columns in (1, 8, 62, 64)] == [8, 8, 64, 64]


def test_every_word_has_the_encoding_of_what_it_is_in() -> None:
    size = preset("laptop", ["qbabyai/danger"]).size
    every = jnp.arange(1.0 + size.notes)[None, :, None]
    words = around_words(every, size)[0, :, 0].tolist()
    notes = [float(note) for note in range(1, 1 + size.notes) for _ in range(size.note_words)]
    assert words == [0.0] * size.instruction_words + notes
