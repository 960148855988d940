"""A history judged in parts on one machine: what the pipeline does on many (pipeline/check)."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from checkers.arrays import Bools
from checkers.columns import Columns
from checkers.cuts import kept_whole, lanes, senders, slots
from checkers.cuts.corrected_offsets import CorrectedOffsets, corrected_offsets
from checkers.cuts.mentions import Mentions, mentions_of
from checkers.cuts.projection import Gone, is_kept
from checkers.cuts.slots import Ends, Gap, Range, RangeMentions
from checkers.cuts.unacknowledged import Unacknowledged, is_unacknowledged, settle
from checkers.log.facts import LogFacts
from harness.history import kinds
from harness.history.history import History
from harness.history.tables import with_words


class HistoryInParts:
    """`width`: of the ranges of offsets; parts begin at random elements."""

    def __init__(self, history: History, dice: Random, width: int, *, append_time: bool) -> None:
        self.history, self.width, self.append_time = history, width, append_time
        reported = mentions_of(Columns(history))
        size = reported.row.size
        self.unacked = _settled(reported, dice)
        self.whole = self.unacked.applied_to(reported)
        borders = sorted({0, size, *(dice.randrange(size + 1) for _ in range(dice.randrange(5)))})
        self.parts = [self.whole.select(slice(*each)) for each in pairwise(borders)]

    def smaller(self) -> tuple[History, Gone]:
        history, gone = self._smaller_by(None)
        corrections = corrected_offsets(LogFacts(Columns(history), gone=gone), self.unacked)
        return self._smaller_by(corrections) if corrections.offsets else (history, gone)

    def _smaller_by(self, corrections: CorrectedOffsets | None) -> tuple[History, Gone]:
        values, gaps = self._of_lanes(corrections)
        twice = self._sent_twice()
        ranges = self._ranges(gaps)
        void = self.unacked.void_of(slots.keys_with_gaps(ranges))
        kept = [values, twice, void, *(each.kept for each in ranges)]
        rows = np.concatenate([np.empty(0, np.int64), *(each.unread_senders for each in ranges)])
        rows = np.concatenate([rows, self._samples])
        values, keys, kept_rows = kept_whole.merge(map(kept_whole.summarise, self.parts))
        names = {number: str(key) for number, key in enumerate(self.history.keys)}
        keys = np.union1d(keys, kept_whole.of_keyed_records(names))
        rows = np.concatenate([rows, kept_rows])
        kept += [values, *(kept_whole.values_about(part, keys, rows) for part in self.parts)]
        kept += [part.value[part.is_unclear & part.is_int] for part in self.parts]
        removable = {(each.key, each.number): each.removable for each in ranges}
        return self._restricted(np.unique(np.concatenate(kept))), Gone.of(removable, self.width)

    @property
    def _samples(self) -> np.ndarray:
        """The last row of each kind of operation and outcome, so that none is missing."""
        columns = Columns(self.history)
        rows = np.flatnonzero(columns.outcome > 0).tolist()
        last = {(int(columns.ops.f[row]), int(columns.outcome[row])): row for row in rows}
        return np.array(list(last.values()), np.int64)

    def _of_lanes(self, corrections: CorrectedOffsets | None) -> tuple[np.ndarray, tuple[Gap, ...]]:
        cuts = [lanes.PartEntries.of(part, self.width) for part in self.parts]
        entries = [each.entries for each in cuts]
        if corrections is not None:
            entries = [corrections.applied_to(each.entries, each.values) for each in cuts]
        found = lanes.summarise(
            lanes.PartEntries.of(self.whole.select(slice(0)), self.width).entries
        )
        for each in entries:
            found = lanes.merge(found, lanes.summarise(each))
        return lanes.conclude(found), found.gaps

    def _sent_twice(self) -> np.ndarray:
        values = [senders.sent_values(part) for part in self.parts]
        parts = [senders.summarise(each) for each in values]
        both = senders.overlaps(parts)
        overlapping = [each[both.holds(each)] for each in values]
        empty = np.empty(0, np.int64)
        return np.concatenate(
            [empty, *(each.twice for each in parts),
             senders.sent_twice(np.concatenate([empty, *overlapping]))]
        )  # fmt: skip

    def _ranges(self, gaps: tuple[Gap, ...]) -> list[Range]:
        whole = self.whole
        has_offset = (whole.role > 0) & (whole.offset >= 0) & (whole.key >= 0)
        is_end = (whole.kind == kinds.HIGH) & (whole.outcome == 1) & (whole.offset > 0)
        occupied = {
            (int(key), int(offset) // self.width)
            for key, offset in zip(whole.key[has_offset], whole.offset[has_offset], strict=True)
        } | {
            (int(key), (int(offset) - 1) // self.width)
            for key, offset in zip(whole.key[is_end], whole.offset[is_end], strict=True)
        }

        def of(key: int, number: int, **more: object) -> Range:
            here = (whole.key == key) & has_offset & (whole.offset // self.width == number)
            mine = whole.select(here)
            ends = whole.select(is_end & (whole.key == key)
                              & ((whole.offset - 1) // self.width == number))  # fmt: skip
            low, high = number * self.width, (number + 1) * self.width
            return slots.summarise(
                key,
                number,
                self.width,
                _in_range(mine, low),
                gaps=[each for each in gaps if each.key == key and each.low < high
                      and each.high >= low],
                ends=Ends(ends.offset - 1 - low, ends.row),
                append_time=self.append_time,
                **more,  # type: ignore[arg-type]
            )  # fmt: skip

        found = {place: of(*place) for place in occupied}
        for place, before in slots.late_ranges(found.values()).items():
            found[place] = of(*place, before=before)
        return list(found.values())

    def _restricted(self, values: np.ndarray) -> History:
        whole, tables = self.whole, self.history.tables
        kept = is_kept(whole, values)
        rows = _rows(self.history, whole, kept, self._samples)
        number = np.cumsum(rows) - 1
        elements = tables.elements.filter(pa.array(kept & rows[whole.row]))
        at = elements.schema.get_field_index("op")
        op = pa.array(number[elements["op"].to_numpy()].astype(np.int32))
        elements = elements.set_column(at, elements.schema.field("op"), op)
        ops = with_words(tables.ops.filter(pa.array(rows)))
        return History(tables._replace(ops=ops, elements=elements))


def _in_range(mine: Mentions, low: int) -> RangeMentions:
    return RangeMentions(
        *(mine.offset - low, mine.role, mine.row, mine.call, mine.value),
        *(mine.is_confirmed, mine.is_settled, mine.stamp),
    )


def _settled(mentions: Mentions, dice: Random) -> Unacknowledged:
    """In two parts, of which each has some of the operations."""
    sends = np.flatnonzero(is_unacknowledged(mentions))
    rows = {int(row) for row in mentions.row[sends]}
    by_value: dict[int, set[int]] = {}
    for one in sends[mentions.is_int[sends]].tolist():
        by_value.setdefault(int(mentions.value[one]), set()).add(int(mentions.row[one]))
    pairs = [(one, int(mentions.row[one])) for one in sends[~mentions.is_int[sends]].tolist()]
    for one in np.flatnonzero(mentions.is_named).tolist():
        pairs += [(one, row) for row in by_value.get(int(mentions.value[one]), ())]
    half = {row for row in rows if dice.random() < 0.5}
    found = Unacknowledged.none()
    for chosen in (half, rows - half):
        mine = [pair for pair in pairs if pair[1] in chosen]
        about = np.array([row for _, row in mine], np.int64)
        found = found.concat(
            settle(mentions.select(np.array([at for at, _ in mine], np.int64)), about)
        )
    return found


def _rows(history: History, whole: Mentions, kept: Bools, samples: np.ndarray) -> Bools:
    """Rows of the smaller history: those with a kept element, their invocations or completions,
    and all operations that are not on records."""
    columns = Columns(history)
    rows = np.zeros(columns.outcome.size, np.bool_)
    rows[whole.row[kept]] = True
    rows[samples] = True
    partner = columns.partner
    has = np.flatnonzero(partner >= 0)
    rows[has] |= rows[partner[has]]
    on_records = np.zeros(max(1, len(columns.ops.names)), np.bool_)
    is_record = np.isin(whole.kind, (kinds.SEND, kinds.SENT, kinds.RECORD, kinds.POLL))
    on_records[columns.ops.f[whole.row[is_record]]] = True
    rows |= ~on_records[columns.ops.f]
    return rows
