"""When the last trouble of a run was over, and how soon writes were acknowledged from then on."""

from __future__ import annotations

from collections.abc import Iterator

from harness.native.produce_queue import Delivered
from harness.sim.record import Record
from harness.sim.trace import Row, Trace

FIRST_ACK_S_MAX = 20.0
"""From the first attempt to write after healing to an acknowledgement: two of Kafka's sessions."""

_TROUBLE = frozenset({"fault", "heal", "start", "delay", "duplicate", "error_reply"})
"""Kinds of rows: faults and their ends, starts after crashes and exits, messages tampered with."""


def healed_s(trace: Trace, record: Record) -> float:
    """As the trace tells, for faults may strike when something is counted up and not by time.

    What comes after every partition was asked for the last time is not waited for.
    """
    end_s = float("inf") if record.asked_again_s is None else record.asked_again_s
    troubles = (row.time_ns / 1e9 for row in _troubles(trace))
    return max((at_s for at_s in troubles if at_s <= end_s), default=0.0)


def _troubles(trace: Trace) -> Iterator[Row]:
    """A connection that lost a message is deaf until one of its ends gives it up."""
    deaf: set[str] = set()
    for row in trace.rows():
        if row.kind == "drop" and row.detail == "message fault":
            deaf.add(row.connection)
            yield row
        elif row.kind in _TROUBLE or (row.kind == "close" and row.connection in deaf):
            deaf.discard(row.connection)
            yield row


def first_ack_s(record: Record, since_s: float) -> float | None:
    """The longest wait of a partition for its first acknowledgement; None if one never had any."""
    waits = _first_acks(record, since_s).values()
    return None if None in waits else max((each or 0.0 for each in waits), default=0.0)


def slow_partitions(record: Record, since_s: float, bound_s: float) -> dict[int, float | None]:
    """Partitions whose first acknowledgement took longer than that; None where it never came."""
    waits = _first_acks(record, since_s)
    return {each: wait for each, wait in waits.items() if wait is None or wait > bound_s}


def _first_acks(record: Record, since_s: float) -> dict[int, float | None]:
    """Seconds until each partition acknowledged a write; None where it never did.

    A write counts if it was sent after `since_s` or was not settled by then. The wait begins when
    the first of them was sent, and not before `since_s`: writers end before other clients do, and
    a partition to which nobody writes does not keep anybody waiting.
    """
    asked_s: dict[int, float] = {}
    acked_s: dict[int, float] = {}
    for sent in record.sends:
        if sent.done_s is not None and sent.done_s < since_s:
            continue
        at_s = max(sent.sent_s, since_s)
        asked_s[sent.partition] = min(at_s, asked_s.get(sent.partition, at_s))
        if isinstance(sent.outcome, Delivered) and sent.done_s is not None:
            acked_s[sent.partition] = min(sent.done_s, acked_s.get(sent.partition, sent.done_s))
    return {
        each: acked_s[each] - at_s if each in acked_s else None for each, at_s in asked_s.items()
    }
