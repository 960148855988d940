"""The steps by which one large history is judged, and what the driver holds meanwhile.

    elements -> stretches (told.py) -> lanes (lane_parts.py)      which neighbours differ
                                    -> ranges (ranges.py)         which records are dull
             -> kept elements -> the judge of pipeline/check      in one task, of what is left

The driver holds summaries: some values for each range of offsets and each lane, and the values to
keep. If some records turn out to be elsewhere than their operations say, lanes are looked at once
more by the places that they have (checkers/cuts/places.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from checkers.arrays import Ints64
from checkers.cuts import lanes, senders, slots, strange
from checkers.cuts.places import Places
from checkers.cuts.projection import is_kept
from checkers.cuts.slots import Gap, Range
from harness.history import kinds
from harness.history.json_text import decode
from pipeline.check.cut import lane_parts, ranges, told
from pipeline.check.cut.told import Way
from pipeline.check.histories import ELEMENT_COLUMNS, OPERATION_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

KEPT_MAX: Final = 4_000_000
"""Elements of the smaller history that one task judges."""
_RECORD_KINDS: Final = (kinds.SEND, kinds.SENT, kinds.RECORD, kinds.POLL)


@dataclass(frozen=True, slots=True)
class Uncut:
    """A history that cannot be judged in parts, and why."""

    why: str


@dataclass(frozen=True, slots=True)
class Smaller:
    """What is left of a history for one task to judge."""

    operations: DataFrame
    elements: DataFrame
    dull: DataFrame
    """By key and range, which records are dull."""
    width: int


class CutHistory:
    """One run's elements and operations, with the columns of the lake."""

    def __init__(self, elements: DataFrame, operations: DataFrame, way: Way) -> None:
        from pyspark import StorageLevel
        from pyspark.sql import functions as F  # noqa: N812

        self.spark: SparkSession = elements.sparkSession
        self.way = way
        self.elements = elements.withColumn("boxed", F.col("text").isNotNull())
        self.operations = operations
        self.told = self._told().persist(StorageLevel.DISK_ONLY)
        self._ranges: DataFrame | None = None

    def forget(self) -> None:
        """Free what the steps have stored."""
        self.told.unpersist()
        if self._ranges is not None:
            self._ranges.unpersist()

    def smaller(self, places: Places | None = None) -> Smaller | Uncut:
        """`places`: those of records that are elsewhere than they say, once they are known."""
        values, gaps = self._lanes(self.told)
        if places is not None:
            more, more_gaps = self._lanes(self._told(places))
            values, gaps = np.union1d(values, more), [*gaps, *more_gaps]
        found = self._summaries(gaps)
        keys, rows = self._strange()
        rows = np.concatenate([rows, self._samples(), *(each.senders_unread for each in found)])
        about = self._about(keys, rows)
        if about is None:
            return Uncut(f"of more than {KEPT_MAX:,} of its records the whole log must be known")
        parts = [values, about, self._sent_twice(), self._odd(), *(each.kept for each in found)]
        return self._restricted(np.unique(np.concatenate(parts)), rows)

    def _told(self, places: Places | None = None) -> DataFrame:
        from pyspark.sql.pandas.types import from_arrow_schema

        return self.elements.select(*told.COLUMNS).mapInArrow(
            told.told_by_parts(self.way, places), from_arrow_schema(told.SCHEMA)
        )

    def _lanes(self, said: DataFrame) -> tuple[Ints64, list[Gap]]:
        from pyspark.sql import functions as F  # noqa: N812
        from pyspark.sql.pandas.types import from_arrow_schema

        records = said.where(F.col("what") == told.RECORDS).select(*lane_parts.COLUMNS)
        parts = (
            records.repartitionByRange(*lane_parts.ORDER)
            .sortWithinPartitions(*lane_parts.ORDER)
            .mapInArrow(lane_parts.summarise_lanes, from_arrow_schema(lane_parts.SCHEMA))
        )
        found = lane_parts.merged((row["part"], bytes(row["lanes"])) for row in parts.collect())
        if found is None:
            return np.empty(0, np.int64), []
        return lanes.conclude(found), list(found.gaps)

    def _summaries(self, gaps: Iterable[Gap]) -> list[Range]:
        """Ranges of offsets without their dull slots, which stay where they are."""
        from pyspark import StorageLevel
        from pyspark.sql import functions as F  # noqa: N812

        questions = ranges.by_range(gaps, self.way.width)
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
        self._ranges = first.select(*ranges.PLACE, "dull").persist(StorageLevel.DISK_ONLY)
        return collected

    def _summarised(
        self, questions: Mapping[tuple[int, int], ranges.Question], only: DataFrame | None = None
    ) -> DataFrame:
        from pyspark import StorageLevel
        from pyspark.sql import functions as F  # noqa: N812
        from pyspark.sql.pandas.types import from_arrow_schema

        chosen = self.told.where(F.col("what").isin(told.RECORDS, told.END) & (F.col("range") >= 0))
        if only is not None:
            chosen = chosen.join(F.broadcast(only), list(ranges.PLACE), "left_semi")
        return (
            chosen.groupBy(*ranges.PLACE)
            .applyInArrow(
                ranges.summarise_range(self.way, questions), from_arrow_schema(ranges.SUMMARY)
            )
            .persist(StorageLevel.DISK_ONLY)
        )

    def _sent_twice(self) -> Ints64:
        """Of all values that several parts may have sent."""
        from pyspark.sql import functions as F  # noqa: N812

        spans = self.told.where(F.col("what") == told.SENT).select("first_value", "last_value")
        low, high = (np.array(column, np.int64) for column in _columns(spans))
        both = senders.overlaps([senders.Sent(low, high, low[:0])])
        if not both.low.size:
            return low[:0]
        value = F.col("value")
        near = F.lit(False)
        for lowest, highest in zip(both.low.tolist(), both.high.tolist(), strict=True):
            near = near | value.between(lowest, highest)
        sends = self.elements.where(
            F.col("kind").isin(kinds.SEND, kinds.SENT) & (F.col("outcome") > 0) & ~F.col("boxed")
        )
        twice = sends.where(near).groupBy("value").count().where(F.col("count") > 1)
        return np.array([row["value"] for row in twice.select("value").collect()], np.int64)

    def _odd(self) -> Ints64:
        from pyspark.sql import functions as F  # noqa: N812

        rows = self.told.where(F.col("what") == told.VALUES).select("values").toLocalIterator()
        found = [told.ints_of(bytes(row["values"])) for row in rows]
        return np.unique(np.concatenate([np.empty(0, np.int64), *found]))

    def _samples(self) -> Ints64:
        """The last completed row of each kind of operation, so that no kind is missing."""
        from pyspark.sql import functions as F  # noqa: N812

        completed = self.operations.where((F.col("type") != "invoke") & (F.col("process") >= 0))
        rows = completed.groupBy("f").agg(F.max("row").alias("row")).collect()
        return np.array([row["row"] for row in rows], np.int64)

    def _strange(self) -> tuple[Ints64, Ints64]:
        """Keys whose records are all kept, and rows that are kept with all that they mention."""
        from pyspark.sql import functions as F  # noqa: N812

        empty = np.empty(0, np.int64)
        border: dict[int, int] = {}
        keys = [empty]
        for row in self.told.where(F.col("what").isin(told.KEYS, told.BORDER)).toLocalIterator():
            if row["what"] == told.KEYS:
                keys.append(told.ints_of(bytes(row["values"])))
            else:
                border[row["row"]] = border.get(row["row"], 0) | row["role"]
        _, found, rows = strange.merge(
            [strange.Strange(empty, np.unique(np.concatenate(keys)), border)]
        )
        return np.union1d(found, self._keyed()), rows

    def _keyed(self) -> Ints64:
        """Keys of records with keys of their own, and of the logs that they are in."""
        from pyspark.sql import functions as F  # noqa: N812

        named = self.elements.where(F.col("key").isNotNull())
        if not named.where(F.col("key").contains("/")).limit(1).collect():
            return np.empty(0, np.int64)
        rows = named.select("key_id", "key").distinct().toLocalIterator()
        return strange.of_keyed_records({row["key_id"]: str(decode(row["key"])) for row in rows})

    def _about(self, keys: Ints64, rows: Ints64) -> Ints64 | None:
        """Values of these keys, or that these operations mention; None if there are too many."""
        from pyspark.sql import functions as F  # noqa: N812

        def about(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                values = strange.values_about(told.mentions_from(batch), keys, rows)
                yield pa.RecordBatch.from_arrays([pa.array(values)], ["value"])

        mine = self.elements.where(
            F.col("row").isin([int(row) for row in rows])
            | F.col("key_id").isin([int(key) for key in keys])
        )
        values = mine.select(*told.COLUMNS).mapInArrow(about, "value long").distinct()
        found = values.limit(KEPT_MAX + 1).toArrow()["value"].to_numpy()
        return found if found.size <= KEPT_MAX else None

    def _restricted(self, values: Ints64, samples: Ints64) -> Smaller | Uncut:
        from pyspark import StorageLevel
        from pyspark.sql import functions as F  # noqa: N812

        shared = self.spark.sparkContext.broadcast(values)
        names = (*ELEMENT_COLUMNS, "process", "call", "outcome", "boxed")

        def kept(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                chosen = is_kept(told.mentions_from(batch), shared.value)
                yield batch.filter(pa.array(chosen))

        fields = self.elements.select(*names).schema
        elements = self.elements.select(*names).mapInArrow(kept, fields)
        elements = elements.persist(StorageLevel.DISK_ONLY)
        if elements.count() > KEPT_MAX:
            elements.unpersist()
            return Uncut(f"more than {KEPT_MAX:,} of its elements may be named by a finding")
        assert self._ranges is not None, "ranges are summarised before"
        on_records = elements.where(F.col("kind").isin(*_RECORD_KINDS)).select("row")
        fs = self.operations.join(F.broadcast(on_records.distinct()), "row", "left_semi")
        of_records = [row["f"] for row in fs.select("f").distinct().collect()]
        rows = elements.select("row").distinct()
        rows = rows.unionByName(
            self.spark.createDataFrame([(int(row),) for row in samples], "row int")
        )
        rows = rows.unionByName(
            self.operations.where(~F.col("f").isin(of_records)).select("row")
        ).distinct()
        partners = self.operations.join(F.broadcast(rows), "row", "left_semi").select(
            F.col("partner").alias("row")
        )
        wanted = rows.unionByName(partners.where(F.col("row").isNotNull())).distinct()
        operations = self.operations.join(F.broadcast(wanted), "row", "left_semi")
        return Smaller(
            operations.select(*OPERATION_COLUMNS),
            elements.select(*ELEMENT_COLUMNS),
            self._ranges,
            self.way.width,
        )


def _summaries_of(frame: DataFrame) -> list[Any]:
    return frame.select("summary").collect()


def _columns(frame: DataFrame) -> tuple[list[Any], list[Any]]:
    rows = frame.collect()
    return [row[0] for row in rows], [row[1] for row in rows]
