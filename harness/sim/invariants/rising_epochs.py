"""W-EPOCH: epochs never fall along a log, and a log's epoch cache says where each of them begins.

The cache holds exactly the beginnings that the batches show. One more entry is allowed, at the
log's end: a leadership that has written nothing yet. What lies before the log's start is compared
by its epoch only, because the beginning itself is gone.
"""

from __future__ import annotations

from harness.sim.invariants.base import Cost, Violation
from harness.sim.invariants.replica import Replica
from harness.sim.invariants.step import Step

_Starts = list[tuple[int, int]]


class RisingEpochs:
    name = "W-EPOCH"
    cost = Cost.CHEAP

    def __init__(self) -> None:
        self.looks = 0

    def check(self, step: Step) -> Violation | None:
        for replica in step.replicas.values():
            if replica.is_unlike:
                continue
            self.looks += 1
            sentence = _falling(replica) or _wrong_cache(replica) or _lacks_own(replica)
            if sentence is not None:
                return step.broken(self.name, sentence)
        return None


def _falling(replica: Replica) -> str | None:
    for previous, batch in replica.log.grown:
        if previous is not None and previous.leader_epoch > batch.leader_epoch:
            return (
                f"{replica} has epoch {batch.leader_epoch} at offset {batch.base_offset}, "
                f"after epoch {previous.leader_epoch}"
            )
    return None


def _wrong_cache(replica: Replica) -> str | None:
    log, shown = replica.seen_log, replica.log.starts
    cached: _Starts = list(log.epochs)
    if log.start == log.end and len(cached) <= 1:
        # Everything was deleted: what is left is the epoch that wrote last, or the one that leads.
        return None
    if cached and cached[-1][1] == log.end:
        # A leadership without a record; it must still be the latest.
        leftover = cached.pop()
        if shown and leftover[0] <= shown[-1][0]:
            return f"{replica} caches epoch {leftover[0]} at its end, after epoch {shown[-1][0]}"
    if cached == shown:
        return None
    above = [each for each in shown if each[1] > log.start]
    if [each for each in cached if each[1] > log.start] == above and (
        log.start == log.end or _epoch_at(cached, log.start) == _epoch_at(shown, log.start)
    ):
        return None
    return f"{replica} from {log.start} to {log.end} caches {cached}, but its batches say {shown}"


def _epoch_at(starts: _Starts, offset: int) -> int | None:
    found = [epoch for epoch, start in starts if start <= offset]
    return found[-1] if found else None


def _lacks_own(replica: Replica) -> str | None:
    leadership = None if replica.partition is None else replica.partition.leadership
    if leadership is None:
        return None
    latest = replica.seen_log.epochs[-1].epoch if replica.seen_log.epochs else None
    if latest == leadership.leader_epoch:
        return None
    return f"{replica} is led in epoch {leadership.leader_epoch}, but its cache ends with {latest}"
