"""When the last trouble of a run was over, and how soon writes were acknowledged from then on."""

from __future__ import annotations

from collections.abc import Iterator

from harness.sim.client_produce_queue import Delivered
from harness.sim.record import Record
from harness.sim.trace import Row, Trace

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
    """Until every partition that was asked has acknowledged a write; None if one never has.

    Asked is a partition with a write that was sent after that moment, or not settled by then.
    """
    worst = 0.0
    asked: dict[int, list[float]] = {}
    for sent in record.sends:
        if sent.done_s is None or sent.done_s >= since_s:
            acks = asked.setdefault(sent.partition, [])
            if isinstance(sent.outcome, Delivered) and sent.done_s is not None:
                acks.append(sent.done_s - since_s)
    for acks in asked.values():
        if not acks:
            return None
        worst = max(worst, min(acks))
    return worst
