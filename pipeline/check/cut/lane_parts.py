"""The lanes of processes: sorted, cut anywhere, and put together by their borders."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Final

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from checkers.cuts import lanes
from checkers.cuts.lanes import Lanes
from pipeline.check.cut.told import entries_from

ORDER: Final = ("process", "key", "role", "row", "number")
COLUMNS: Final = (*ORDER, "first", "count", "first_value", "last_value", "plain")
SCHEMA: Final = pa.schema([pa.field("part", pa.int32()), pa.field("lanes", pa.binary())])


def summarise_lanes(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For mapInArrow, of a partition sorted by ORDER: one row, with the partition's number."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None, "only tasks call this"
    parts = [lanes.summarise(entries_from(batch)) for batch in batches if batch.num_rows]
    if parts:
        row = [[context.partitionId()], [pickle.dumps(reduce(lanes.merge, parts))]]
        yield pa.RecordBatch.from_arrays(
            [pa.array(row[0], pa.int32()), pa.array(row[1])], schema=SCHEMA
        )


def merged(parts: Iterable[tuple[int, bytes]]) -> Lanes | None:
    """Of all partitions, in their order; None if there are no records."""
    found = [pickle.loads(packed) for _, packed in sorted(parts)]  # noqa: S301 - our own tasks
    return reduce(lanes.merge, found) if found else None
