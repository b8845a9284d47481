"""Checkpoints: any pytree of arrays as one safetensors file, whole or not there at all.

What it belongs to is written in the file's header, as JSON.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from afk.files import parse_json, write_file
from afk.training.build import play_of
from afk.training.config import Config, run_difference
from afk.training.legacy import LATER_ARRAYS, downgrade_path, upgrade_path

Tree = TypeVar("Tree")


def describe(config: Config, **more: Any) -> dict[str, Any]:
    """What is written beside the arrays of a run."""
    return {"config": config.to_json(), "words": _digest_words(config), **more}


def config_of(description: Mapping[str, Any], path: Path) -> Config:
    """The run that a file is of; a ValueError if there is none, or if words mean something else here.

    Args:
        description: what `read_description` found in it.
        path: of the file, to be named.
    """
    try:
        config = Config.from_json(description.get("config", {}))
    except ValueError as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
    words = _digest_words(config)
    if description.get("words", words) != words:
        raise ValueError(
            f"{path} is of a run with other words than {config.tasks[0]} has here; those of Q-TextWorld are "
            "made by the package textworld: was it another version?"
        )
    return config


def _digest_words(config: Config) -> str:
    """What tells apart vocabularies, of which a network knows nothing but numbers."""
    return hashlib.sha256("\n".join(play_of(config).env.vocabulary.tokens).encode()).hexdigest()[:16]


def save(path: Path, tree: Any, description: Mapping[str, Any]) -> None:
    """Write the arrays of a pytree."""
    arrays = {name: np.array(leaf, order="C") for name, leaf in _named(tree).items()}
    header = {name: json.dumps(value) for name, value in description.items()}
    write_file(path, to_bytes(arrays, metadata=header))


def read_description(path: Path) -> dict[str, Any]:
    """What `save` wrote beside the arrays; a ValueError if there is no such file or it is broken."""
    with _open(path) as file:
        return _describe(file)


def check_origin(path: Path, config: Config) -> None:
    """Refuse a file that is broken, or belongs to another run; a ValueError names the first difference."""
    if difference := run_difference(config, config_of(read_description(path), path)):
        raise ValueError(f"the checkpoint {path} is of another run: {difference}")


def load(path: Path, like: Tree) -> Tree:
    """Read arrays into the shape and precision of a pytree.

    Args:
        path: of the file.
        like: a pytree of the same shapes.

    Returns:
        The pytree; a ValueError if the file is broken or of another shape.
    """
    with _open(path) as file:
        found = {upgrade_path(name): file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no dict)
    wanted = shapes(like)
    found |= {
        name: np.zeros(shape)
        for name, shape in wanted.items()
        if name not in found and name.rpartition(".")[2] in LATER_ARRAYS
    }
    odd = [name for name in wanted if name not in found or found[name].shape != wanted[name]]
    odd += [name for name in found if name not in wanted]
    if odd:
        raise ValueError(
            f"the checkpoint {path} is of another task, agent, size or version: {', '.join(odd[:2])} differs"
        )
    leaves, structure = jax.tree.flatten(like)
    arrays = [
        jax.random.wrap_key_data(jnp.asarray(array))
        if _is_key(leaf)
        else jax.device_put(array.astype(leaf.dtype))  # on the host: a program is compiled for every shape
        for leaf, array in zip(leaves, (found[name] for name in wanted), strict=True)
    ]
    return jax.tree.unflatten(structure, arrays)


def check_finite(path: Path, tree: Any) -> None:
    """A ValueError if an array of a pytree that was read from a file holds NaN or an infinite number."""
    broken = [name for name, array in _named(tree).items() if not np.isfinite(array).all()]
    if broken:
        raise ValueError(f"the checkpoint {path} is broken: {broken[0]} holds numbers that are not finite")


def digest(tree: Any) -> str:
    """A short name for what the arrays of a pytree hold; others are called otherwise."""
    return _digest(_named(tree))


def is_called(tree: Any, name: str) -> bool:
    """Whether a digest is that of a pytree, whose parts may have had their earlier names; see `legacy`."""
    arrays = _named(tree)
    return name in (_digest(arrays), _digest({downgrade_path(part): arrays[part] for part in arrays}))


def _digest(arrays: Mapping[str, np.ndarray]) -> str:
    found = hashlib.sha256()
    for name, array in arrays.items():
        found.update(name.encode() + array.tobytes())
    return found.hexdigest()[:16]


def shapes(tree: Any) -> dict[str, tuple[int, ...]]:
    """The shapes of the arrays of a pytree by their names, without a look at what they hold."""
    return {name: jax.eval_shape(_plain, leaf).shape for name, leaf in _leaves(tree)}


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    """A file of arrays; a ValueError if there is none, or if it proves to be broken."""
    if not path.is_file():
        raise ValueError(f"there is no checkpoint {path}")
    try:
        with safe_open(path, framework="numpy") as file:
            yield file
    except (SafetensorError, OSError, ValueError) as error:
        raise ValueError(f"the checkpoint {path} is broken: {error}") from error


def _describe(file: Any) -> dict[str, Any]:
    """What stands beside the arrays of an open file."""
    return {name: parse_json(value) for name, value in (file.metadata() or {}).items()}


def _named(tree: Any) -> dict[str, np.ndarray]:
    """The leaves by their path, random keys as numbers; they leave the device all at once."""
    leaves = _leaves(tree)
    arrays = jax.device_get([_plain(leaf) for _, leaf in leaves])
    return {name: np.asarray(array) for (name, _), array in zip(leaves, arrays, strict=True)}


def _leaves(tree: Any) -> list[tuple[str, Any]]:
    """The leaves with their paths."""
    paths, _ = jax.tree_util.tree_flatten_with_path(tree)
    return [(jax.tree_util.keystr(path, simple=True, separator="."), leaf) for path, leaf in paths]


def _plain(leaf: Any) -> Any:
    """A leaf with numbers in the place of random keys."""
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
