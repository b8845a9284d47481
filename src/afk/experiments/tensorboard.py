"""TensorBoard event files: the scalars of a run, encoded here so that writing them needs no other package.

A file is a sequence of TFRecords, each a protocol buffer: first an ``Event`` with the version of the format,
then an ``Event`` a row, with one ``Summary.Value`` a tag. TensorBoard reads files whose name contains
``tfevents``.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

_VERSION = b"brain.Event:2"

# Field numbers of the messages Event, Summary and Summary.Value.
_WALL_TIME, _STEP, _FILE_VERSION, _SUMMARY = 1, 2, 3, 5
_VALUE = 1
_TAG, _SIMPLE_VALUE = 1, 2

# Wire types of a protocol buffer.
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

# What a row says of itself: where it stands on the two axes.
_AXES = ("steps", "seconds")


def event_rows(log: Sequence[Mapping[str, Any]]) -> list[tuple[int, float, dict[str, float]]]:
    """The rows of a run's log as TensorBoard scalars.

    Nested dictionaries become tags joined by '/'; only numbers are kept. The wall time is counted from the
    start of the run, so that the same log gives the same file.

    Args:
        log: rows with "steps", "seconds" (these two become the axes) and whatever was measured.

    Returns:
        Rows of step, wall time in seconds and values by tag, for `encode_events`.
    """
    rows = []
    for row in log:
        measures = {name: value for name, value in row.items() if name not in _AXES}
        rows.append((row["steps"], float(row["seconds"]), dict(_scalars(measures))))
    return rows


def encode_events(rows: Sequence[tuple[int, float, Mapping[str, float]]]) -> bytes:
    """(step, wall time in seconds, {tag: value}) rows as the content of a TensorBoard event file.

    The same rows give the same bytes, and more rows only add bytes at the end: who has read a part of a file
    can read on after it was written again. (In place: TensorBoard's fast loader keeps the file open, and does
    not notice another that was renamed over it.) Values are stored in 32 bits.
    """
    version = _double(_WALL_TIME, 0.0) + _bytes(_FILE_VERSION, _VERSION)
    return b"".join(_record(event) for event in (version, *(_event(*row) for row in rows)))


def crc32c(data: bytes) -> int:
    """The Castagnoli checksum, which zlib lacks."""
    table = _checksum_table()
    checksum = 0xFFFFFFFF
    for byte in data:
        checksum = table[(checksum ^ byte) & 0xFF] ^ (checksum >> 8)
    return checksum ^ 0xFFFFFFFF


@lru_cache(maxsize=1)
def _checksum_table() -> tuple[int, ...]:
    """What each byte does to a checksum."""
    table = []
    for checksum in range(256):
        for _ in range(8):
            checksum = (checksum >> 1) ^ (0x82F63B78 if checksum & 1 else 0)
        table.append(checksum)
    return tuple(table)


def _scalars(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """The numbers of nested dictionaries by their path."""
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _scalars(value, f"{prefix}{name}/")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{prefix}{name}", float(value)


def _event(step: int, wall_time: float, values: Mapping[str, float]) -> bytes:
    """A message Event with a scalar summary."""
    summary = b"".join(
        _bytes(_VALUE, _bytes(_TAG, tag.encode()) + _float(_SIMPLE_VALUE, value))
        for tag, value in values.items()
    )
    return _double(_WALL_TIME, wall_time) + _integer(_STEP, step) + _bytes(_SUMMARY, summary)


def _record(data: bytes) -> bytes:
    """A TFRecord: the length and the data, each with its checksum."""
    length = struct.pack("<Q", len(data))
    return length + _masked_checksum(length) + data + _masked_checksum(data)


def _masked_checksum(data: bytes) -> bytes:
    """A checksum as TFRecords store it, changed so that a checksum of checksums still tells something."""
    checksum = crc32c(data)
    rotated = checksum >> 15 | checksum << 17
    return struct.pack("<I", (rotated + 0xA282EAD8) & 0xFFFFFFFF)


def _bytes(field: int, content: bytes) -> bytes:
    return _key(field, _BYTES) + _varint(len(content)) + content


def _integer(field: int, value: int) -> bytes:
    return _key(field, _VARINT) + _varint(value)


def _double(field: int, value: float) -> bytes:
    return _key(field, _FIXED64) + struct.pack("<d", value)


def _float(field: int, value: float) -> bytes:
    return _key(field, _FIXED32) + struct.pack("<f", value)


def _key(field: int, wire_type: int) -> bytes:
    """What a field of a message starts with."""
    return _varint(field << 3 | wire_type)


def _varint(value: int) -> bytes:
    """A number that is not negative, seven bits a byte, the lowest first."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
