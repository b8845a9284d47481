"""Event files: read back by a decoder that shares nothing with the encoder, and by TensorBoard if there."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afk.experiments.tensorboard import crc32c, encode_events, event_rows

Row = tuple[int, float, dict[str, float]]

_LOG: list[dict[str, Any]] = [
    {
        "updates": 10,
        "steps": 409600,
        "episodes": 31,
        "training": {"success": 0.5, "steps": 20.25},
        "losses": {"policy": -0.125, "value": 2},
        "seconds": 12.5,
        "steps_per_second": 32768.0,
    },
    {
        "steps": 819200,
        "seconds": 25,
        "evaluation": {
            "success": 0.75,
            "success_interval": [0.5, 1.0],
            "task": "qbabyai/danger",
            "whole": True,
            "missing": None,
            "queries": {"useful": {"mean": 1.5}},
        },
    },
]

_ROWS = st.lists(
    st.tuples(
        st.integers(0, 2**63 - 1),
        st.floats(0, 1e12),
        st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"])), st.floats(width=32, allow_nan=False)
        ),
    ),
    max_size=5,
)


@pytest.mark.parametrize(
    ("data", "checksum"),
    [
        (b"", 0),
        (b"123456789", 0xE3069283),
        # RFC 3720, B.4
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
    ],
)
def test_checksums_are_the_published_ones(data: bytes, checksum: int) -> None:
    assert crc32c(data) == checksum
    assert _slow_checksum(data) == checksum


@given(_ROWS)
def test_what_is_written_can_be_read(rows: list[Row]) -> None:
    assert _decode(encode_events(rows)) == rows


def test_what_is_no_number_is_written_too() -> None:
    [(_, _, values)] = _decode(encode_events([(1, 0.0, {"loss": float("nan")})]))
    assert values["loss"] != values["loss"]


@given(_ROWS)
def test_more_rows_only_add_to_the_end(rows: list[Row]) -> None:
    whole = encode_events(rows)
    parts = [encode_events(rows[:count]) for count in range(len(rows) + 1)]
    assert all(whole.startswith(part) for part in parts)
    assert sorted({len(part) for part in parts}) == [len(part) for part in parts]


def test_a_log_becomes_scalars_by_their_path() -> None:
    assert event_rows(_LOG) == [
        (
            409600,
            12.5,
            {
                "updates": 10.0,
                "episodes": 31.0,
                "training/success": 0.5,
                "training/steps": 20.25,
                "losses/policy": -0.125,
                "losses/value": 2.0,
                "steps_per_second": 32768.0,
            },
        ),
        (819200, 25.0, {"evaluation/success": 0.75, "evaluation/queries/useful/mean": 1.5}),
    ]


def test_tensorboard_reads_the_same(tmp_path: Path) -> None:
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    rows = event_rows(_LOG)
    (tmp_path / "events.out.tfevents.0.run").write_bytes(encode_events(rows))
    events = reader.EventAccumulator(str(tmp_path)).Reload()
    read = {
        tag: [(event.step, event.wall_time, event.value) for event in events.Scalars(tag)]
        for tag in events.Tags()["scalars"]
    }
    tags = {tag for _, _, values in rows for tag in values}
    assert read == {
        tag: [(step, time, values[tag]) for step, time, values in rows if tag in values] for tag in tags
    }


def _decode(content: bytes) -> list[Row]:
    """The rows of an event file."""
    version, *events = (_fields(record) for record in _records(content))
    assert version == [(1, 1, struct.pack("<d", 0)), (3, 2, b"brain.Event:2")]
    rows = []
    for (*wall_time, seconds), (*step, steps), (*summary, values) in events:
        assert (wall_time, step, summary) == ([1, 1], [2, 0], [5, 2])
        rows.append((steps, struct.unpack("<d", seconds)[0], dict(map(_scalar, _fields(values)))))
    return rows


def _scalar(field: tuple[int, int, Any]) -> tuple[str, float]:
    """Tag and value of a Summary.Value."""
    *value, content = field
    (*tag, name), (*simple_value, number) = _fields(content)
    assert (value, tag, simple_value) == ([1, 2], [1, 2], [2, 5])
    return name.decode(), struct.unpack("<f", number)[0]


def _records(content: bytes) -> Iterator[bytes]:
    """The data of TFRecords with good checksums."""
    while content:
        length, length_checksum = struct.unpack_from("<QI", content)
        data, (checksum,) = content[12 : 12 + length], struct.unpack_from("<I", content, 12 + length)
        assert _unmasked(length_checksum) == _slow_checksum(content[:8])
        assert _unmasked(checksum) == _slow_checksum(data)
        yield data
        content = content[16 + length :]


def _fields(message: bytes) -> list[tuple[int, int, Any]]:
    """Number, wire type and content of the fields of a protocol buffer."""
    fields, rest = [], message
    while rest:
        key, rest = _split_varint(rest)
        match key & 7:
            case 0:
                content, rest = _split_varint(rest)
            case 1:
                content, rest = rest[:8], rest[8:]
            case 2:
                length, rest = _split_varint(rest)
                assert length <= len(rest)
                content, rest = rest[:length], rest[length:]
            case 5:
                content, rest = rest[:4], rest[4:]
            case other:
                raise AssertionError(f"wire type {other}")
        fields.append((key >> 3, key & 7, content))
    return fields


def _split_varint(data: bytes) -> tuple[int, bytes]:
    """The number that data starts with, and what follows it."""
    size = next(index for index, byte in enumerate(data) if byte < 128) + 1
    return sum((byte & 127) << 7 * index for index, byte in enumerate(data[:size])), data[size:]


def _unmasked(masked: int) -> int:
    rotated = (masked - 0xA282EAD8) % 2**32
    return (rotated >> 17 | rotated << 15) % 2**32


def _slow_checksum(data: bytes) -> int:
    """CRC-32C as it is defined: the remainder of a division of polynomials, bit by bit."""
    remainder = 0xFFFFFFFF
    for byte in data:
        for position in range(8):
            bit = byte >> position & 1
            carry = remainder >> 31 ^ bit
            remainder = remainder << 1 & 0xFFFFFFFF ^ (0x1EDC6F41 if carry else 0)
    return int(f"{remainder:032b}"[::-1], 2) ^ 0xFFFFFFFF
