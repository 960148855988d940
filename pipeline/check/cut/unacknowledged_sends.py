"""Before the first step: where polls found the records of unacknowledged sends.

Joins select these sends and all mentions of their records, so no other element reaches Python. The
result of checkers/cuts/unacknowledged.py is broadcast to every task.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from checkers.columns import FAIL, INFO
from checkers.cuts.unacknowledged import Unacknowledged, settle
from harness.history import kinds
from pipeline.check.cut.stretches import COLUMNS, mentions_from

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

UNACKNOWLEDGED_MAX: Final = 8_000_000
"""Most records of such sends that are broadcast. If there are more, all of them are kept."""
_RECORDS: Final = (kinds.SEND, kinds.SENT, kinds.RECORD)
_SENDS: Final = (kinds.SEND, kinds.SENT)
_SCHEMA: Final = pa.schema(
    [
        pa.field("value", pa.int64()),
        pa.field("key", pa.int32()),
        pa.field("offset", pa.int64()),
        pa.field("row", pa.int64()),
    ]
)


def unacknowledged_sends(elements: DataFrame) -> Unacknowledged:
    """The settled and void sends of a run; `elements` have the column `boxed`."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.pandas.types import from_arrow_schema

    is_unacknowledged = F.col("kind").isin(*_SENDS) & F.col("outcome").isin(INFO, FAIL)
    is_named = F.col("value").isNotNull() & ~F.col("boxed")
    unacked = elements.where(is_unacknowledged).select("row", "value", "boxed")
    if unacked.count() > UNACKNOWLEDGED_MAX:
        return Unacknowledged.none()
    # An operation that sends a value twice joins it four times, and is never settled.
    about = unacked.where(is_named).select(F.col("value").alias("one"), F.col("row").alias("about"))
    records = elements.where(F.col("kind").isin(*_RECORDS) & (F.col("outcome") > 0))
    # A value that is no integer joins with nothing, and is about its own operation.
    one = F.when(is_named, F.col("value"))
    joined = records.withColumn("one", one).join(F.broadcast(about), "one", "left")
    about_unacked = joined.where(F.col("about").isNotNull() | (is_unacknowledged & ~is_named))
    parts = int(elements.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
    found = (
        about_unacked.select(*COLUMNS, F.coalesce("about", "row").alias("about"))
        .repartition(parts, "about")
        .mapInArrow(_settled, from_arrow_schema(_SCHEMA))
        .toArrow()
    )
    order = np.argsort(found["value"].to_numpy())
    return Unacknowledged(*(found[name].to_numpy()[order] for name in _SCHEMA.names))


def _settled(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Each partition has all mentions about its operations."""
    parts = [batch for batch in batches if batch.num_rows]
    if parts:
        table = pa.Table.from_batches(parts)
        found = settle(mentions_from(table), table["about"].to_numpy().astype(np.int64))
        columns = (found.value, found.key, found.offset, found.row)
        yield pa.RecordBatch.from_arrays([*map(pa.array, columns)], schema=_SCHEMA)
