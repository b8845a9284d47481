"""Convolutions of images in several forms, each in the place of `afk.agents.networks.convolution.convolve`.

All are functions of a (side, side, inputs, outputs) kernel and (n, height, width, inputs) images, keep the
size of the images, and can be differentiated and computed for several networks side by side.
"""

from collections.abc import Callable
from functools import reduce
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas

from afk.agents.networks.convolution import convolve

Form = Callable[[jax.Array, jax.Array], jax.Array]
_ROWS = 128  # cells that a program computes
_SPLITS = 44  # programs that share the gradient of a tap: with nine taps three for each processor of an H200


def grouped(weight: jax.Array, x: jax.Array) -> jax.Array:
    """XLA's own; under `jax.vmap` a grouped one."""
    return jax.lax.conv_general_dilated(x, weight, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def unfolded(weight: jax.Array, x: jax.Array) -> jax.Array:
    """The square around every cell in a row, and one product."""
    return jnp.concatenate(_shifted(weight, x), -1) @ weight.reshape(-1, weight.shape[-1])


def nine_products(weight: jax.Array, x: jax.Array) -> jax.Array:
    """A product for each cell of the kernel, added up."""
    taps = weight.reshape(-1, *weight.shape[2:])
    products = [each @ tap for each, tap in zip(_shifted(weight, x), taps, strict=True)]
    return reduce(jnp.add, products)


def _shifted(weight: jax.Array, x: jax.Array) -> list[jax.Array]:
    """What each cell of the kernel sees."""
    (side, _, _, _), (_, height, width, _) = weight.shape, x.shape
    margin = side // 2
    padded = jnp.pad(x, ((0, 0), (margin, margin), (margin, margin), (0, 0)))
    return [padded[:, y : y + height, z : z + width] for y in range(side) for z in range(side)]


@jax.custom_vjp
def in_one_kernel(weight: jax.Array, x: jax.Array) -> jax.Array:
    """Triton: products of what each cell of the kernel sees, read where it lies; networks run at once."""
    return _slide(weight, x)


def _pull_back(seen: tuple[jax.Array, jax.Array], change: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Gradients: the images' is a convolution with the kernel turned round."""
    weight, x = seen
    return _gather(weight, x, change), _slide(weight[::-1, ::-1].swapaxes(2, 3), change)


in_one_kernel.defvjp(lambda weight, x: (_slide(weight, x), (weight, x)), _pull_back)


def _slide(weight: jax.Array, x: jax.Array) -> jax.Array:
    from jax.experimental.pallas import triton  # newer versions of JAX may do without

    (side, _, inputs, outputs), (count, height, width, _) = weight.shape, x.shape
    cells = count * height * width

    def compute(x_ref, weight_ref, result_ref) -> None:
        rows = pallas.program_id(0) * _ROWS + jnp.arange(_ROWS)
        added = jnp.zeros((_ROWS, outputs), jnp.float32)
        for tap in range(side * side):
            source, is_there = _source(rows, tap, side, height, width, cells)
            seen = triton.load(
                x_ref.at[source[:, None], jnp.arange(inputs)[None]], mask=is_there[:, None], other=0.0
            )
            added += jnp.dot(seen, weight_ref[tap], preferred_element_type=jnp.float32)
        inside = (rows < cells)[:, None]
        triton.store(
            result_ref.at[rows[:, None], jnp.arange(outputs)[None]],
            added.astype(result_ref.dtype),
            mask=inside,
        )

    result = pallas.pallas_call(
        compute,
        out_shape=jax.ShapeDtypeStruct((cells, outputs), x.dtype),
        grid=(pallas.cdiv(cells, _ROWS),),
        **_triton(warps=8, stages=3),
    )(x.reshape(cells, inputs), weight.reshape(-1, inputs, outputs))
    return result.reshape(count, height, width, outputs)


def _gather(weight: jax.Array, x: jax.Array, change: jax.Array) -> jax.Array:
    """The gradient of the kernel: programs add up a share of the cells each."""
    from jax.experimental.pallas import triton

    (side, _, inputs, outputs), (count, height, width, _) = weight.shape, x.shape
    cells = count * height * width
    blocks = pallas.cdiv(pallas.cdiv(cells, _ROWS), _SPLITS)

    def compute(x_ref, change_ref, result_ref) -> None:
        tap, split = pallas.program_id(0), pallas.program_id(1)

        def add(block: jax.Array, added: jax.Array) -> jax.Array:
            rows = (split * blocks + block) * _ROWS + jnp.arange(_ROWS)
            source, is_there = _source(rows, tap, side, height, width, cells)
            seen = triton.load(
                x_ref.at[source[:, None], jnp.arange(inputs)[None]], mask=is_there[:, None], other=0.0
            )
            of_rows = triton.load(
                change_ref.at[rows[:, None], jnp.arange(outputs)[None]],
                mask=(rows < cells)[:, None],
                other=0.0,
            )
            return added + jnp.dot(seen.T, of_rows, preferred_element_type=jnp.float32)

        result_ref[split, tap] = jax.lax.fori_loop(0, blocks, add, jnp.zeros((inputs, outputs), jnp.float32))

    parts = pallas.pallas_call(
        compute,
        out_shape=jax.ShapeDtypeStruct((_SPLITS, side * side, inputs, outputs), jnp.float32),
        grid=(side * side, _SPLITS),
        **_triton(warps=8, stages=3),
    )(x.reshape(cells, inputs), change.reshape(cells, outputs))
    return parts.sum(0).reshape(weight.shape).astype(weight.dtype)


def _source(
    rows: jax.Array, tap: jax.Array | int, side: int, height: int, width: int, cells: int
) -> tuple[jax.Array, jax.Array]:
    """The cells that a cell of the kernel sees from some cells, by number, and whether they are there."""
    down, right = tap // side - side // 2, tap % side - side // 2
    y, x = rows // width % height + down, rows % width + right
    is_there = (y >= 0) & (y < height) & (x >= 0) & (x < width) & (rows < cells)
    return jnp.where(is_there, rows + down * width + right, 0), is_there


def _triton(warps: int, stages: int) -> dict[str, Any]:
    """How a kernel is compiled; on a CPU it is interpreted."""
    if jax.default_backend() == "cpu":
        return {"interpret": True}
    from jax.experimental.pallas import triton

    return {"compiler_params": triton.CompilerParams(num_warps=warps, num_stages=stages)}


FORMS: dict[str, Form] = {
    "cuDNN, network by network": convolve,
    "cuDNN, grouped": grouped,
    "unfolded, one product": unfolded,
    "nine products": nine_products,
    "one kernel (Triton)": in_one_kernel,
}
