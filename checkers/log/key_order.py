"""key-order: what the order of sending means for records with one key.

In one partition, the records of one producer with one key are in the order in which it sent them:
judged for acknowledged records, by their offsets.

Across partitions a log promises no order, and offsets of two partitions are never compared. When
partitions are added, a key may move, and then a consumer may be shown a record in the new partition
before one in the old, though the old one was acknowledged before the new one was sent. That is
`key-overtaken`: counted, and allowed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from checkers.arrays import Ints64
from checkers.checker import Checker, Evidence
from checkers.clauses import BLIND_RETRIES, LOSS, allowed, never
from checkers.columns import OK
from checkers.contract import Contract
from checkers.findings import SHOWN, Finding, Findings
from checkers.log.keyed_sends import NEVER, NOTHING, KeyedSends
from checkers.log.words import value_text
from harness.history import kinds


def key_orders(evidence: Evidence, _: Contract) -> Findings:
    sends = KeyedSends(evidence.facts.columns)
    acked = np.flatnonzero(sends.is_acked)
    swapped = _swapped(sends, acked)
    moves = list(_moves(sends, acked))
    overtaken = _overtaken(sends, moves)
    found = [_told_swapped(sends, *pair) for pair in swapped[:SHOWN]]
    found += [_told_overtaken(sends, each) for each in overtaken[:SHOWN]]
    return Findings(
        found=tuple(sorted(found, key=lambda finding: (finding.type, finding.ops))),
        count=len(swapped) or len(overtaken),
        looked_at=acked.size,
        nothing="no record with a key was acknowledged" if sends.value.size else NOTHING,
        stats={"moves": len(moves), "overtaken": len(overtaken)} if acked.size else {},
    )


def _swapped(sends: KeyedSends, acked: Ints64) -> list[tuple[int, int]]:
    """Pairs of records of one process, key and partition that are not in the order of sending."""
    where = (sends.log[acked], sends.name[acked], sends.process[acked])
    ordered = acked[np.lexsort((acked, *where))]
    before, after = ordered[:-1], ordered[1:]
    is_swapped = sends.offset[before] > sends.offset[after]
    for column in (sends.process, sends.name, sends.log):
        is_swapped &= column[before] == column[after]
    pairs = zip(before[is_swapped].tolist(), after[is_swapped].tolist(), strict=True)
    return sorted(pairs, key=lambda pair: pair[1])


def _told_swapped(sends: KeyedSends, before: int, after: int) -> Finding:
    producer = sends.columns.process_of(int(sends.call[before]))
    values = [int(sends.value[each]) for each in (before, after)]
    offsets = [int(sends.offset[each]) for each in (before, after)]
    return Finding(
        type="key-order",
        ops=tuple(dict.fromkeys((sends.op(before), sends.op(after)))),
        because=(
            f"process {producer} sent {sends.text(before)} and then {value_text(values[1])}, "
            f"and {sends.log_text(before)} has them at offsets {offsets[0]} and {offsets[1]}"
        ),
        witness={"key": sends.log_text(before), "values": values, "offsets": offsets},
    )


class _Move(NamedTuple):
    """Records of one process and key before and after it went to another partition."""

    old: Ints64
    new: Ints64


def _moves(sends: KeyedSends, acked: Ints64) -> Iterator[_Move]:
    for own in sends.by_producer_and_key(acked):
        runs = np.split(own, np.flatnonzero(np.diff(sends.log[own])) + 1)
        for old, new in pairwise(runs):
            # Within one send nothing was acknowledged before the rest was sent.
            if sends.call[old[-1]] != sends.call[new[0]]:
                yield _Move(old, new)


class _Overtaken(NamedTuple):
    old: int
    new: int
    early_row: int
    """The poll that showed a consumer the new record, before `late_row` showed it the old one."""
    late_row: int


def _overtaken(sends: KeyedSends, moves: list[_Move]) -> list[_Overtaken]:
    """One for each move that some consumer was shown in the wrong order."""
    found: dict[int, _Overtaken] = {}
    if not moves:
        return []
    olds, news = (np.concatenate(each) for each in zip(*moves, strict=True))
    old_begins = np.cumsum([0, *(move.old.size for move in moves[:-1])])
    new_begins = np.cumsum([0, *(move.new.size for move in moves[:-1])])
    for shown in _shown_to_consumers(sends):
        latest = np.maximum.reduceat(_or_before(shown[olds]), old_begins)
        earliest = np.minimum.reduceat(shown[news], new_begins)
        for number in np.flatnonzero(earliest < latest).tolist():
            if number not in found:
                old, new = moves[number]
                last, first = old[_or_before(shown[old]).argmax()], new[shown[new].argmin()]
                rows = int(shown[first]), int(shown[last])
                found[number] = _Overtaken(int(last), int(first), *rows)
    return [found[number] for number in sorted(found)]


def _or_before(rows: Ints64) -> Ints64:
    """What was never shown counts as shown before everything: nothing is early beside it."""
    return np.where(rows == NEVER, -1, rows)


def _shown_to_consumers(sends: KeyedSends) -> Iterator[Ints64]:
    """For each consumer the row of the ok poll that first showed it each record, or NEVER."""
    columns, elements = sends.columns, sends.columns.elements
    is_shown = (elements.kind == kinds.RECORD) & elements.told & ~elements.boxed
    is_shown &= (columns.outcome[elements.op] == OK) & (columns.ops.process[elements.op] >= 0)
    number, found = sends.numbers(np.flatnonzero(is_shown))
    row = elements.op[found].astype(np.int64)
    consumer = columns.ops.process[row]
    order = np.argsort(consumer, kind="stable")
    for own in np.split(order, np.flatnonzero(np.diff(consumer[order])) + 1):
        shown = np.full(sends.value.size, NEVER, np.int64)
        # Backwards, so that the first is what stays.
        shown[number[own[::-1]]] = row[own[::-1]]
        yield shown


def _told_overtaken(sends: KeyedSends, each: _Overtaken) -> Finding:
    columns = sends.columns
    producer = columns.process_of(int(sends.call[each.old]))
    consumer = columns.process_of(each.early_row)
    early, late = columns.index_of(each.early_row), columns.index_of(each.late_row)
    values = [int(sends.value[number]) for number in (each.old, each.new)]
    return Finding(
        type="key-overtaken",
        ops=tuple(sorted({sends.op(each.old), sends.op(each.new), early, late})),
        because=(
            f"process {producer} sent {sends.text(each.old)} to {sends.log_text(each.old)} "
            f"and, after its acknowledgement, {value_text(values[1])} to "
            f"{sends.log_text(each.new)}; process {consumer} polled the second in op {early} "
            f"and the first in op {late}"
        ),
        witness={
            "key": sends.log_text(each.old),
            "moved-to": sends.log_text(each.new),
            "values": values,
        },
    )


CHECKERS = (
    Checker(
        name="key-order",
        about="Records of one producer with one key are not in the order of their sends.",
        look=key_orders,
        rows=(
            BLIND_RETRIES,
            *LOSS,
            never(
                "Records of one producer with one key in one partition are in the order "
                "of their sends."
            ),
        ),
        other_rows={
            "key-overtaken": (
                allowed(
                    "A log orders the records of one partition only. After partitions "
                    "are added, a key may map to another one, and its new records may be "
                    "read before the old ones."
                ),
            ),
        },
    ),
)
