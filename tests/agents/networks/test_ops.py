"""Products that are cut into pieces, and maxima: the same numbers as those of JAX, and gradients besides."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from afk.agents.networks.encoders import around_words
from afk.agents.networks.ops import (
    add_pieces,
    add_products,
    add_rows,
    align,
    largest,
    look_up,
    relu,
    weigh_rows,
)
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


@pytest.mark.parametrize("axes", [(1,), (1, 2)])
def test_the_largest_and_its_gradient_are_those_of_jax(axes: tuple[int, ...]) -> None:
    x = jnp.round(2 * jax.random.normal(jax.random.key(0), (5, 4, 3, 6)))  # many are as large as others
    weights = jax.random.normal(jax.random.key(1), x.max(axes).shape)
    value, gradient = jax.value_and_grad(lambda each: (largest(each, axes) * weights).sum())(x)
    expected_value, expected = jax.value_and_grad(lambda each: (each.max(axes) * weights).sum())(x)
    assert value == expected_value
    np.testing.assert_array_equal(gradient, expected)


def test_the_largest_has_a_finite_gradient_where_its_input_is_rounded_otherwise_the_second_time() -> None:
    times = []

    def unlike(x: np.ndarray) -> np.ndarray:
        times.append(1)
        return np.float32(1e-6 * (len(times) - 1)) * np.ones_like(x)

    def gradient(pool: Callable[[jax.Array], jax.Array]) -> jax.Array:
        """As a compiler may do it: the maximum is kept for the gradient, what it is of is computed again."""
        times.clear()

        def total(x: jax.Array) -> jax.Array:
            fixed = jax.lax.stop_gradient(x)
            return pool(x + jax.pure_callback(unlike, jax.ShapeDtypeStruct(x.shape, x.dtype), fixed)).sum()

        kept = jax.checkpoint(total, policy=lambda primitive, *_, **__: primitive.name == "reduce_max")
        return jax.grad(kept)(jnp.array([[0.1, 0.7], [0.3, 0.2]]))

    assert jnp.isnan(gradient(lambda x: x.max(1))).all()
    assert len(times) == 2
    assert jnp.isfinite(gradient(lambda x: largest(x, (1,)))).all()


def test_what_is_below_zero_passes_nothing_either_way() -> None:
    x = jnp.array([-2.0, 0.0, 3.0])
    found, pull_back = jax.vjp(relu, x)
    assert found.tolist() == [0, 0, 3]
    assert pull_back(jnp.array([5.0, 6, 7]))[0].tolist() == [0, 0, 7]
    np.testing.assert_array_equal(jax.vmap(jax.grad(relu))(x), jax.vmap(jax.grad(jax.nn.relu))(x))


def test_a_gradient_needs_no_more_than_the_result() -> None:
    """What is kept between a product and its gradient is the result, not what is before it."""
    kept = jax.eval_shape(lambda x: jax.vjp(lambda x: relu(jnp.sin(x)), x)[1], jnp.ones(3))
    assert [leaf.dtype for leaf in jax.tree.leaves(kept)].count(jnp.bool) == 0
