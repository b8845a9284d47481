"""Training on several devices: episodes and batches are spread over them, the network is on each.

Programs mean the same on one device and on many; only where their arrays lie differs.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

Tree = TypeVar("Tree")
_DEVICES = "devices"


def use_devices(count: int | None, environments: int) -> Mesh:
    """A mesh of the first devices there are, or of as many as share the environments evenly.

    Args:
        count: how many devices; a ValueError if there are not as many or they cannot share evenly.
        environments: how many episodes are played at once.
    """
    devices = jax.local_devices()
    if count is None:
        count = max(each for each in range(1, len(devices) + 1) if environments % each == 0)
    if not 1 <= count <= len(devices):
        raise ValueError(f"there are {len(devices)} devices, so --devices is from 1 to that, not {count}")
    if environments % count:
        raise ValueError(f"{environments} environments cannot be shared evenly by {count} devices")
    return Mesh(np.array(devices[:count]), (_DEVICES,), axis_types=(AxisType.Auto,))


def spread(tree: Tree) -> Tree:
    """Lay the first axis of every array over the devices of the mesh in use; nothing happens without one.

    For use in a compiled function; under `jax.vmap`, the first axis is the one after the batch's.
    """
    if jax.sharding.get_abstract_mesh().empty:
        return tree
    return jax.lax.with_sharding_constraint(tree, PartitionSpec(_DEVICES))


def side_by_side(function: Callable[..., Tree], *stacked: Any, in_turn: bool = False) -> Tree:
    """A function of pytrees, for each of those that are stacked along a leading axis: under `jax.vmap`.

    For one alone it is called as it is: under `jax.vmap`, both ways of a `cond` would be computed.

    Args:
        function: of as many pytrees as there are.
        *stacked: for each of its arguments a pytree of arrays with a leading axis.
        in_turn: one after the other instead, for what has such choices and fills a device by itself.
    """
    if len(jax.tree.leaves(stacked)[0]) > 1:
        return jax.lax.map(lambda each: function(*each), stacked) if in_turn else jax.vmap(function)(*stacked)
    alone = function(*jax.tree.map(lambda leaf: leaf[0], stacked))
    return jax.tree.map(lambda leaf: leaf[None], alone)


def place(tree: Tree, mesh: Mesh, *, axis: int | None = None) -> Tree:
    """Put arrays on the devices: an axis of each spread over them, or all of it on every one."""
    spec = PartitionSpec() if axis is None else PartitionSpec(*[None] * axis, _DEVICES)
    return jax.device_put(tree, NamedSharding(mesh, spec))
