"""Ways to break a file: as bytes, as JSON, as a file of arrays, and as something in the file's place."""

import json
import os
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

Change = Callable[[Path], object]
Damage = tuple[str, Change]  # in words, and what is done to the file
_NOT_JSON = {
    "empty": b"",
    "half an object": b'{"a": ',
    "not UTF-8": b'{"a": "\xff\xfe"}',
    "zero bytes": b"\0" * 100,
    "nested deeply": b"[" * 100_000,
    "nested deeply and closed": b'{"a":' * 200 + b"1" + b"}" * 200,
    "NaN": b'{"a": NaN}',
    "a number beyond all": b'{"a": 1e999}',
    "a number of 5,000 digits": b'{"a": ' + b"9" * 5000 + b"}",
}
_NO_OBJECT = {"null": b"null", "a list": b"[]", "a number": b"3", "a text": b'"x"', "two": b"{}{}"}


def as_json(*, none: bool = True) -> Iterator[Damage]:
    """Files that hold no JSON object, or one without anything in it."""
    for name, content in (_NOT_JSON | _NO_OBJECT | ({"nothing": b"{}"} if none else {})).items():
        yield name, _write(content + b"\n")


def in_its_place() -> Iterator[Damage]:
    """Something else where a file should be."""
    yield "a folder", _in_place(lambda path: path.mkdir())
    yield "a pipe", _in_place(os.mkfifo)
    yield "a link to itself", _in_place(lambda path: path.symlink_to(path.name))
    yield "a link to a file of the system", _in_place(lambda path: path.symlink_to("/etc/passwd"))
    yield "a link to what never ends", _in_place(lambda path: path.symlink_to("/dev/zero"))


def with_fields(
    content: Mapping[str, Any], names: Iterable[str], values: Iterable[Any], *, line: bool = False
) -> Iterator[Damage]:
    """A JSON object in which one value is not what it should be.

    Args:
        content: the object, whose values may be objects.
        names: of the values that are changed, or in which one is.
        values: what they become.
        line: whether the object is the first line of the file; otherwise it is the file.
    """
    paths = [path for path in _paths(content) if path[0] in names]
    for path, value in product(paths, values):
        part = changed = json.loads(json.dumps(content))
        for name in path[:-1]:
            part = part[name]
        if json.dumps(value) != json.dumps(part[path[-1]]):
            part[path[-1]] = value
            text = json.dumps(changed).encode()
            what = f"{'.'.join(path)} is {json.dumps(value)}"
            yield what, _replace_line(text) if line else _write(text)


def as_arrays(shape_of: Path, random_with: random.Random) -> Iterator[Damage]:
    """A file of arrays that is cut off, has another header, or other arrays."""
    size = shape_of.stat().st_size
    for _ in range(10):
        yield "cut off", _cut(random_with.randrange(size))
    for _ in range(4):
        yield "a byte of the header is another", _flip(random_with.randrange(200))
    yield "empty", _write(b"")
    yield "a header beyond all", _write(b"\xff" * 8 + b"{}")
    yield "a header that is none", _write((2).to_bytes(8, "little") + b"[]")
    yield "text", _write(b"no arrays" * 100)
    yield "an array less", _resave(lambda arrays: arrays.pop(sorted(arrays)[0]))
    yield "an array more", _resave(lambda arrays: arrays.update(more=np.zeros(3)))
    yield (
        "arrays of another shape",
        _resave(lambda arrays: arrays.update({name: np.zeros((0, 3)) for name in arrays})),
    )
    for value in (np.nan, np.inf):
        yield f"numbers that are {value}", _resave(partial(_fill, value))
    yield "nothing beside the arrays", _resave(lambda arrays: None, header={})
    for wrong in ("{", "null", "[]", '{"settings": 3}', "[" * 5000):
        yield (
            f"beside the arrays, {wrong[:20]}",
            _resave(lambda arrays: None, header={"config": wrong, "seed": "24"}),
        )


def _paths(content: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, value in content.items():
        yield (name,)
        if isinstance(value, dict):
            yield from ((name, *path) for path in _paths(value))


def _fill(value: float, arrays: dict[str, np.ndarray]) -> None:
    for name, array in arrays.items():
        if np.issubdtype(array.dtype, np.floating):
            arrays[name] = np.full_like(array, value)


def _write(content: bytes) -> Change:
    return lambda path: path.write_bytes(content)


def _replace_line(content: bytes) -> Change:
    def write(path: Path) -> None:
        _, *others = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join([content + b"\n", *others]))

    return write


def _in_place(make: Change) -> Change:
    def replace(path: Path) -> None:
        path.unlink(missing_ok=True)
        make(path)

    return replace


def _cut(size: int) -> Change:
    return lambda path: os.truncate(path, size)


def _flip(place: int) -> Change:
    def flip(path: Path) -> None:
        content = bytearray(path.read_bytes())
        content[place] ^= 0x80
        path.write_bytes(content)

    return flip


def _resave(
    change: Callable[[dict[str, np.ndarray]], object], header: dict[str, str] | None = None
) -> Change:
    def save(path: Path) -> None:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata()
        arrays = load_file(path)
        change(arrays)
        save_file(arrays, path, metadata if header is None else header)

    return save
