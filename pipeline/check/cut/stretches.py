"""First step: a batch of elements becomes rows of stretches, and rows that summarise the batch.

A part is one batch of elements, as Spark passes them to Python, in any order. A stretch is a few
dozen records in one row, so the shuffles of later steps move a fraction of the history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]

from checkers.arrays import Ints64
from checkers.columns import OK
from checkers.cuts import kept_whole, senders
from checkers.cuts.lanes import Entries, PartEntries
from checkers.cuts.mentions import NO_STAMP, Mentions
from checkers.cuts.unacknowledged import Unacknowledged
from harness.history import kinds

COLUMNS: Final = (
    *("row", "number", "kind", "key_id", "offset", "value", "boxed", "process", "call"),
    *("outcome", "timestamp"),
)
"""Columns of the elements; `boxed` says whether there is a `text`."""

RECORDS, END, SENT, VALUES, KEYS, BORDER = range(6)
"""Kinds of rows: a stretch of records, or a single unclear mention; an answer about the end of a
log; an interval of values that the part sends; values to keep; keys whose records are all kept; an
operation that may continue in the next part."""

SCHEMA: Final = pa.schema(
    [
        pa.field("what", pa.int8()),
        pa.field("process", pa.int32()),
        pa.field("key", pa.int32()),
        pa.field("role", pa.int8()),
        pa.field("row", pa.int64()),
        pa.field("number", pa.int64()),
        pa.field("call", pa.int64()),
        pa.field("status", pa.int8()),
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
_FAR: Final = 1 << 16
"""Elements between two rows of a batch that were not written side by side."""


@dataclass(frozen=True, slots=True)
class CutSettings:
    """How a history is cut into parts."""

    width: int = 1 << 16
    """Offsets in a range, small enough that a hot log has many ranges and tasks are even."""
    stamps: bool = False
    """Whether timestamps are judged."""
    append_time: bool = False
    """Whether brokers set the timestamps (LogAppendTime)."""


def mentions_from(batch: pa.RecordBatch | pa.Table) -> Mentions:
    """Mentions of rows with COLUMNS."""

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


def stretches_of_parts(
    settings: CutSettings, unacked: Callable[[], Unacknowledged]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """For mapInArrow: from batches of elements to rows of SCHEMA."""

    def cut(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                mentions = unacked().applied_to(mentions_from(batch))
                yield from _records(mentions, settings)
                yield _summary(mentions, settings)

    return cut


def entries_from(batch: pa.RecordBatch | pa.Table) -> Entries:
    """Entries of rows of the kind RECORDS."""
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
        status=np.asarray(batch["status"]),
    )


def ints_of(packed: bytes) -> Ints64:
    return np.frombuffer(packed, np.int64)


def numbers_of(column: pa.Array | pa.ChunkedArray) -> Ints64:
    """All numbers of all rows, row by row."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return np.concatenate([np.empty(0, np.int64), *map(_unpacked, chunks)])


def _unpacked(chunk: pa.Array) -> Ints64:
    offsets, data = chunk.buffers()[1:]
    if data is None:
        return np.empty(0, np.int64)
    ends = np.frombuffer(offsets, np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
    return np.frombuffer(data, np.int64)[ends[0] // 8 : ends[-1] // 8]


def _records(mentions: Mentions, settings: CutSettings) -> Iterator[pa.RecordBatch]:
    part = PartEntries.of(mentions, settings.width)
    entries, located, unclear = part.entries, part.located, part.unclear
    size = entries.row.size
    if not size:
        return
    count = entries.last - entries.first + 1
    call = np.concatenate((located.call[part.stretches.first], unclear.call))
    stamps = np.concatenate((located.stamp, unclear.stamp))
    yield pa.RecordBatch.from_arrays(
        [
            pa.array(np.full(size, RECORDS, np.int8)),
            *map(pa.array, (entries.process, entries.key, entries.role, entries.row)),
            *map(pa.array, (entries.number, call, entries.status)),
            pa.array(np.where(entries.first >= 0, entries.first // settings.width, _NO_RANGE)),
            *map(pa.array, (entries.first, count, entries.first_value, entries.last_value)),
            _packed(part.values, count),
            _packed(stamps, count) if settings.stamps else pa.nulls(size, pa.binary()),
        ],
        schema=SCHEMA,
    )


def _packed(numbers: Ints64, count: Ints64) -> pa.Array:
    """A binary column; each row has as many of the numbers as `count` says."""
    offsets = np.concatenate(([0], np.cumsum(count))).astype(np.int32) * np.int32(8)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(numbers))]
    return pa.Array.from_buffers(pa.binary(), count.size, buffers)


def _summary(mentions: Mentions, settings: CutSettings) -> pa.RecordBatch:
    """The rows of all kinds but RECORDS, which are few."""
    unclear = np.unique(mentions.value[mentions.is_unclear & mentions.is_int])
    found = kept_whole.summarise(mentions)
    rows = [
        *_ends(mentions, settings),
        *_sent(mentions),
        {"what": VALUES, "values": np.union1d(unclear, found.values).tobytes()},
        {"what": KEYS, "values": found.keys.tobytes()},
        *({"what": BORDER, "row": row, "role": mask} for row, mask in found.border.items()),
    ]
    return pa.RecordBatch.from_pylist(rows, schema=SCHEMA)


def _ends(mentions: Mentions, settings: CutSettings) -> Iterator[dict[str, Any]]:
    chosen = (mentions.kind == kinds.HIGH) & (mentions.outcome == OK) & (mentions.offset > 0)
    for at in np.flatnonzero(chosen).tolist():
        last = int(mentions.offset[at]) - 1
        yield {
            "what": END,
            "key": int(mentions.key[at]),
            "row": int(mentions.row[at]),
            "range": last // settings.width,
            "first": last,
        }


def _sent(mentions: Mentions) -> Iterator[dict[str, Any]]:
    # A batch may begin in one file and end in another one, far away in the history. One interval
    # for both would overlap with all between them.
    breaks = np.flatnonzero(np.abs(np.diff(mentions.number)) > _FAR) + 1
    borders = [0, *breaks.tolist(), mentions.number.size]
    for begin, end in pairwise(borders):
        sent = senders.summarise(senders.sent_values(mentions.select(slice(begin, end))))
        for low, high in zip(sent.low.tolist(), sent.high.tolist(), strict=True):
            yield {"what": SENT, "first_value": low, "last_value": high}
        if sent.twice.size:
            yield {"what": VALUES, "values": sent.twice.tobytes()}
