"""What a client worker and its run say to each other over two pipes.

The run writes orders, one JSON object to a line. The worker writes frames: a length of four bytes,
then a MessagePack array whose first item says what it is. An invocation is written before the call
is made, so whatever a killed worker may have done is in the history.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from struct import Struct
from typing import Any, Literal

import msgspec

from harness.client.base import ClientSettings

LENGTH = Struct(">I")
ROW = 0
NEWS = 1
TRAFFIC = 2

News = Literal["ready", "loaded", "probed", "drained", "failed", "idle"]


class Begin(msgspec.Struct, tag_field="do", tag="begin"):
    """The first order: who the worker is."""

    number: int
    clients: int
    seed: int
    workload: str
    client: str
    settings: ClientSettings
    replication_factor: int
    topic_configs: Mapping[str, str]
    key_dist: str
    burst: int
    batch_bytes_max: int | None
    transactions: bool
    transaction_timeout_ms: int | None
    process: int
    """Of its first operation: a worker that takes the place of a dead one is another process."""
    ordinal: int
    plugins: tuple[str, ...] = ()
    """Loaded before anything else, files by their absolute paths."""


class LoadOrder(msgspec.Struct, tag_field="do", tag="load"):
    """Until `end_ns` of the monotonic clock, an operation each `interval_ns` at the most."""

    begin_ns: int
    end_ns: int
    interval_ns: int


class Probe(msgspec.Struct, tag_field="do", tag="probe"):
    """Write to each of these keys until one write is acknowledged, or `within_ns` is over."""

    keys: Sequence[str]
    begin_ns: int
    within_ns: int


class Drain(msgspec.Struct, tag_field="do", tag="drain"):
    """Read back these keys up to these offsets, exclusive, or until `deadline_ns`."""

    ends: Mapping[str, int]
    deadline_ns: int


class StopOrder(msgspec.Struct, tag_field="do", tag="stop"):
    """Ends a load, a probe or a drain early, and the worker if it has nothing to do."""


class Idle(msgspec.Struct, tag_field="do", tag="idle"):
    """Begin no further operation until `Wake`. With `leaves` leave the group first."""

    leaves: bool


class Wake(msgspec.Struct, tag_field="do", tag="wake"):
    """Ends `Idle`."""


Order = Begin | LoadOrder | Probe | Drain | StopOrder | Idle | Wake

_to_frame = msgspec.msgpack.Encoder().encode
_from_frame = msgspec.msgpack.Decoder().decode
_to_line = msgspec.json.Encoder().encode
_from_line = msgspec.json.Decoder(Order).decode


def order_line(order: Order) -> bytes:
    return _to_line(order) + b"\n"


def read_order(line: bytes) -> Order:
    order: Order = _from_line(line)
    return order


def framed(content: Any) -> bytes:
    body = _to_frame(content)
    return LENGTH.pack(len(body)) + body


class WorkerFrameReader:
    """Puts together what a pipe delivers in pieces."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[list[Any]]:
        data = self._rest + data if self._rest else data
        position, end = 0, len(data)
        unpack, size = LENGTH.unpack_from, LENGTH.size
        while end - position >= size:
            (length,) = unpack(data, position)
            begin = position + size
            if end - begin < length:
                break
            yield _from_frame(memoryview(data)[begin : begin + length])
            position = begin + length
        self._rest = data[position:]
