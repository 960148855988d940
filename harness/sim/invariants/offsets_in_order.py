"""W-ORDER: a log's start, last stable offset, high watermark and end stand in this order.

On every replica, whatever it is; nothing beyond the end is called synced. For the quorum: its high
watermark lies in the log, its flushed end too, and a snapshot does not reach beyond the log. Not
looked at is a log that is being cut or rolled at the moment.
"""

from __future__ import annotations

from itertools import pairwise

from harness.sim.invariants.base import Cost, Violation
from harness.sim.invariants.replica import Replica
from harness.sim.invariants.step import Step


class OffsetsInOrder:
    name = "W-ORDER"
    cost = Cost.CHEAP

    def __init__(self) -> None:
        self.looks = 0

    def check(self, step: Step) -> Violation | None:
        for replica in step.replicas.values():
            self.looks += 1
            for what, offsets in _orders(replica):
                if any(low > high for low, high in pairwise(offsets)):
                    told = " <= ".join(map(str, offsets))
                    return step.broken(self.name, f"{replica}: {what} is not {told}")
        return None


def _orders(replica: Replica) -> list[tuple[str, tuple[int, ...]]]:
    log, quorum = replica.seen_log, replica.quorum
    orders = [
        (
            "start <= last stable <= high watermark <= end",
            (log.start, log.last_stable, log.high_watermark, log.end),
        ),
        ("recovery point <= end", (log.recovery_point, log.end)),
    ]
    if quorum is not None:
        orders.append(("high watermark <= end", (quorum.high_watermark, log.end)))
        orders.append(("start <= flushed <= end", (log.start, quorum.flushed, log.end)))
        if quorum.snapshot is not None:
            orders.append(("snapshot <= end", (quorum.snapshot.end_offset, log.end)))
    elif replica.partition is not None and replica.partition.leadership is not None:
        end = replica.partition.leadership.end
        orders.append(("the leader's own end <= end", (end, log.end)))
        orders.append(("end <= the leader's own end", (log.end, end)))
    return orders
