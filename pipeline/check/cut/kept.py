"""The smaller history: elements with the values to keep, and their operations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from checkers.arrays import Ints64
from checkers.columns import OK
from checkers.cuts.mentions import POLL_MARKERS
from checkers.cuts.projection import is_kept
from checkers.cuts.unacknowledged import Unacknowledged
from harness.history import kinds
from pipeline.check.cut import stretches
from pipeline.check.histories import ELEMENT_COLUMNS

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame

RECORD_KINDS: Final = (kinds.SEND, kinds.SENT, kinds.RECORD, kinds.POLL)


def kept_elements(
    elements: DataFrame, values: Ints64, unacked: Broadcast[Unacknowledged]
) -> DataFrame:
    """The kept elements, with the columns of the lake.

    A join removes most of the other elements, before any element reaches Python.
    """
    from pyspark.sql import functions as F  # noqa: N812

    names = (*ELEMENT_COLUMNS, "process", "call", "outcome", "boxed")
    speaks = elements.where((F.col("outcome") > 0) & ~F.col("kind").isin(*POLL_MARKERS.tolist()))
    speaks = speaks.select(*names)
    is_usual = (
        F.col("kind").isin(*RECORD_KINDS)
        & (F.col("outcome") == OK)
        & F.col("offset").isNotNull()
        & F.col("value").isNotNull()
        & ~F.col("boxed")
    )
    table = pa.table({"value": pa.array(values), "asked": pa.array(np.ones(values.size, np.bool_))})
    asked = F.broadcast(elements.sparkSession.createDataFrame(table))
    joined = speaks.join(asked, "value", "left")
    likely = joined.where(~is_usual | F.col("asked").isNotNull()).select(*names)

    def kept(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            mentions = unacked.value.applied_to(stretches.mentions_from(batch))
            yield batch.filter(pa.array(is_kept(mentions, values_of.value)))

    values_of = elements.sparkSession.sparkContext.broadcast(values)
    return likely.mapInArrow(kept, likely.schema)


def kept_operations(operations: DataFrame, elements: DataFrame, samples: Ints64) -> DataFrame:
    """Operations of the elements, the samples, and all operations that are not about records.

    Each comes with its invocation or completion.
    """
    from pyspark.sql import functions as F  # noqa: N812

    spark = operations.sparkSession
    on_records = elements.where(F.col("kind").isin(*RECORD_KINDS)).select("row")
    fs = operations.join(F.broadcast(on_records.distinct()), "row", "left_semi")
    of_records = [row["f"] for row in fs.select("f").distinct().collect()]
    rows = elements.select("row").distinct()
    rows = rows.unionByName(spark.createDataFrame([(int(row),) for row in samples], "row int"))
    rows = rows.unionByName(operations.where(~F.col("f").isin(of_records)).select("row")).distinct()
    partners = operations.join(F.broadcast(rows), "row", "left_semi").select(
        F.col("partner").alias("row")
    )
    wanted = rows.unionByName(partners.where(F.col("row").isNotNull())).distinct()
    return operations.join(F.broadcast(wanted), "row", "left_semi")
