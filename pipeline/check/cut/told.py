"""First step: a part of the elements, as stretches of records and as what they say of the part.

Parts are the batches in which Spark hands over the elements; they need no order. A stretch is a few
dozen records in one row, so what moves between tasks afterwards is a fraction of the history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]

from checkers.arrays import Ints64
from checkers.columns import OK
from checkers.cuts import senders, strange
from checkers.cuts.lanes import Cut, Entries
from checkers.cuts.mentions import NO_STAMP, Mentions
from checkers.cuts.unsure import Unsure
from harness.history import kinds

COLUMNS: Final = (
    *("row", "number", "kind", "key_id", "offset", "value", "boxed", "process", "call"),
    *("outcome", "timestamp"),
)
"""Of the elements; `boxed` is whether `text` is there."""

RECORDS, END, SENT, VALUES, KEYS, BORDER = range(6)
"""What a row is about: records side by side, or a single odd mention; an answer about the end of a
log; values that the part sent; values to keep; keys whose records are kept; what an operation does
that may go on in the next part."""

SCHEMA: Final = pa.schema(
    [
        pa.field("what", pa.int8()),
        pa.field("process", pa.int32()),
        pa.field("key", pa.int32()),
        pa.field("role", pa.int8()),
        pa.field("row", pa.int64()),
        pa.field("number", pa.int64()),
        pa.field("call", pa.int64()),
        pa.field("sort", pa.int8()),
        pa.field("range", pa.int64()),
        pa.field("first", pa.int64()),
        pa.field("count", pa.int64()),
        pa.field("first_value", pa.int64()),
        pa.field("last_value", pa.int64()),
        pa.field("values", pa.binary()),
        pa.field("stamps", pa.binary()),
    ]
)
_NO_RANGE: Final = -1


@dataclass(frozen=True, slots=True)
class Way:
    """How a history is cut."""

    width: int = 1 << 16
    """Offsets in a range: enough of them that tasks have as much to do as each other."""
    stamps: bool = False
    """Whether timestamps are judged."""
    append_time: bool = False


def mentions_from(batch: pa.RecordBatch | pa.Table) -> Mentions:
    """Of rows with COLUMNS."""

    def column(name: str, null: Any = None) -> npt.NDArray[Any]:
        values = batch[name]
        if values.null_count:
            values = pc.fill_null(values, null)
        return np.asarray(values)

    value = batch["value"]
    return Mentions(
        row=column("row").astype(np.int64),
        number=column("number"),
        kind=column("kind"),
        key=column("key_id", -1),
        offset=column("offset", -1),
        value=column("value", 0),
        is_int=np.asarray(pc.is_valid(value)) & ~column("boxed").astype(np.bool_),
        process=column("process"),
        call=column("call").astype(np.int64),
        outcome=column("outcome"),
        stamp=column("timestamp", NO_STAMP),
        is_settled=np.zeros(batch.num_rows, np.bool_),
        is_void=np.zeros(batch.num_rows, np.bool_),
    )


def told_by_parts(
    way: Way, unsure: Callable[[], Unsure]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """For mapInArrow: rows of SCHEMA, of each batch of elements."""

    def told(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                mentions = unsure().told(mentions_from(batch))
                yield from _records(mentions, way)
                yield _few(mentions, way)

    return told


def entries_from(batch: pa.RecordBatch | pa.Table) -> Entries:
    """Of rows about records."""
    first = np.asarray(batch["first"])
    return Entries(
        process=np.asarray(batch["process"]),
        key=np.asarray(batch["key"]),
        role=np.asarray(batch["role"]),
        row=np.asarray(batch["row"]),
        number=np.asarray(batch["number"]),
        first=first,
        last=first + np.asarray(batch["count"]) - 1,
        first_value=np.asarray(batch["first_value"]),
        last_value=np.asarray(batch["last_value"]),
        sort=np.asarray(batch["sort"]),
    )


def ints_of(packed: bytes) -> Ints64:
    return np.frombuffer(packed, np.int64)


def numbers_of(column: pa.Array | pa.ChunkedArray) -> Ints64:
    """All numbers of all rows, side by side."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return np.concatenate([np.empty(0, np.int64), *map(_unpacked, chunks)])


def _unpacked(chunk: pa.Array) -> Ints64:
    offsets, data = chunk.buffers()[1:]
    if data is None:
        return np.empty(0, np.int64)
    ends = np.frombuffer(offsets, np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
    return np.frombuffer(data, np.int64)[ends[0] // 8 : ends[-1] // 8]


def _records(mentions: Mentions, way: Way) -> Iterator[pa.RecordBatch]:
    cut = Cut.of(mentions, way.width)
    entries, placed, odd = cut.entries, cut.placed, cut.odd
    size = entries.row.size
    if not size:
        return
    count = entries.last - entries.first + 1
    call = np.concatenate((placed.call[cut.stretches.first], odd.call))
    stamps = np.concatenate((placed.stamp, odd.stamp))
    yield pa.RecordBatch.from_arrays(
        [
            pa.array(np.full(size, RECORDS, np.int8)),
            *map(pa.array, (entries.process, entries.key, entries.role, entries.row)),
            *map(pa.array, (entries.number, call, entries.sort)),
            pa.array(np.where(entries.first >= 0, entries.first // way.width, _NO_RANGE)),
            *map(pa.array, (entries.first, count, entries.first_value, entries.last_value)),
            _packed(cut.values, count),
            _packed(stamps, count) if way.stamps else pa.nulls(size, pa.binary()),
        ],
        schema=SCHEMA,
    )


def _packed(numbers: Ints64, count: Ints64) -> pa.Array:
    """For each row its `count` numbers, side by side."""
    offsets = np.concatenate(([0], np.cumsum(count))).astype(np.int32) * np.int32(8)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(numbers))]
    return pa.Array.from_buffers(pa.binary(), count.size, buffers)


def _few(mentions: Mentions, way: Way) -> pa.RecordBatch:
    """The rows of which a part has few."""
    odd = np.unique(mentions.value[mentions.is_odd & mentions.is_int])
    found = strange.summarise(mentions)
    rows = [
        *_ends(mentions, way),
        *_sent(mentions),
        {"what": VALUES, "values": np.union1d(odd, found.values).tobytes()},
        {"what": KEYS, "values": found.keys.tobytes()},
        *({"what": BORDER, "row": row, "role": mask} for row, mask in found.border.items()),
    ]
    return pa.RecordBatch.from_pylist(rows, schema=SCHEMA)


def _ends(mentions: Mentions, way: Way) -> Iterator[dict[str, Any]]:
    chosen = (mentions.kind == kinds.HIGH) & (mentions.outcome == OK) & (mentions.offset > 0)
    for at in np.flatnonzero(chosen).tolist():
        last = int(mentions.offset[at]) - 1
        yield {
            "what": END,
            "key": int(mentions.key[at]),
            "row": int(mentions.row[at]),
            "range": last // way.width,
            "first": last,
        }


def _sent(mentions: Mentions) -> Iterator[dict[str, Any]]:
    sent = senders.summarise(senders.sent_values(mentions))
    for low, high in zip(sent.low.tolist(), sent.high.tolist(), strict=True):
        yield {"what": SENT, "first_value": low, "last_value": high}
    if sent.twice.size:
        yield {"what": VALUES, "values": sent.twice.tobytes()}
