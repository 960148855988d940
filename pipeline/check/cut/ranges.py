"""Second step: the summary of each range of offsets, from every mention of its records."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from checkers.arrays import Bools, Ints64
from checkers.cuts import slots
from checkers.cuts.lanes import CONFIRMED, SETTLED
from checkers.cuts.mentions import NO_STAMP
from checkers.cuts.slots import Ends, Gap, Latest, Range, RangeMentions
from pipeline.check.cut.stretches import END, RECORDS, CutSettings, numbers_of

PLACE: Final = ("key", "range")
"""Columns by which rows are grouped into ranges."""
SUMMARY: Final = pa.schema(
    [
        pa.field("key", pa.int32()),
        pa.field("range", pa.int64()),
        pa.field("summary", pa.binary()),
        pa.field("removable", pa.binary()),
    ]
)
"""A `Range`, with its removable slots apart: the judge needs them, and the driver does not."""


@dataclass(frozen=True, slots=True)
class Question:
    """What other parts ask of a range."""

    gaps: tuple[Gap, ...] = ()
    before: Latest = Latest()  # noqa: RUF009 - immutable


def by_range(gaps: Iterable[Gap], width: int) -> dict[tuple[int, int], Question]:
    """Gaps as questions to the ranges that they overlap."""
    found: dict[tuple[int, int], list[Gap]] = {}
    for gap in gaps:
        for number in range(gap.low // width, gap.high // width + 1):
            found.setdefault((gap.key, number), []).append(gap)
    return {place: Question(tuple(mine)) for place, mine in found.items()}


def summarise_range(
    settings: CutSettings, questions: Mapping[tuple[int, int], Question]
) -> Callable[[tuple[pa.Scalar, ...], pa.Table], pa.Table]:
    """For applyInArrow, on rows grouped by PLACE."""

    def summarised(place: tuple[pa.Scalar, ...], group: pa.Table) -> pa.Table:
        key, number = place[0].as_py(), place[1].as_py()
        asked = questions.get((key, number), Question())
        low = number * settings.width
        whats = np.asarray(group["what"])
        ends = group.filter(pa.array(whats == END))
        found = slots.summarise(
            key,
            number,
            settings.width,
            _mentions(group.filter(pa.array(whats == RECORDS)), low),
            before=asked.before,
            gaps=asked.gaps,
            ends=Ends(np.asarray(ends["first"]) - low, np.asarray(ends["row"])),
            append_time=settings.append_time,
        )
        summary = pickle.dumps(replace(found, removable=found.removable[:0]))
        row = [[key], [number], [summary], [packed(found.removable)]]
        return pa.table(row, schema=SUMMARY)

    return summarised


def packed(removable: Bools) -> bytes:
    return zlib.compress(np.packbits(removable).tobytes(), 1)


def unpacked(removable: bytes, width: int) -> Bools:
    return np.unpackbits(np.frombuffer(zlib.decompress(removable), np.uint8), count=width).view(
        np.bool_
    )


def range_from(summary: bytes) -> Range:
    """The range that `summarise_range` pickled, without its removable slots."""
    found: Range = pickle.loads(summary)  # noqa: S301 - our own tasks wrote it
    return found


def _mentions(records: pa.Table, low: int) -> RangeMentions:
    count = np.asarray(records["count"])
    of = np.repeat(np.arange(count.size), count)
    start = np.cumsum(count) - count
    within = np.arange(of.size) - start[of]

    def column(name: str) -> Ints64:
        values: Ints64 = np.asarray(records[name])[of]
        return values

    sort = np.asarray(records["status"])[of]
    has_stamps = records["stamps"].null_count == 0
    return RangeMentions(
        slot=column("first") - low + within,
        role=np.asarray(records["role"])[of],
        row=column("row"),
        call=column("call"),
        value=numbers_of(records["values"]),
        is_confirmed=sort == CONFIRMED,
        is_settled=sort == SETTLED,
        stamp=numbers_of(records["stamps"]) if has_stamps else np.full(of.size, NO_STAMP, np.int64),
    )
