"""Operations with gradients of their own: products with small tables, maxima, relu; and rows nobody wants."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import jax
import jax.numpy as jnp

Tree = TypeVar("Tree")
Found = TypeVar("Found")
_PIECES = 256  # that many rows are cut into, at most
_SOME = 64  # rows that a CPU computes at once where not all are wanted
_ALIGNED = 8  # columns of a matrix that a GPU multiplies quickly come in such groups


@jax.custom_vjp
def look_up(index: jax.Array, table: jax.Array) -> jax.Array:
    """Rows of a (rows, width) table by (...,) indices."""
    return table[index]


def _looked_up(index: jax.Array, table: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    return table[index], (index, table)


def _look_back(saved: tuple[jax.Array, jax.Array], gradient: jax.Array) -> tuple[None, jax.Array]:
    """Added up by product where scattered additions are slow and in no fixed order."""
    index, table = saved
    index, gradient = index.reshape(-1), gradient.reshape(-1, table.shape[1])

    def scatter(index: jax.Array, gradient: jax.Array) -> jax.Array:
        return jnp.zeros(table.shape).at[index].add(gradient).astype(table.dtype)

    multiply = partial(add_rows, rows=len(table))
    return None, jax.lax.platform_dependent(index, gradient, cpu=scatter, default=multiply)


look_up.defvjp(_looked_up, _look_back)


def add_rows(index: jax.Array, gradient: jax.Array, *, rows: int) -> jax.Array:
    """Add each of (n, width) rows to the one of its (n,) index: (rows, width), as a product."""
    one_hot = jax.nn.one_hot(index, align(rows), dtype=gradient.dtype)
    return add_pieces(one_hot, gradient)[:rows].astype(gradient.dtype)


@jax.custom_vjp
def weigh_rows(weights: jax.Array, table: jax.Array) -> jax.Array:
    """Weights that nobody learns, such as zeros and ones, times a table that is learned: a matrix product.

    Its gradient is cut into pieces, see `add_products`.

    Args:
        weights: (..., rows).
        table: (rows, width).

    Returns:
        (..., width).
    """
    return weights @ table


def _weighed(weights: jax.Array, table: jax.Array) -> tuple[jax.Array, jax.Array]:
    return weights @ table, weights


def _weigh_back(weights: jax.Array, gradient: jax.Array) -> tuple[None, jax.Array]:
    flat = (each.reshape(-1, each.shape[-1]) for each in (weights, gradient))
    return None, add_products(*flat)


weigh_rows.defvjp(_weighed, _weigh_back)


@jax.custom_vjp
def relu(x: jax.Array) -> jax.Array:
    """The larger of x and zero, with a gradient that needs the result alone.

    What is before it need not be kept then, and a product or a convolution, its bias and this are one kernel.
    """
    return jnp.maximum(x, 0)


def _bent(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    result = relu(x)
    # Otherwise XLA sees that the result is positive where x is, and keeps x.
    return result, jax.lax.optimization_barrier(result)


relu.defvjp(_bent, lambda result, change: (jnp.where(result > 0, change, 0),))


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def largest(x: jax.Array, axes: tuple[int, ...]) -> jax.Array:
    """The maximum over some axes, with a gradient that is finite on every device.

    JAX shares the gradient among the entries that equal the maximum, and divides by their number. On a GPU
    the compiler may compute the entries once more for the gradient, rounded otherwise: then none equals it,
    and nothing is divided by nothing. Such a maximum passes no gradient here.
    """
    return x.max(axes)


@largest.defjvp
def _largest_jvp(
    axes: tuple[int, ...], primals: tuple[jax.Array], tangents: tuple[jax.Array]
) -> tuple[jax.Array, jax.Array]:
    (x,), (change,) = primals, tangents
    found = largest(x, axes)
    is_largest = (x == jnp.expand_dims(found, axes)).astype(change.dtype)
    count = jnp.maximum(is_largest.sum(axes), 1)
    return found, (change * is_largest).sum(axes) / count


def align(columns: int) -> int:
    """So many columns, or a few more: as many as a GPU multiplies quickly."""
    return -(-columns // _ALIGNED) * _ALIGNED


def add_products(left: jax.Array, right: jax.Array) -> jax.Array:
    """Left transposed times right, for very many rows: (rows, a) and (rows, b) to (a, b)."""

    def at_once(left: jax.Array, right: jax.Array) -> jax.Array:
        return jnp.matmul(left.T, right, preferred_element_type=jnp.float32)

    added = jax.lax.platform_dependent(left, right, cpu=at_once, default=add_pieces)
    return added.astype(right.dtype)


def add_pieces(left: jax.Array, right: jax.Array) -> jax.Array:
    """The same in float32, piece by piece.

    The result is so small that a GPU would leave all rows to a few of its processors, one after the other;
    pieces of the rows are many products at once.
    """
    rows = len(left)
    pieces = next(count for count in range(min(_PIECES, rows), 0, -1) if rows % count == 0)
    left, right = (each.reshape(pieces, rows // pieces, -1) for each in (left, right))
    return jnp.einsum("pra,prb->pab", left, right, preferred_element_type=jnp.float32).sum(0)


def for_wanted(function: Callable[[Tree], Found], wanted: jax.Array, rows: Tree) -> Found:
    """A function of rows, (n, ...) to (n, ...), for those that are wanted, (n,) bool; zeros for the others.

    A CPU, which has no use for large batches, computes some at a time and no more than it has to. It takes as
    many turns as that takes, so there is no gradient.
    """
    if jax.default_backend() != "cpu" or len(wanted) <= _SOME:
        return function(rows)
    order = jnp.argsort(~wanted)

    def fill(number: jax.Array, found: Found) -> Found:
        chosen = jax.lax.dynamic_slice(order, (number * _SOME,), (_SOME,))  # the last ones may begin earlier
        some = function(jax.tree.map(lambda leaf: leaf[chosen], rows))
        return jax.tree.map(lambda every, few: every.at[chosen].set(few), found, some)

    shapes = jax.eval_shape(function, rows)
    nothing = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    return jax.lax.fori_loop(0, -(-wanted.sum() // _SOME), fill, nothing)
