"""The steps by which one large history is judged, and what the driver holds meanwhile.

    elements -> unsure sends (unsure_sends.py)                    where their records turned up
             -> stretches (told.py) -> lanes (lane_parts.py)      which neighbours differ
                                    -> ranges (ranges.py)         which records are dull
             -> kept elements (kept.py) -> the judge (judge.py)   in one task, of what is left

The driver holds summaries: some values for each range of offsets and each lane, where unsure sends
turned up, and the values to keep. If some records turn out to be elsewhere than their operations
say, lanes are looked at once more by the places that they have (checkers/cuts/places.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from checkers.arrays import Ints64
from checkers.cuts import lanes, senders, slots, strange
from checkers.cuts.places import Places
from checkers.cuts.slots import Gap, Range
from checkers.cuts.unsure import Unsure
from harness.history import kinds
from harness.history.json_text import decode
from pipeline.check.cut import lane_parts, ranges, told
from pipeline.check.cut.kept import kept_elements, kept_operations
from pipeline.check.cut.told import Way
from pipeline.check.cut.unsure_sends import unsure_sends
from pipeline.check.histories import ELEMENT_COLUMNS, OPERATION_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark import Broadcast
    from pyspark.sql import DataFrame, SparkSession

KEPT_MAX: Final = 4_000_000
"""Elements of the smaller history that one task judges."""


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
    unsure: Broadcast[Unsure]


class CutHistory:
    """One run's elements and operations, with the columns of the lake."""

    def __init__(self, elements: DataFrame, operations: DataFrame, way: Way) -> None:
        from pyspark import StorageLevel
        from pyspark.sql import functions as F  # noqa: N812

        self.spark: SparkSession = elements.sparkSession
        self.way = way
        self.elements = elements.withColumn("boxed", F.col("text").isNotNull())
        self.operations = operations
        # Spark would give small stretches to one task, and Python needs longest for them.
        self._tasks = int(self.spark.conf.get("spark.sql.shuffle.partitions") or 1)
        self.unsure = unsure_sends(self.elements)
        self._unsure = self.spark.sparkContext.broadcast(self.unsure)
        self.told = self._told().persist(StorageLevel.DISK_ONLY)
        self._stored: list[DataFrame] = [self.told]
        self._samples = self._last_of_each_kind()
        self._kept_anyway = np.union1d(self._sent_twice(), self._odd())

    def forget(self) -> None:
        """Free what the steps have stored."""
        for each in self._stored:
            each.unpersist()
        self._unsure.destroy()

    def smaller(self, places: Places | None = None) -> Smaller | Uncut:
        """`places`: those of records that are elsewhere than they say, once they are known."""
        from pyspark.sql import functions as F  # noqa: N812
        from pyspark.sql.pandas.types import from_arrow_schema

        records = self.told.where(F.col("what") == told.RECORDS)
        values, gaps = self._said
        if places is not None:
            moved = records.select(*lane_parts.COLUMNS, "values").mapInArrow(
                lane_parts.moved_by(places), from_arrow_schema(lane_parts.ENTRIES)
            )
            more, more_gaps = self._lanes(moved)
            values, gaps = np.union1d(values, more), [*gaps, *more_gaps]
        found, dull = self._summaries(gaps)
        keys, rows = self._strange
        rows = np.concatenate([rows, self._samples, *(each.senders_unread for each in found)])
        about = self._about(keys, rows)
        if about is None:
            return Uncut(f"of more than {KEPT_MAX:,} of its records the whole log must be known")
        void = self.unsure.void_of(slots.keys_with_gaps(found))
        parts = [values, about, void, self._kept_anyway, *(each.kept for each in found)]
        elements = self._store(kept_elements(self.elements, np.unique(np.concatenate(parts)),
                                             self._unsure))  # fmt: skip
        if elements.count() > KEPT_MAX:
            return Uncut(f"more than {KEPT_MAX:,} of its elements may be named by a finding")
        operations = kept_operations(self.operations, elements, self._samples)
        return Smaller(
            operations.select(*OPERATION_COLUMNS),
            elements.select(*ELEMENT_COLUMNS),
            dull,
            self.way.width,
            self._unsure,
        )

    def _store(self, frame: DataFrame) -> DataFrame:
        from pyspark import StorageLevel

        self._stored.append(frame.persist(StorageLevel.DISK_ONLY))
        return frame

    def _told(self) -> DataFrame:
        from pyspark.sql.pandas.types import from_arrow_schema

        shared = self._unsure
        return self.elements.select(*told.COLUMNS).mapInArrow(
            told.told_by_parts(self.way, lambda: shared.value), from_arrow_schema(told.SCHEMA)
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
        """Ranges of offsets without their dull slots, which stay where they are: by key and range
        a column `dull`."""
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
        return collected, first.select(*ranges.PLACE, "dull")

    def _summarised(
        self, questions: Mapping[tuple[int, int], ranges.Question], only: DataFrame | None = None
    ) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812
        from pyspark.sql.pandas.types import from_arrow_schema

        chosen = self.told.where(F.col("what").isin(told.RECORDS, told.END) & (F.col("range") >= 0))
        if only is not None:
            chosen = chosen.join(F.broadcast(only), list(ranges.PLACE), "left_semi")
        summarise = ranges.summarise_range(self.way, questions)
        return self._store(
            chosen.groupBy(*ranges.PLACE).applyInArrow(summarise, from_arrow_schema(ranges.SUMMARY))
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

    def _last_of_each_kind(self) -> Ints64:
        """The last row of each kind of operation and outcome, so that none is missing."""
        from pyspark.sql import functions as F  # noqa: N812

        completed = self.operations.where((F.col("type") != "invoke") & (F.col("process") >= 0))
        rows = completed.groupBy("f", "type").agg(F.max("row").alias("row")).collect()
        return np.array([row["row"] for row in rows], np.int64)

    @cached_property
    def _said(self) -> tuple[Ints64, list[Gap]]:
        """Of lanes by the offsets that operations say."""
        from pyspark.sql import functions as F  # noqa: N812

        records = self.told.where(F.col("what") == told.RECORDS)
        return self._lanes(records.select(*lane_parts.COLUMNS))

    @cached_property
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
        rows = named.groupBy("key_id").agg(F.first("key").alias("key")).toLocalIterator()
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


def _summaries_of(frame: DataFrame) -> list[Any]:
    return frame.select("summary").collect()


def _columns(frame: DataFrame) -> tuple[list[Any], list[Any]]:
    rows = frame.collect()
    return [row[0] for row in rows], [row[1] for row in rows]
