"""W-CMPEQ: compaction leaves the same last value of every key on all replicas.

Whenever the log of a replica became another one (it was compacted, or cut), it is compared with the
other running replicas of the partition: below the high watermarks of both, the last record of a key
that counts is the same. A tombstone may be gone from one of them only if no other replica has a
value still that it deleted; and a marker only if no other has records that wait for it.

Looked at are the topics of the coordinators, whose records have keys and transactions.
"""

from __future__ import annotations

from broker.inspect import GROUPS_TOPIC, TRANSACTIONS_TOPIC
from harness.sim.invariants.base import Cost, Violation
from harness.sim.invariants.coordinator_log import CoordinatorLog, CoordinatorLogs
from harness.sim.invariants.replica import Replica
from harness.sim.invariants.step import Step

_TOPICS = (GROUPS_TOPIC, TRANSACTIONS_TOPIC)


class EqualCompaction:
    name = "W-CMPEQ"
    cost = Cost.EXPENSIVE

    def __init__(self) -> None:
        self.looks = 0
        self._logs = CoordinatorLogs()
        self._read: dict[CoordinatorLog, int] = {}

    def check(self, step: Step) -> Violation | None:
        for replica in list(step.replicas.values()):
            if replica.topic not in _TOPICS:
                continue
            log = self._logs.of(step, replica)
            if self._read.get(log, 0) == log.readings or log.problem is not None:
                continue
            self._read[log] = log.readings
            problem = self._compare(step, replica, log)
            if problem is not None:
                return step.broken(self.name, problem)
        return None

    def _compare(self, step: Step, replica: Replica, log: CoordinatorLog) -> str | None:
        if step.scene.decided.was_unclean(replica.key) or step.scene.is_damaged(replica):
            return None
        for known in step.scene.all_replicas():
            if known.key != replica.key or known.node == replica.node:
                continue
            # As it is now: its segments may have been replaced since it was last looked at.
            other = step.scene.look(known.node, known.topic, known.key[1])
            if not isinstance(other, Replica) or other.key != known.key:
                continue
            if step.scene.is_damaged(other):
                continue
            theirs = self._logs.of(step, other)
            if theirs.problem is None:
                self.looks += 1
                end = min(replica.high_watermark, other.high_watermark, log.end, theirs.end)
                problem = _difference(log, theirs, end) or _difference(theirs, log, end)
                if problem is not None:
                    return f"{replica} and {other}, below {end}: {problem}"
        return None


def _difference(one: CoordinatorLog, other: CoordinatorLog, end: int) -> str | None:
    """What one has and the other has not, or differently."""
    for key, record in one.latest.items():
        found = other.latest.get(key)
        if record.counts_from >= end or (found is not None and found.counts_from >= end):
            continue
        if found is None and record.value is not None:
            return f"a value at {record.offset} is on one of them only"
        if found is not None and found.offset != record.offset:
            if record.value is None and found.offset > record.offset:
                continue
            return f"a key has its last record at {record.offset} and at {found.offset}"
        if found is not None and found.value != record.value:
            return f"the record at {record.offset} has two values"
    return None
