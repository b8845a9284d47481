"""Products that are cut into pieces: the same numbers as those of one product."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from afk.agents.encoders import add_products, align, around_words, look_up, weigh_rows
from afk.experiments.config import preset

KEY = jax.random.key(0)


@pytest.mark.parametrize("rows", [1, 7, 256, 1000, 4099])
def test_pieces_add_up_to_the_product(rows: int) -> None:
    left, right = (jax.random.normal(KEY, (rows, columns)) for columns in (5, 3))
    np.testing.assert_allclose(add_products(left, right), left.T @ right, rtol=1e-4, atol=1e-4)


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
    several = jax.vmap(jax.grad(lambda table: weigh_rows(one_hot, table).sum()))(jnp.stack([table] * 2))
    np.testing.assert_allclose(several[0], several[1])


def test_columns_are_aligned_upwards() -> None:
    assert [align(columns) for columns in (1, 8, 62, 64)] == [8, 8, 64, 64]


def test_every_word_has_the_encoding_of_what_it_is_in() -> None:
    size = preset("laptop", ["qbabyai/danger"]).size
    every = jnp.arange(1.0 + size.notes)[None, :, None]
    words = around_words(every, size)[0, :, 0].tolist()
    notes = [float(note) for note in range(1, 1 + size.notes) for _ in range(size.note_words)]
    assert words == [0.0] * size.instruction_words + notes
