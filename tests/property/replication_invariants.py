"""What must hold in every state of a replicated partition, seen from above all nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations

from broker.metadata.partition_info import PartitionInfo
from tests.golden.replication.memory_log import MemoryLog, Record
from tests.golden.replication.replica import Replica, Written


class ViolationError(AssertionError):
    """Named after the promise that was broken."""


class Invariants:
    """Remembers everything that was ever below a high watermark, or acknowledged."""

    def __init__(self) -> None:
        self.exposed: list[Record] = []
        self.acknowledged_end = 0
        self._values: dict[int, str] = {}
        self._marks: dict[tuple[int, int, int], int] = {}

    def acknowledged(self, written: Written) -> None:
        self._values[written.offset] = written.value
        self.acknowledged_end = max(self.acknowledged_end, written.offset + 1)

    def was_read(self, first: int, records: Iterable[Record]) -> None:
        for offset, record in enumerate(records, first):
            if self.exposed[offset : offset + 1] != [record]:
                raise ViolationError(f"a reader got {record.value} at {offset}")

    def check(
        self, info: PartitionInfo, up: Mapping[int, Replica], lives: Mapping[int, int]
    ) -> None:
        for node_id, replica in up.items():
            self.look_at(replica)
            self._check_marks(node_id, replica, lives[node_id])
        for one, other in combinations(up.values(), 2):
            _check_match(one.log, other.log)
        for node_id in info.isr:
            if node_id in up:
                self._check_candidate(node_id, up[node_id].log)
        leader = up.get(info.leader)
        if leader is not None:
            self._check_leader(info, leader)

    def _check_leader(self, info: PartitionInfo, leader: Replica) -> None:
        state = leader.leader
        if state is None or state.leader_epoch != info.leader_epoch:
            return
        self._check_acknowledged(leader)
        missing = [each for each in (*info.isr, *info.elr) if each not in state.maximal_isr]
        if missing:
            raise ViolationError(f"the leader does not count {missing}, who may be elected")

    def look_at(self, replica: Replica) -> None:
        """As a reader could at any time, between two effects of one answer too."""
        self._check_own_order(replica.node_id, replica.log)
        self._check_exposed(replica.node_id, replica.log)

    def _check_own_order(self, node_id: int, log: MemoryLog) -> None:
        if not log.start_offset <= log.high_watermark <= log.end_offset:
            raise ViolationError(f"n{node_id}: the high watermark is outside of the log")

    def _check_exposed(self, node_id: int, log: MemoryLog) -> None:
        """The same records below every high watermark, for ever."""
        start, mark = log.start_offset, log.high_watermark
        known = min(mark, len(self.exposed))
        if log.between(start, known) != self.exposed[start:known]:
            raise ViolationError(f"n{node_id} shows other records than were shown before")
        if mark > known:
            # A log that begins above what is known would leave a gap.
            if start > len(self.exposed):
                raise ViolationError(f"n{node_id} begins above what was ever committed")
            self.exposed += log.between(len(self.exposed), mark)

    def _check_marks(self, node_id: int, replica: Replica, life: int) -> None:
        if replica.leader is not None:
            leadership = (node_id, life, replica.leader.leader_epoch)
            mark = replica.log.high_watermark
            if mark < self._marks.get(leadership, 0) or mark != replica.leader.high_watermark:
                raise ViolationError(f"n{node_id}: the high watermark went back")
            self._marks[leadership] = mark

    def _check_candidate(self, node_id: int, log: MemoryLog) -> None:
        """Whoever may be elected has everything that was committed."""
        committed = len(self.exposed)
        if log.end_offset < committed:
            raise ViolationError(f"n{node_id} is in sync without what is committed")
        if log.between(log.start_offset, committed) != self.exposed[log.start_offset :]:
            raise ViolationError(f"n{node_id} is in sync with other records")

    def _check_acknowledged(self, leader: Replica) -> None:
        log = leader.log
        if log.end_offset < self.acknowledged_end:
            raise ViolationError("the leader lacks what was acknowledged")
        for offset, value in self._values.items():
            if offset >= log.start_offset and log.at(offset).value != value:
                raise ViolationError(f"{value} was acknowledged, and is not at {offset}")


def _check_match(one: MemoryLog, other: MemoryLog) -> None:
    """Two logs that have an epoch in common at an offset are the same up to there."""
    first = max(one.start_offset, other.start_offset)
    offset = min(one.end_offset, other.end_offset) - 1
    while offset >= first and one.at(offset).epoch != other.at(offset).epoch:
        offset -= 1
    if offset >= first and one.between(first, offset + 1) != other.between(first, offset + 1):
        raise ViolationError(f"two logs differ before offset {offset}, where they meet")
