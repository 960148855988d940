"""The lanes of processes: sorted, summarised by partition, and merged by their borders."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from typing import Final

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from checkers.cuts import lanes
from checkers.cuts.corrected_offsets import CorrectedOffsets
from checkers.cuts.lanes import Entries, Lanes
from pipeline.check.cut import stretches
from pipeline.check.cut.stretches import entries_from, numbers_of

ORDER: Final = ("process", "key", "role", "row", "number")
COLUMNS: Final = (*ORDER, "first", "count", "first_value", "last_value", "status")
ENTRIES: Final = pa.schema([stretches.SCHEMA.field(name) for name in COLUMNS])
SCHEMA: Final = pa.schema([pa.field("part", pa.int32()), pa.field("lanes", pa.binary())])


def summarise_lanes(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For mapInArrow, on a partition sorted by ORDER: one row, with the partition's number."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None, "only tasks call this"
    parts = [batch for batch in batches if batch.num_rows]
    if parts:
        found = lanes.summarise(entries_from(pa.Table.from_batches(parts)))
        row = [[context.partitionId()], [pickle.dumps(found)]]
        yield pa.RecordBatch.from_arrays(
            [pa.array(row[0], pa.int32()), pa.array(row[1])], schema=SCHEMA
        )


def corrected_by(
    corrections: CorrectedOffsets,
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """For mapInArrow: from rows with COLUMNS and `values` to rows with COLUMNS, corrected."""

    def corrected(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found = corrections.applied_to(entries_from(batch), numbers_of(batch["values"]))
            yield _rows(found)

    return corrected


def merged(parts: Iterable[tuple[int, bytes]]) -> Lanes | None:
    """The summary of all partitions; None if there are no records."""
    found = [pickle.loads(packed) for _, packed in sorted(parts)]  # noqa: S301 - our own tasks
    # Pairs are merged first: a fold would search all lanes so far for each further partition.
    while len(found) > 1:
        found = [reduce(lanes.merge, found[at : at + 2]) for at in range(0, len(found), 2)]
    return found[0] if found else None


def _rows(entries: Entries) -> pa.RecordBatch:
    columns = {
        **{name: getattr(entries, name) for name in COLUMNS if name != "count"},
        "count": entries.last - entries.first + 1,
    }
    return pa.RecordBatch.from_arrays(
        [pa.array(columns[each.name], each.type) for each in ENTRIES], schema=ENTRIES
    )
