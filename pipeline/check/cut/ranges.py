"""Second step: ranges of offsets, each with all that any operation says of its records."""

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
from checkers.cuts.lanes import PLAIN, SETTLED
from checkers.cuts.mentions import NO_STAMP
from checkers.cuts.slots import Ends, Gap, Latest, Range, Told
from pipeline.check.cut.told import END, RECORDS, Way, numbers_of

PLACE: Final = ("key", "range")
"""What rows of SCHEMA are grouped by."""
SUMMARY: Final = pa.schema(
    [
        pa.field("key", pa.int32()),
        pa.field("range", pa.int64()),
        pa.field("summary", pa.binary()),
        pa.field("dull", pa.binary()),
    ]
)
"""A `Range` without its dull slots, which are for the judge and not for the driver."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a range besides its records."""

    gaps: tuple[Gap, ...] = ()
    before: Latest = Latest()  # noqa: RUF009 - immutable


def by_range(gaps: Iterable[Gap], width: int) -> dict[tuple[int, int], Question]:
    """Gaps by the ranges that they touch."""
    found: dict[tuple[int, int], list[Gap]] = {}
    for gap in gaps:
        for number in range(gap.low // width, gap.high // width + 1):
            found.setdefault((gap.key, number), []).append(gap)
    return {place: Question(tuple(mine)) for place, mine in found.items()}


def summarise_range(
    way: Way, questions: Mapping[tuple[int, int], Question]
) -> Callable[[tuple[pa.Scalar, ...], pa.Table], pa.Table]:
    """For applyInArrow, of rows grouped by PLACE."""

    def summarised(place: tuple[pa.Scalar, ...], group: pa.Table) -> pa.Table:
        key, number = place[0].as_py(), place[1].as_py()
        asked = questions.get((key, number), Question())
        low = number * way.width
        whats = np.asarray(group["what"])
        ends = group.filter(pa.array(whats == END))
        found = slots.summarise(
            key,
            number,
            way.width,
            _told(group.filter(pa.array(whats == RECORDS)), low),
            before=asked.before,
            gaps=asked.gaps,
            ends=Ends(np.asarray(ends["first"]) - low, np.asarray(ends["row"])),
            append_time=way.append_time,
        )
        summary = pickle.dumps(replace(found, dull=found.dull[:0]))
        row = [[key], [number], [summary], [packed(found.dull)]]
        return pa.table(row, schema=SUMMARY)

    return summarised


def packed(dull: Bools) -> bytes:
    return zlib.compress(np.packbits(dull).tobytes(), 1)


def unpacked(dull: bytes, width: int) -> Bools:
    return np.unpackbits(np.frombuffer(zlib.decompress(dull), np.uint8), count=width).view(np.bool_)


def range_from(summary: bytes, dull: bytes | None = None, width: int = 0) -> Range:
    """Only of what `summarise_range` made."""
    found: Range = pickle.loads(summary)  # noqa: S301 - our own tasks wrote it
    return found if dull is None else replace(found, dull=unpacked(dull, width))


def _told(records: pa.Table, low: int) -> Told:
    count = np.asarray(records["count"])
    of = np.repeat(np.arange(count.size), count)
    start = np.cumsum(count) - count
    within = np.arange(of.size) - start[of]

    def column(name: str) -> Ints64:
        values: Ints64 = np.asarray(records[name])[of]
        return values

    sort = np.asarray(records["sort"])[of]
    has_stamps = records["stamps"].null_count == 0
    return Told(
        slot=column("first") - low + within,
        role=np.asarray(records["role"])[of],
        row=column("row"),
        call=column("call"),
        value=numbers_of(records["values"]),
        is_plain=sort == PLAIN,
        is_settled=sort == SETTLED,
        stamp=numbers_of(records["stamps"]) if has_stamps else np.full(of.size, NO_STAMP, np.int64),
    )
