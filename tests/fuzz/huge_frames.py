"""Request frames with huge counts, written from the schema: for each array of each request.

Written by hand and not by the codec, because four million elements would first have to be objects
here. Every other array of the request is empty, and every other field has a harmless value.

For Produce there are also small frames whose counts are hidden: their compressed batches hold
a thousand records each, and every record is rejected.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

from broker.protocol import codec
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey, request_header_version
from broker.protocol.compression import Codec
from broker.protocol.primitives import uvarint
from broker.protocol.records import Record, build_batch
from broker.protocol.schema import FIXED_TYPES, Field, Struct
from broker.protocol.schema_text import schema

LIMIT = 100_000
"""How many elements a request may have."""

TOPIC = "strict"
"""A topic with one partition, which must exist where frames of `Kind.REJECTS` are sent."""

_FAR_FUTURE_MS = 1 << 52
_REJECTED_RECORDS = 1000
_REJECTING_BATCHES = (499, 3000)
"""With their topic, just not a wide request, and a wide one."""
_FIRST_VERSION_WITH_RECORD_ERRORS = 8
_LAST_VERSION_BY_NAME = 12

_VALUES: dict[str, int] = {
    "acks": -1,
    "timeout_ms": 1000,
    "max_wait_ms": 100,
    "min_bytes": 1,
    "max_bytes": 1 << 20,
    "replica_id": -1,
    "session_epoch": 0,
    "resource_type": 2,
    "partition_count": 1,
    "num_partitions": 1,
    "replication_factor": 1,
    "validate_only": 1,
    "election_type": 0,
    "count": 5,
}
"""What makes a request be carried out and not be refused for another reason."""


class Kind(Enum):
    LIE = "a count without elements"
    FILL = "filled up to the longest frame"
    MOST = "as many as are allowed, short"
    NAMES = "as many as are allowed, with names of 60 bytes"
    TAGS = "nothing but unknown tags"
    REJECTS = "small batches with very many records, all rejected"


@dataclass(frozen=True, slots=True)
class HugeFrame:
    api_key: int
    name: str
    version: int
    array: str
    kind: Kind
    frame: bytes
    """With its length."""

    @property
    def is_served(self) -> bool:
        return self.kind in (Kind.MOST, Kind.NAMES, Kind.REJECTS)


def huge_frames(api_key: int, version: int, frame_bytes: int) -> Iterator[HugeFrame]:
    """Nothing is longer than `frame_bytes`."""
    api = schema().apis[api_key]
    writer = _Writer(version, flexible=version in api.flexible)
    head = _header(api_key, version)
    room = frame_bytes - len(head) - 4096
    top = api.request.struct

    def made(array: str, kind: Kind, body: bytes) -> HugeFrame:
        size = struct.pack(">i", len(head) + len(body))
        return HugeFrame(api_key, api.name, version, array, kind, size + head + body)

    for path in _arrays(top, version):
        array = ".".join(field.name for field in path)
        last = path[-1]
        short = writer.element(last, "")
        yield made(array, Kind.LIE, writer.message(top, path, (1 << 31) - 2, b""))
        count = room // len(short)
        yield made(array, Kind.FILL, writer.message(top, path, count, short * count))
        count = LIMIT + 1 - len(path)
        yield made(array, Kind.MOST, writer.message(top, path, count, short * count))
        if last.type == "string" or (last.struct is not None and writer.has_name(last.struct)):
            count = min(LIMIT + 1 - len(path), room // len(writer.element(last, "0" * 60)))
            names = b"".join(writer.element(last, f"{number:060d}") for number in range(count))
            yield made(array, Kind.NAMES, writer.message(top, path, count, names))
    if writer.flexible:
        count = room // 2
        body = writer.message(top, (), 0, b"")[:-1] + uvarint(count) + b"\x7f\x00" * count
        yield made("(tags)", Kind.TAGS, body)
    if api_key == ApiKey.PRODUCE and version >= _FIRST_VERSION_WITH_RECORD_ERRORS:
        for batches in _REJECTING_BATCHES:
            yield _rejecting(min(version, _LAST_VERSION_BY_NAME), batches)


def _rejecting(version: int, count: int) -> HugeFrame:
    """Every batch is for the same partition, of a topic that allows no times in the future."""
    records = [Record(number, _FAR_FUTURE_MS, None, b"") for number in range(_REJECTED_RECORDS)]
    batch = build_batch(records, codec=Codec.ZSTD)
    data = m.PartitionProduceData(index=0, records=memoryview(batch))
    topic = m.TopicProduceData(name=TOPIC, partition_data=[data] * count)
    body = m.ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[topic])
    encoded = codec.encode_request(ApiKey.PRODUCE, version, body)
    frame = _header(ApiKey.PRODUCE, version) + b"".join(bytes(each) for each in encoded)
    array = f"(records of {count} batches)"
    size = struct.pack(">i", len(frame))
    return HugeFrame(ApiKey.PRODUCE, "Produce", version, array, Kind.REJECTS, size + frame)


def _header(api_key: int, version: int) -> bytes:
    tags = b"\0" if request_header_version(api_key, version) == 2 else b""
    return struct.pack(">hhih", api_key, version, 7, 4) + b"huge" + tags


def _arrays(top: Struct, version: int) -> Iterator[tuple[Field, ...]]:
    for field in top.in_version(version):
        if field.is_array:
            yield (field,)
        if field.struct is not None and (field.is_array or version not in field.null):
            for inner in _arrays(field.struct, version):
                yield (field, *inner)


class _Writer:
    def __init__(self, version: int, *, flexible: bool) -> None:
        self.version = version
        self.flexible = flexible

    def message(self, top: Struct, path: tuple[Field, ...], count: int, elements: bytes) -> bytes:
        """`path` leads to the array that has the elements; it may claim any count."""

        def huge(field: Field, rest: tuple[Field, ...]) -> bytes:
            if field.is_array:
                if not rest:
                    return self._count(count) + elements
                assert field.struct is not None
                return self._count(1) + self._struct(field.struct, "t", rest, huge)
            assert field.struct is not None
            return self._struct(field.struct, "t", rest, huge)

        return self._struct(top, "", path, huge)

    def element(self, field: Field, name: str) -> bytes:
        if field.struct is not None:
            return self._struct(field.struct, name)
        return self._value(field, name)

    def has_name(self, inner: Struct) -> bool:
        return any(f.type == "string" and not f.is_array for f in inner.in_version(self.version))

    def _struct(
        self,
        fields: Struct,
        name: str,
        path: tuple[Field, ...] = (),
        huge: Callable[[Field, tuple[Field, ...]], bytes] | None = None,
    ) -> bytes:
        parts = []
        for field in fields.in_version(self.version):
            if path and field is path[0] and huge is not None:
                parts.append(huge(field, path[1:]))
            elif field.is_array:
                parts.append(self._count(0))
            elif field.struct is not None:
                is_null = self.version in field.null
                parts.append(b"\xff" if is_null else self._struct(field.struct, ""))
            else:
                parts.append(self._value(field, name))
        return b"".join(parts) + (b"\0" if self.flexible else b"")

    def _value(self, field: Field, name: str) -> bytes:
        if field.type == "uuid":
            return bytes(16)
        if field.type in FIXED_TYPES:
            value = _VALUES.get(field.name, 0)
            return struct.pack(">" + FIXED_TYPES[field.type], value)
        text = name.encode() if field.type == "string" else b""
        if self.flexible and not field.inflexible:
            return uvarint(len(text) + 1) + text
        return struct.pack(">h" if field.type == "string" else ">i", len(text)) + text

    def _count(self, count: int) -> bytes:
        return uvarint(count + 1) if self.flexible else struct.pack(">i", count)
