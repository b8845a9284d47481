"""Training on several devices: each has its share of the seeds, or of the rows of episodes and batches.

Programs mean the same on one device and on many. Random numbers are drawn for all rows at once, of which
every device computes its own, so that they do not depend on how many devices there are.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

Tree = TypeVar("Tree")
# What the one axis of a mesh is called: what the devices share.
_SEEDS, _ROWS = "seeds", "rows"


def use_devices(count: int | None, seeds: int, rows: Mapping[str, int], *, most: int | None = None) -> Mesh:
    """A mesh of the first devices there are, or of as many as can share what is trained evenly.

    They share the seeds if these can be shared, since seeds have nothing to say to each other, else rows.

    Args:
        count: how many devices; a ValueError if there are not as many or they cannot share evenly.
        seeds: how many are trained side by side.
        rows: what a seed has that devices can share, with how many of it there are, ``{"environments": 64}``.
        most: how many of the devices there are to choose from; all if not given.
    """
    devices = jax.local_devices()[:most]
    if count is None:
        count = max(each for each in range(1, len(devices) + 1) if _shared(each, seeds, rows))
    if not 1 <= count <= len(devices):
        raise ValueError(f"there are {len(devices)} devices, so --devices is from 1 to that, not {count}")
    shared = _shared(count, seeds, rows)
    if not shared:
        name, uneven = next((name, number) for name, number in rows.items() if number % count)
        raise ValueError(f"{uneven} {name} cannot be shared evenly by {count} devices")
    return Mesh(np.array(devices[:count]), (shared,), axis_types=(AxisType.Auto,))


def _shared(count: int, seeds: int, rows: Mapping[str, int]) -> str:
    """What so many devices can share evenly; empty if nothing."""
    if count > 1 and seeds % count == 0:
        return _SEEDS
    return "" if any(number % count for number in rows.values()) else _ROWS


def on_devices(mesh: Mesh) -> AbstractContextManager[Any]:
    """What is compiled or called in this context is for the devices of a mesh; nothing changes for one."""
    return jax.set_mesh(mesh) if mesh.size > 1 else nullcontext()


def _is_shared(axis: str) -> bool:
    """Whether the devices in use share seeds, or rows."""
    mesh = jax.sharding.get_abstract_mesh()
    return not mesh.empty and axis in mesh.auto_axes


def spread(tree: Tree) -> Tree:
    """Lay the rows of every array, its first axis, over the devices if they share rows.

    For use in a compiled function; under `jax.vmap`, the first axis is the one after the batch's.
    """
    return jax.lax.with_sharding_constraint(tree, PartitionSpec(_ROWS)) if _is_shared(_ROWS) else tree


def everywhere(tree: Tree) -> Tree:
    """Let every device have all of every array, as `spread` lets each have its share."""
    return jax.lax.with_sharding_constraint(tree, PartitionSpec()) if _is_shared(_ROWS) else tree


def by_share(function: Callable[[Any, Any], Tree], whole: Any, rows: Any) -> Tree:
    """A function of each device's share of some rows, computed where they lie; results are joined.

    Left to itself, the compiler would gather all rows on every device wherever an axis of them is merged with
    another, as networks do with that of steps.

    Args:
        function: of two pytrees of arrays; its results have a leading axis, of rows or of one row a share.
        whole: what all shares have in common.
        rows: what has rows; every device computes all of them if they cannot be shared evenly.
    """
    if not _is_shared(_ROWS) or len(jax.tree.leaves(rows)[0]) % shares():
        return function(whole, rows)
    specs = (PartitionSpec(), PartitionSpec(_ROWS))
    # What is common to all may be used freely: a gradient is that of a share, and nothing is added up here.
    return jax.shard_map(function, in_specs=specs, out_specs=specs[1], check_vma=False)(whole, rows)


def shares() -> int:
    """How many shares rows have."""
    return jax.sharding.get_abstract_mesh().size if _is_shared(_ROWS) else 1


def side_by_side(function: Callable[..., Tree], *stacked: Any, in_turn: bool = False) -> Tree:
    """A function of pytrees, for each of those that are stacked along a leading axis: under `jax.vmap`.

    For one alone it is called as it is: under `jax.vmap`, both ways of a `cond` would be computed. Where
    devices share seeds, each does it for its own.

    Args:
        function: of as many pytrees as there are.
        *stacked: for each of its arguments a pytree of arrays with a leading axis.
        in_turn: one after the other instead, for what has such choices and fills a device by itself.
    """

    def beside(*stacked: Any) -> Tree:
        if len(jax.tree.leaves(stacked)[0]) > 1:
            in_order = partial(jax.lax.map, lambda each: function(*each))
            return in_order(stacked) if in_turn else jax.vmap(function)(*stacked)
        alone = function(*jax.tree.map(lambda leaf: leaf[0], stacked))
        return jax.tree.map(lambda leaf: leaf[None], alone)

    if not _is_shared(_SEEDS):
        return beside(*stacked)
    spec = PartitionSpec(_SEEDS)
    return jax.shard_map(beside, in_specs=spec, out_specs=spec, check_vma=False)(*stacked)


def stack(trees: Sequence[Tree]) -> Tree:
    """Pytrees of arrays as one, with a leading axis: what `side_by_side` takes."""
    return _stack(tuple(trees))


@jax.jit
def _stack(trees: tuple[Tree, ...]) -> Tree:
    """The same, as one program for all leaves."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def place(tree: Tree, mesh: Mesh, *, has_rows: bool) -> Tree:
    """Put arrays with a leading axis of seeds on the devices: each has its seeds, or its rows, or all.

    Args:
        tree: the arrays.
        mesh: the devices.
        has_rows: whether the axis after that of seeds is one of rows that devices can share.
    """
    of_rows = PartitionSpec(None, _ROWS) if has_rows else PartitionSpec()
    spec = PartitionSpec(_SEEDS) if _SEEDS in mesh.axis_names else of_rows
    return jax.device_put(tree, NamedSharding(mesh, spec))
