"""Whether what the clients saw can be true of one log, and nothing of it was lost.

Small and exact for runs of the simulator; each finding is a sentence that names the operation.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.native.produce_queue import Delivered, Failed, Unknown
from harness.sim.record import Record, Seen, Sent


def problems(record: Record) -> Iterator[str]:
    for partition, reading in sorted(record.last_reading.items()):
        yield from _of_partition(record, partition, reading)
    for sent in record.sends:
        if sent.partition not in record.last_reading:
            yield f"partition {sent.partition} was never read back"
            break
    yield from _of_commits(record)
    yield from _of_group_commits(record)


def _of_commits(record: Record) -> Iterator[str]:
    """The last one that was acknowledged stands, unless one of unknown outcome does."""
    for (client, partition), found in sorted(record.last_commits.items()):
        own = [
            each for each in record.commits if (each.client, each.partition) == (client, partition)
        ]
        acknowledged = [each.offset for each in own if each.is_acknowledged]
        expected: int | None = acknowledged[-1] if acknowledged else None
        if found != expected and found not in [e.offset for e in own if not e.is_acknowledged]:
            yield (
                f"lost: {client} committed {expected} for partition {partition}, acknowledged, and "
                f"{'nothing' if found is None else found} is committed now"
            )


def _of_group_commits(record: Record) -> Iterator[str]:
    """A group goes on from what it has committed, so its offsets only rise: a lower one comes from
    a member that should have been fenced, or from a coordinator that forgot."""
    for (group, partition), found in sorted(record.last_group_commits.items()):
        own = [e for e in record.group_commits if (e.group, e.partition) == (group, partition)]
        acknowledged = max((each.offset for each in own if each.is_acknowledged), default=None)
        possible = {each.offset for each in own if not each.is_refused}
        now = "nothing" if found is None else str(found)
        if found is not None and found not in possible:
            yield f"{now} is committed by {group} for partition {partition}, and no member did so"
        elif acknowledged is not None and (found is None or found < acknowledged):
            yield (
                f"lost: {group} committed {acknowledged} for partition {partition}, acknowledged, "
                f"and {now} is committed now"
            )


def _of_partition(record: Record, partition: int, reading: list[Seen]) -> Iterator[str]:
    by_offset: dict[int, str] = {}
    by_value: dict[str, int] = {}
    for seen in reading:
        if seen.value in by_value:
            yield (
                f"{seen.value} stands twice in partition {partition}: at {by_value[seen.value]} "
                f"and at {seen.offset}"
            )
        by_offset[seen.offset], by_value[seen.value] = seen.value, seen.offset
    if list(by_offset) != list(range(len(by_offset))):
        yield f"partition {partition} has a gap: {_first_gap(by_offset)} is missing"
    sends = [sent for sent in record.sends if sent.partition == partition]
    yield from _of_sends(sends, by_offset, by_value)
    for seen in record.seen:
        if seen.partition == partition and by_offset.get(seen.offset) != seen.value:
            there = by_offset.get(seen.offset)
            yield (
                f"{seen.client} read {seen.value} at {partition}/{seen.offset}, where "
                f"{there or 'nothing'} is at the end"
            )


def _of_sends(
    sends: list[Sent], by_offset: dict[int, str], by_value: dict[str, int]
) -> Iterator[str]:
    last: dict[str, tuple[int, Sent]] = {}
    for sent in sends:
        where = f"{sent.value}, sent to partition {sent.partition} at {sent.sent_s:.3f} s"
        match sent.outcome:
            case Delivered(offset):
                if by_offset.get(offset) != sent.value:
                    there = by_offset.get(offset, "nothing")
                    yield f"lost: {where} and acknowledged at {offset}, where {there} is now"
            case Failed(reason):
                if sent.value in by_value:
                    yield f"{where}, was refused for certain ({reason}), but is in the log"
            case Unknown() | None:
                pass  # it may be there or not
        offset_now = by_value.get(sent.value)
        if offset_now is not None:
            before = last.get(sent.client)
            if before is not None and before[0] > offset_now:
                yield f"out of order: {where}, lies before {before[1].value}, sent earlier"
            last[sent.client] = (offset_now, sent)


def _first_gap(by_offset: dict[int, str]) -> int:
    return next(offset for offset in range(len(by_offset) + 1) if offset not in by_offset)
