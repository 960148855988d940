"""Before the first step: where the records of failed sends, and of unknown ones, turned up.

Joins find them, so of the history only those sends come to Python, and what was said of their
records. What checkers/cuts/unsure.py makes of it goes to every task.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from checkers.columns import FAIL, INFO
from checkers.cuts.unsure import Unsure, settle
from harness.history import kinds
from pipeline.check.cut.told import COLUMNS, mentions_from

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

UNSURE_MAX: Final = 8_000_000
"""Records of such sends, of which every task has a table. If there are more, all are kept."""
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


def unsure_sends(elements: DataFrame) -> Unsure:
    """Of the elements of a run, with `boxed`."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.pandas.types import from_arrow_schema

    is_unsure = F.col("kind").isin(*_SENDS) & F.col("outcome").isin(INFO, FAIL)
    is_named = F.col("value").isNotNull() & ~F.col("boxed")
    unsure = elements.where(is_unsure).select("row", "value", "boxed")
    if unsure.count() > UNSURE_MAX:
        return Unsure.none()
    # An operation that sends a value twice finds it four times; it is not settled either way.
    about = unsure.where(is_named).select(F.col("value").alias("one"), F.col("row").alias("about"))
    records = elements.where(F.col("kind").isin(*_RECORDS) & (F.col("outcome") > 0))
    # A value that is no number is about its own operation; it joins with nothing.
    one = F.when(is_named, F.col("value"))
    joined = records.withColumn("one", one).join(F.broadcast(about), "one", "left")
    about_unsure = joined.where(F.col("about").isNotNull() | (is_unsure & ~is_named))
    parts = int(elements.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
    found = (
        about_unsure.select(*COLUMNS, F.coalesce("about", "row").alias("about"))
        .repartition(parts, "about")
        .mapInArrow(_settled, from_arrow_schema(_SCHEMA))
        .toArrow()
    )
    order = np.argsort(found["value"].to_numpy())
    return Unsure(*(found[name].to_numpy()[order] for name in _SCHEMA.names))


def _settled(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All about an operation is in one partition."""
    parts = [batch for batch in batches if batch.num_rows]
    if parts:
        table = pa.Table.from_batches(parts)
        found = settle(mentions_from(table), table["about"].to_numpy().astype(np.int64))
        columns = (found.value, found.key, found.offset, found.row)
        yield pa.RecordBatch.from_arrays([*map(pa.array, columns)], schema=_SCHEMA)
