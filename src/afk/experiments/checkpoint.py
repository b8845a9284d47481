"""Checkpoints: any pytree of arrays as one safetensors file, whole or not there at all."""

from pathlib import Path
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from afk.records import write_whole

Tree = TypeVar("Tree")


def save(path: Path, tree: Any) -> None:
    """Write the arrays of a pytree."""
    write_whole(path, to_bytes({name: np.array(leaf, order="C") for name, leaf in _named(tree).items()}))


def load(path: Path, like: Tree) -> Tree:
    """Read arrays into the shape of a pytree; a ValueError if the file is broken or of another shape."""
    if not path.is_file():
        raise ValueError(f"there is no checkpoint {path}")
    wanted = _named(like)
    try:
        with safe_open(path, framework="numpy") as file:
            found = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dict)
    except (SafetensorError, OSError) as error:
        raise ValueError(f"the checkpoint {path} is broken: {error}") from error
    shapes = {name: (leaf.shape, leaf.dtype) for name, leaf in wanted.items()}
    if shapes != {name: (leaf.shape, leaf.dtype) for name, leaf in found.items()}:
        odd = sorted(set(shapes) ^ set(found)) or [
            name for name in shapes if found[name].shape != shapes[name][0]
        ]
        raise ValueError(
            f"the checkpoint {path} is of another task, agent or size: {', '.join(odd[:2])} differs"
        )
    leaves, structure = jax.tree.flatten(like)
    arrays = [
        jax.random.wrap_key_data(jnp.asarray(array)) if _is_key(leaf) else jnp.asarray(array)
        for leaf, array in zip(leaves, (found[name] for name in wanted), strict=True)
    ]
    return jax.tree.unflatten(structure, arrays)


def _named(tree: Any) -> dict[str, np.ndarray]:
    """The leaves by their path, random keys as numbers."""
    paths, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {
        jax.tree_util.keystr(path, simple=True, separator="."): np.asarray(
            jax.random.key_data(leaf) if _is_key(leaf) else leaf
        )
        for path, leaf in paths
    }


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
