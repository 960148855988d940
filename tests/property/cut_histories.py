"""A history judged in parts on one machine: what the pipeline does on many (pipeline/check)."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from checkers.arrays import Bools
from checkers.columns import Columns
from checkers.cuts import lanes, senders, slots, strange
from checkers.cuts.mentions import Mentions, mentions_of
from checkers.cuts.places import Places, places_of
from checkers.cuts.projection import Gone, is_kept
from checkers.cuts.slots import Ends, Gap, Range, Told
from checkers.cuts.unsure import Unsure, is_unsure, settle
from checkers.log.facts import LogFacts
from harness.history import kinds
from harness.history.history import History
from harness.history.tables import with_words


class Cut:
    """`width`: of the ranges of offsets; parts begin at random elements."""

    def __init__(self, history: History, dice: Random, width: int, *, append_time: bool) -> None:
        self.history, self.width, self.append_time = history, width, append_time
        said = mentions_of(Columns(history))
        size = said.row.size
        self.unsure = _settled(said, dice)
        self.whole = self.unsure.told(said)
        borders = sorted({0, size, *(dice.randrange(size + 1) for _ in range(dice.randrange(5)))})
        self.parts = [self.whole.some(slice(*each)) for each in pairwise(borders)]

    def smaller(self) -> tuple[History, Gone]:
        history, gone = self._smaller_by(None)
        places = places_of(LogFacts(Columns(history), gone=gone), self.unsure)
        return self._smaller_by(places) if places.offsets else (history, gone)

    def _smaller_by(self, places: Places | None) -> tuple[History, Gone]:
        values, gaps = self._of_lanes(places)
        twice = self._sent_twice()
        ranges = self._ranges(gaps)
        void = self.unsure.void_of(slots.keys_with_gaps(ranges))
        kept = [values, twice, void, *(each.kept for each in ranges)]
        rows = np.concatenate([np.empty(0, np.int64), *(each.senders_unread for each in ranges)])
        rows = np.concatenate([rows, self._samples])
        values, keys, strangers = strange.merge(map(strange.summarise, self.parts))
        names = {number: str(key) for number, key in enumerate(self.history.keys)}
        keys = np.union1d(keys, strange.of_keyed_records(names))
        rows = np.concatenate([rows, strangers])
        kept += [values, *(strange.values_about(part, keys, rows) for part in self.parts)]
        kept += [part.value[part.is_odd & part.is_int] for part in self.parts]
        return self._restricted(np.unique(np.concatenate(kept))), Gone.of(ranges, self.width)

    @property
    def _samples(self) -> np.ndarray:
        """The last row of each kind of operation and outcome, so that none is missing."""
        columns = Columns(self.history)
        rows = np.flatnonzero(columns.outcome > 0).tolist()
        last = {(int(columns.ops.f[row]), int(columns.outcome[row])): row for row in rows}
        return np.array(list(last.values()), np.int64)

    def _of_lanes(self, places: Places | None) -> tuple[np.ndarray, tuple[Gap, ...]]:
        cuts = [lanes.Cut.of(part, self.width) for part in self.parts]
        entries = [each.entries for each in cuts]
        if places is not None:
            entries = [places.moved(each.entries, each.values) for each in cuts]
        found = lanes.summarise(lanes.Cut.of(self.whole.some(slice(0)), self.width).entries)
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
        is_told = (whole.role > 0) & (whole.offset >= 0) & (whole.key >= 0)
        is_end = (whole.kind == kinds.HIGH) & (whole.outcome == 1) & (whole.offset > 0)
        places = {
            (int(key), int(offset) // self.width)
            for key, offset in zip(whole.key[is_told], whole.offset[is_told], strict=True)
        } | {
            (int(key), (int(offset) - 1) // self.width)
            for key, offset in zip(whole.key[is_end], whole.offset[is_end], strict=True)
        }

        def of(key: int, number: int, **more: object) -> Range:
            here = (whole.key == key) & is_told & (whole.offset // self.width == number)
            mine = whole.some(here)
            ends = whole.some(is_end & (whole.key == key)
                              & ((whole.offset - 1) // self.width == number))  # fmt: skip
            low, high = number * self.width, (number + 1) * self.width
            return slots.summarise(
                key,
                number,
                self.width,
                _told(mine, low),
                gaps=[each for each in gaps if each.key == key and each.low < high
                      and each.high >= low],
                ends=Ends(ends.offset - 1 - low, ends.row),
                append_time=self.append_time,
                **more,  # type: ignore[arg-type]
            )  # fmt: skip

        found = {place: of(*place) for place in places}
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


def _told(mine: Mentions, low: int) -> Told:
    return Told(mine.offset - low, mine.role, mine.row, mine.call, mine.value, mine.is_plain,
                mine.is_settled, mine.stamp)  # fmt: skip


def _settled(said: Mentions, dice: Random) -> Unsure:
    """In two parts, of which each has some of the operations."""
    sends = np.flatnonzero(is_unsure(said))
    rows = {int(row) for row in said.row[sends]}
    by_value: dict[int, set[int]] = {}
    for one in sends[said.is_int[sends]].tolist():
        by_value.setdefault(int(said.value[one]), set()).add(int(said.row[one]))
    pairs = [(one, int(said.row[one])) for one in sends[~said.is_int[sends]].tolist()]
    for one in np.flatnonzero(said.is_named).tolist():
        pairs += [(one, row) for row in by_value.get(int(said.value[one]), ())]
    half = {row for row in rows if dice.random() < 0.5}
    found = Unsure.none()
    for chosen in (half, rows - half):
        mine = [pair for pair in pairs if pair[1] in chosen]
        about = np.array([row for _, row in mine], np.int64)
        found = found.and_then(settle(said.some(np.array([at for at, _ in mine], np.int64)), about))
    return found


def _rows(history: History, whole: Mentions, kept: Bools, samples: np.ndarray) -> Bools:
    """Rows that stay: those with an element that does, their other halves, and whatever is no
    operation on records."""
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
