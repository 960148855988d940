"""Damages what a broker of Kafka's kind has stored: one bit of a batch, or the end of a segment.

A log directory holds a directory `topic-partition` for each replica, and in it segments named
after their first offset, the last of which is the active one. A segment is a row of batches, each
with its first offset (8 bytes) and the length of what follows (4 bytes) before it. The log of the
metadata is let be: its replicas are the quorum itself, and are no partition's.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from harness.cluster.capabilities import StoredDamage
from harness.cluster.errors import FaultMissedError

_REPLICA = re.compile(r".+-\d+")
_METADATA = "__cluster_metadata-0"
_EXTENT = struct.Struct(">qi")
_HEADER_BYTES = 61
_TORN_BYTES_MAX = 4096

_Choice = TypeVar("_Choice")


def flip_bit(directory: Path, draw: float) -> StoredDamage:
    """Flip a bit in the records of one batch of a closed segment anywhere below."""
    segments = [one for replica in _replicas(directory) for one in _segments(replica)[:-1]]
    closed = [segment for segment in segments if _batches(segment)]
    if not closed:
        raise FaultMissedError("no segment here is closed, so there is none to flip a bit in")
    segment, rest = _drawn(closed, draw)
    (start, end), rest = _drawn(_batches(segment), rest)
    bits = range((start + _HEADER_BYTES) * 8, end * 8) or range(start * 8, end * 8)
    bit, _ = _drawn(bits, rest)
    with segment.open("r+b") as file:
        file.seek(bit // 8)
        flipped = file.read(1)[0] ^ 1 << bit % 8
        file.seek(bit // 8)
        file.write(bytes([flipped]))
        file.flush()
        os.fsync(file.fileno())
    if _byte(segment, bit // 8) != flipped:
        raise FaultMissedError(f"byte {bit // 8} of {segment} is as it was")
    where = f"bit {bit % 8} of byte {bit // 8} of {segment.parent.name}/{segment.name}"
    return StoredDamage(segment.parent.name, where)


def truncate_tail(directory: Path, draw: float) -> StoredDamage:
    """Cut a few bytes off the end of one active segment."""
    active = [
        segments[-1]
        for replica in _replicas(directory)
        if (segments := _segments(replica)) and segments[-1].stat().st_size > 0
    ]
    if not active:
        raise FaultMissedError("no active segment here holds a byte that could be cut off")
    segment, rest = _drawn(active, draw)
    size = segment.stat().st_size
    count, _ = _drawn(range(1, min(size, _TORN_BYTES_MAX) + 1), rest)
    os.truncate(segment, size - count)
    if segment.stat().st_size != size - count:
        raise FaultMissedError(f"{segment} is as long as it was")
    with segment.open("rb") as file:
        os.fsync(file.fileno())
    where = f"the last {count} of {size} bytes of {segment.parent.name}/{segment.name}"
    return StoredDamage(segment.parent.name, where)


def _byte(path: Path, position: int) -> int:
    """Asked for anew, not of whoever has just written it."""
    with path.open("rb") as file:
        file.seek(position)
        return file.read(1)[0]


def _replicas(directory: Path) -> list[Path]:
    found = [
        path.parent for path in directory.rglob("*.log") if _REPLICA.fullmatch(path.parent.name)
    ]
    return sorted(path for path in set(found) if path.name != _METADATA)


def _segments(replica: Path) -> list[Path]:
    return sorted(path for path in replica.glob("*.log") if path.stem.isdigit())


def _batches(segment: Path) -> list[tuple[int, int]]:
    """Where each begins and ends."""
    found = []
    with segment.open("rb") as file:
        size, start = os.fstat(file.fileno()).st_size, 0
        while start + _EXTENT.size <= size:
            file.seek(start)
            _, length = _EXTENT.unpack(file.read(_EXTENT.size))
            end = start + _EXTENT.size + length
            if length <= 0 or end > size:
                break
            found.append((start, end))
            start = end
    return found


def _drawn(choices: Sequence[_Choice], draw: float) -> tuple[_Choice, float]:
    """One of them, and what of the draw is left for the next choice."""
    index, rest = divmod(draw * len(choices), 1)
    return choices[int(index)], rest
