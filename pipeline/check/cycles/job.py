"""The steps by which one large history of lists is judged, and what the driver holds meanwhile.

    elements -> lists (list_parts.py)       dependencies, and which lists findings are reported of
             -> moments, windows (moments.py)      groups of operations with a cycle
             -> kept elements (kept.py) -> the judge (judge.py)   in one task, of what is left

The driver holds the keys of lists with doubtful reads, the windows in which dependencies contradict
time, and the operations of the first few cycles.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from checkers.columns import FAIL, INFO, OK
from checkers.cuts.lists import Summary, Value, conclude
from checkers.findings import SHOWN
from checkers.models import Question
from checkers.transactions.graph import NEVER, Scope
from checkers.transactions.list_append import WholeLists
from checkers.transactions.verdicts import scope_of
from harness.history import kinds
from harness.history.operations import NOTICES
from pipeline.check.cut.job import KEPT_MAX, Uncut
from pipeline.check.cycles import list_parts
from pipeline.check.cycles.kept import (
    NUMBERED,
    Wanted,
    first_mentions,
    kept_elements,
    kept_operations,
    values_of,
)
from pipeline.check.cycles.list_parts import LINK, LINKS, SUMMARY
from pipeline.check.cycles.moments import TooWide, found_groups

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LIST_MAX: Final = 8_000_000
"""Elements about one list: one task gets all of them."""
PART: Final = 250_000
"""Elements about the lists of one part, if no list has more."""


@dataclass(frozen=True, slots=True)
class Smaller:
    """What is left of a history for one task to judge."""

    operations: DataFrame
    elements: DataFrame
    mentions: DataFrame
    """Elements that say which key some values belong to."""
    whole: WholeLists


@dataclass(frozen=True, slots=True)
class _Counted:
    speaking: int
    """Elements of operations as they ended."""
    is_touched: bool


@dataclass(slots=True)
class CutLists:
    """One run's elements and operations, with the columns of the lake."""

    elements: DataFrame
    operations: DataFrame
    _stored: list[DataFrame] = field(default_factory=list)

    def forget(self) -> None:
        """Free what the steps have stored."""
        for each in self._stored:
            each.unpersist()

    def smaller(self) -> Smaller | Uncut:
        counted = self._counted()
        if isinstance(counted, Uncut):
            return counted
        speaking, scope = self._speaking(), scope_of(Question().consistency_models)
        parts = self._told(speaking, scope, -(-counted.speaking // PART))
        summary = conclude(_summaries(parts))
        took_part = self._took_part(scope)
        links = parts.where(f"what = {LINK}").select(*LINKS)
        if scope.process:
            links = links.unionByName(_process_links(took_part))
        members = found_groups(links, took_part)
        if isinstance(members, TooWide):
            return Uncut(f"{members.operations:,} of its operations may be in one cycle")
        wanted = Wanted(summary.told(self._owners(summary)), summary.disagreeing, members)
        kept = self._store(kept_elements(speaking, parts, wanted))
        if kept.count() > KEPT_MAX:
            return Uncut(f"more than {KEPT_MAX:,} of its elements may be named by a finding")
        return Smaller(
            kept_operations(self.operations, kept, members),
            kept,
            first_mentions(self.elements, values_of(kept)),
            self._whole(summary, took_part, scope, is_touched=counted.is_touched),
        )

    def _store(self, frame: DataFrame) -> DataFrame:
        from pyspark import StorageLevel

        self._stored.append(frame.persist(StorageLevel.DISK_ONLY))
        return frame

    def _counted(self) -> _Counted | Uncut:
        from pyspark.sql import functions as F  # noqa: N812

        is_of_lists = F.col("kind").isin(kinds.READ, kinds.READ_EMPTY, *NUMBERED)
        by_key = self.elements.groupBy("key_id").agg(
            F.sum((F.col("outcome") > 0).cast("long")).alias("speaking"),
            F.max(F.col("kind") == kinds.APPEND).alias("is_appended"),
            F.max(is_of_lists).alias("is_list"),
        )
        row = by_key.agg(
            F.max("speaking"), F.sum("speaking"), F.max("is_appended"),
            F.max(F.col("key_id").isNull() & F.col("is_list")),
        ).collect()[0]  # fmt: skip
        if row[3]:
            return Uncut("some of its elements name no list")
        if (row[0] or 0) > LIST_MAX:
            return Uncut(f"more than {LIST_MAX:,} of its elements are about one list")
        if self._is_tangled():
            return Uncut("a process began an operation before its last one had ended")
        return _Counted(row[1] or 0, bool(row[2]))

    def _is_tangled(self) -> bool:
        """Whether a completion without an invocation would get one if others were left out."""
        from pyspark.sql import functions as F  # noqa: N812

        alone = self.operations.where((F.col("process") >= 0) & F.col("partner").isNull())
        begun = alone.where("type = 'invoke'").select("process")
        ended = alone.where((F.col("type") != "invoke") & ~F.col("f").isin(*NOTICES))
        return not ended.join(begun, "process", "left_semi").isEmpty()

    def _speaking(self) -> DataFrame:
        """Elements of operations as they ended, with `op_row`, the row that completes each. Where
        that row is silent, the invocation speaks."""
        from pyspark.sql import functions as F  # noqa: N812

        spoken = self.elements.where((F.col("outcome") > 0) & F.col("key_id").isNotNull())
        spoken = spoken.withColumn("boxed", F.col("text").isNotNull())
        ended = self.operations.where(F.col("type").isin("info", "fail")).select(
            F.col("partner").alias("row"), F.col("row").alias("ended")
        )
        unsure = spoken.where(F.col("outcome").isin(INFO, FAIL)).join(ended, "row", "left")
        return (
            spoken.where(F.col("outcome") == OK)
            .withColumn("op_row", F.col("row").cast("long"))
            .unionByName(
                unsure.withColumn("op_row", F.coalesce("ended", "row").cast("long")).drop("ended")
            )
        )

    def _told(self, speaking: DataFrame, scope: Scope, parts: int) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812
        from pyspark.sql.pandas.types import from_arrow_schema

        by_part = speaking.select(*list_parts.COLUMNS).groupBy(F.col("key_id") % max(1, parts))
        tell = list_parts.parts_of_lists(realtime=scope.realtime)
        return self._store(by_part.applyInArrow(tell, from_arrow_schema(list_parts.SCHEMA)))

    def _took_part(self, scope: Scope) -> DataFrame:
        """row, call, ret and process of operations that may have taken effect."""
        from pyspark.sql import functions as F  # noqa: N812

        is_open = (F.col("type") == "invoke") & F.col("partner").isNull()
        took_part = (F.col("process") >= 0) & (F.col("type").isin("ok", "info") | is_open)
        row, never = F.col("row").cast("long"), F.lit(NEVER)
        ended = (F.col("type") == "ok") & F.lit(scope.realtime)
        call = F.when(is_open, row).otherwise(F.coalesce("partner", F.lit(-1)).cast("long"))
        return self._store(
            self.operations.where(took_part).select(
                row.alias("row"),
                call.alias("call"),
                F.when(ended, row).otherwise(never).alias("ret"),
                "process",
            )
        )

    def _owners(self, summary: Summary) -> dict[Value, int]:
        """Of values that several lists have, and of which not all findings can be reported: the key
        that each was first seen with."""
        if len(summary.dirty) <= SHOWN:
            return {}
        asked = sorted({value for value, _ in summary.dirty})
        values = pa.table(
            {"value": [value for _, value in asked], "boxed": [box for box, _ in asked]}
        )
        first = first_mentions(self.elements, self.elements.sparkSession.createDataFrame(values))
        return {(row["boxed"], row["value"]): row["key_id"] for row in first.collect()}

    def _whole(
        self, summary: Summary, took_part: DataFrame, scope: Scope, *, is_touched: bool
    ) -> WholeLists:
        from pyspark.sql import functions as F  # noqa: N812

        facts = F.max("call"), F.min("ret"), F.count("*"), F.count_distinct("process")
        last, first, count, processes = took_part.agg(*facts).collect()[0]
        pairs = count - processes if scope.process else 0
        is_ordered = last is not None and last > first
        return WholeLists(
            ops=self.operations.count(),
            reads=summary.reads,
            edges=summary.edges + pairs + is_ordered,
            inner=summary.inner,
            is_touched=is_touched or summary.reads > 0,
        )


def _summaries(parts: DataFrame) -> list[Summary]:
    rows = parts.where(f"what = {SUMMARY}").select("summary").collect()
    return [pickle.loads(bytes(row["summary"])) for row in rows]  # noqa: S301 - our own tasks


def _process_links(took_part: DataFrame) -> DataFrame:
    """With the columns LINKS, of each operation and the next one of its process. Real time implies
    nearly all of them: they are left out."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    of_process = Window.partitionBy("process").orderBy("row")
    names = {"row": "", "call": "_call", "ret": "_ret"}
    pairs = took_part.select(
        *(F.lag(name).over(of_process).alias(f"source{end}") for name, end in names.items()),
        *(F.col(name).alias(f"target{end}") for name, end in names.items()),
    )
    return pairs.where(F.col("source_ret") >= F.col("target_call")).select(*LINKS)
