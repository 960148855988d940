"""The steps by which one large history is judged, and what the driver holds meanwhile.

    elements -> unacknowledged sends (unacknowledged_sends.py)   where polls found their records
             -> stretches (stretches.py) -> lanes (lane_parts.py)  which neighbours differ
                                         -> ranges (ranges.py)     which records are removable
             -> kept elements (kept.py) -> the judge (judge.py)    one task, on what is kept

The driver holds summaries: some values for each range of offsets and each lane, the offsets of
unacknowledged sends, and the values to keep. If some records have other offsets than their
operations report, lanes are summarised again with the corrected offsets
(checkers/cuts/corrected_offsets.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from checkers.arrays import Ints64
from checkers.cuts import kept_whole, lanes, senders, slots
from checkers.cuts.corrected_offsets import CorrectedOffsets
from checkers.cuts.slots import Gap, Range
from checkers.cuts.unacknowledged import Unacknowledged
from harness.history import kinds
from harness.history.json_text import decode
from pipeline.check.cut import lane_parts, ranges, stretches
from pipeline.check.cut.kept import kept_elements, kept_operations
from pipeline.check.cut.stretches import CutSettings
from pipeline.check.cut.unacknowledged_sends import unacknowledged_sends
from pipeline.check.histories import ELEMENT_COLUMNS, OPERATION_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark import Broadcast
    from pyspark.sql import DataFrame, Row, SparkSession

KEPT_MAX: Final = 4_000_000
"""Elements of the smaller history that one task judges."""


@dataclass(frozen=True, slots=True)
class Uncut:
    """A history that cannot be judged in parts, and why."""

    why: str


@dataclass(frozen=True, slots=True)
class Smaller:
    """The smaller history, which one task judges."""

    operations: DataFrame
    elements: DataFrame
    removable: DataFrame
    """By key and range, which slots are removable."""
    width: int
    unacked: Broadcast[Unacknowledged]


class CutHistory:
    """One run, cut into parts: its elements and operations, with the columns of the lake."""

    def __init__(self, elements: DataFrame, operations: DataFrame, settings: CutSettings) -> None:
        from pyspark import StorageLevel
        from pyspark.sql import functions as F  # noqa: N812

        self.spark: SparkSession = elements.sparkSession
        self.settings = settings
        self.elements = elements.withColumn("boxed", F.col("text").isNotNull())
        self.operations = operations
        # Adaptive execution would join small partitions, but Python takes longest for stretches.
        self._tasks = int(self.spark.conf.get("spark.sql.shuffle.partitions") or 1)
        self.unacked = unacknowledged_sends(self.elements)
        self._unacked = self.spark.sparkContext.broadcast(self.unacked)
        self.parts = self._parts().persist(StorageLevel.DISK_ONLY)
        self._stored: list[DataFrame] = [self.parts]
        self._samples = self._last_of_each_kind()
        self._kept_anyway = np.union1d(self._sent_twice(), self._unclear())

    def forget(self) -> None:
        """Free the storage of all steps."""
        for each in self._stored:
            each.unpersist()
        self._unacked.destroy()

    def smaller(self, corrections: CorrectedOffsets | None = None) -> Smaller | Uncut:
        """The smaller history; `corrections` are known when it was judged once without them."""
        from pyspark.sql import functions as F  # noqa: N812
        from pyspark.sql.pandas.types import from_arrow_schema

        records = self.parts.where(F.col("what") == stretches.RECORDS)
        values, gaps = self._reported_lanes
        if corrections is not None:
            moved = records.select(*lane_parts.COLUMNS, "values").mapInArrow(
                lane_parts.corrected_by(corrections), from_arrow_schema(lane_parts.ENTRIES)
            )
            more, more_gaps = self._lanes(moved)
            values, gaps = np.union1d(values, more), [*gaps, *more_gaps]
        found, removable = self._summaries(gaps)
        keys, rows = self._kept_whole
        rows = np.concatenate([rows, self._samples, *(each.unread_senders for each in found)])
        about = self._values_about(keys, rows)
        if about is None:
            return Uncut(f"more than {KEPT_MAX:,} of its records must be kept with their whole log")
        void = self.unacked.void_of(slots.keys_with_gaps(found))
        parts = [values, about, void, self._kept_anyway, *(each.kept for each in found)]
        elements = self._store(kept_elements(self.elements, np.unique(np.concatenate(parts)),
                                             self._unacked))  # fmt: skip
        if elements.count() > KEPT_MAX:
            return Uncut(f"more than {KEPT_MAX:,} of its elements may be named by a finding")
        operations = kept_operations(self.operations, elements, self._samples)
        return Smaller(
            operations.select(*OPERATION_COLUMNS),
            elements.select(*ELEMENT_COLUMNS),
            removable,
            self.settings.width,
            self._unacked,
        )

    def _store(self, frame: DataFrame) -> DataFrame:
        from pyspark import StorageLevel

        self._stored.append(frame.persist(StorageLevel.DISK_ONLY))
        return frame

    def _parts(self) -> DataFrame:
        from pyspark.sql.pandas.types import from_arrow_schema

        shared = self._unacked
        return self.elements.select(*stretches.COLUMNS).mapInArrow(
            stretches.stretches_of_parts(self.settings, lambda: shared.value),
            from_arrow_schema(stretches.SCHEMA),
        )

    def _lanes(self, records: DataFrame) -> tuple[Ints64, list[Gap]]:
        from pyspark.sql.pandas.types import from_arrow_schema

        parts = (
            records.repartitionByRange(self._tasks, *lane_parts.ORDER)
            .sortWithinPartitions(*lane_parts.ORDER)
            .mapInArrow(lane_parts.summarise_lanes, from_arrow_schema(lane_parts.SCHEMA))
        )
        found = lane_parts.merged((row["part"], bytes(row["lanes"])) for row in parts.collect())
        if found is None:
            return np.empty(0, np.int64), []
        return lanes.conclude(found), list(found.gaps)

    def _summaries(self, gaps: Iterable[Gap]) -> tuple[list[Range], DataFrame]:
        """Summaries of all ranges, and a frame of their removable slots, which Spark keeps."""
        from pyspark.sql import functions as F  # noqa: N812

        questions = ranges.by_range(gaps, self.settings.width)
        first = self._summarised(questions)
        collected = [ranges.range_from(bytes(row["summary"])) for row in _summaries_of(first)]
        late = slots.late_ranges(collected)
        if late:
            again = {
                place: replace(questions.get(place, ranges.Question()), before=before)
                for place, before in late.items()
            }
            names = self.spark.createDataFrame(list(late), "key int, range long")
            second = self._summarised(again, names)
            rest = first.join(F.broadcast(names), list(ranges.PLACE), "left_anti")
            collected += [ranges.range_from(bytes(row["summary"])) for row in _summaries_of(second)]
            first = rest.unionByName(second)
        return collected, first.select(*ranges.PLACE, "removable")

    def _summarised(
        self, questions: Mapping[tuple[int, int], ranges.Question], only: DataFrame | None = None
    ) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812
        from pyspark.sql.pandas.types import from_arrow_schema

        chosen = self.parts.where(
            F.col("what").isin(stretches.RECORDS, stretches.END) & (F.col("range") >= 0)
        )
        if only is not None:
            chosen = chosen.join(F.broadcast(only), list(ranges.PLACE), "left_semi")
        summarise = ranges.summarise_range(self.settings, questions)
        return self._store(
            chosen.groupBy(*ranges.PLACE).applyInArrow(summarise, from_arrow_schema(ranges.SUMMARY))
        )

    def _sent_twice(self) -> Ints64:
        """Values that several parts send; only values in overlapping intervals are counted."""
        from pyspark.sql import functions as F  # noqa: N812

        spans = self.parts.where(F.col("what") == stretches.SENT).select(
            "first_value", "last_value"
        )
        low, high = (np.array(column, np.int64) for column in _columns(spans))
        both = senders.overlaps([senders.Sent(low, high, low[:0])])
        if not both.low.size:
            return low[:0]
        sends = self.elements.where(
            F.col("kind").isin(kinds.SEND, kinds.SENT) & (F.col("outcome") > 0) & ~F.col("boxed")
        )

        # A condition for each interval would be a plan that Spark cannot hold: there may be
        # thousands if batches do not follow the order of the history.
        def in_both(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                yield batch.filter(pa.array(both.holds(np.asarray(batch["value"]))))

        named = sends.where(F.col("value").isNotNull()).select("value")
        near = named.mapInArrow(in_both, "value long")
        twice = near.groupBy("value").count().where(F.col("count") > 1)
        return np.array([row["value"] for row in twice.select("value").collect()], np.int64)

    def _unclear(self) -> Ints64:
        from pyspark.sql import functions as F  # noqa: N812

        rows = (
            self.parts.where(F.col("what") == stretches.VALUES).select("values").toLocalIterator()
        )
        found = [stretches.ints_of(bytes(row["values"])) for row in rows]
        return np.unique(np.concatenate([np.empty(0, np.int64), *found]))

    def _last_of_each_kind(self) -> Ints64:
        """The last row of each kind of operation and outcome, so that checkers see each kind."""
        from pyspark.sql import functions as F  # noqa: N812

        completed = self.operations.where((F.col("type") != "invoke") & (F.col("process") >= 0))
        rows = completed.groupBy("f", "type").agg(F.max("row").alias("row")).collect()
        return np.array([row["row"] for row in rows], np.int64)

    @cached_property
    def _reported_lanes(self) -> tuple[Ints64, list[Gap]]:
        """Values to keep and gaps of all lanes, by the offsets that operations report."""
        from pyspark.sql import functions as F  # noqa: N812

        records = self.parts.where(F.col("what") == stretches.RECORDS)
        return self._lanes(records.select(*lane_parts.COLUMNS))

    @cached_property
    def _kept_whole(self) -> tuple[Ints64, Ints64]:
        """Keys whose records are all kept, and rows whose values are all kept."""
        from pyspark.sql import functions as F  # noqa: N812

        empty = np.empty(0, np.int64)

        def part(row: Row) -> kept_whole.KeptWhole:
            if row["what"] == stretches.KEYS:
                return kept_whole.KeptWhole(empty, stretches.ints_of(bytes(row["values"])), {})
            return kept_whole.KeptWhole(empty, empty, {row["row"]: row["role"]})

        kinds_of_rows = F.col("what").isin(stretches.KEYS, stretches.BORDER)
        found = map(part, self.parts.where(kinds_of_rows).toLocalIterator())
        _, keys, rows = kept_whole.merge(found)
        return np.union1d(keys, self._keyed()), rows

    def _keyed(self) -> Ints64:
        """Keys of records with a record key, and of the logs that have them."""
        from pyspark.sql import functions as F  # noqa: N812

        named = self.elements.where(F.col("key").isNotNull())
        rows = named.groupBy("key_id").agg(F.first("key").alias("key")).toLocalIterator()
        return kept_whole.of_keyed_records({row["key_id"]: str(decode(row["key"])) for row in rows})

    def _values_about(self, keys: Ints64, rows: Ints64) -> Ints64 | None:
        """Values of these keys, and of all that these rows mention; None if there are too many."""
        from pyspark.sql import functions as F  # noqa: N812

        def about(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                values = kept_whole.values_about(stretches.mentions_from(batch), keys, rows)
                yield pa.RecordBatch.from_arrays([pa.array(values)], ["value"])

        mine = self.elements.where(
            F.col("row").isin([int(row) for row in rows])
            | F.col("key_id").isin([int(key) for key in keys])
        )
        values = mine.select(*stretches.COLUMNS).mapInArrow(about, "value long").distinct()
        found = values.limit(KEPT_MAX + 1).toArrow()["value"].to_numpy()
        return found if found.size <= KEPT_MAX else None


def _summaries_of(frame: DataFrame) -> list[Any]:
    return frame.select("summary").collect()


def _columns(frame: DataFrame) -> tuple[list[Any], list[Any]]:
    rows = frame.collect()
    return [row[0] for row in rows], [row[1] for row in rows]
