"""What must be true of a quorum at every moment, judged by one who sees all its members."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tests.unit.broker.raft.memory_log import MemoryLog, Record


class ViolationError(Exception):
    pass


class Ghost:
    """Remembers everything that was ever led, voted, written or committed."""

    def __init__(self, voters: tuple[int, ...]) -> None:
        self.voters = voters
        self.committed: list[Record] = []
        self._committed_in: list[int] = []
        self.seen: Counter[str] = Counter()
        self._leaders: dict[int, int] = {}
        self._votes: dict[tuple[int, int], int] = {}
        self._written: dict[tuple[int, int], tuple[str, int]] = {}

    def votes(self, voter: int, epoch: int, candidate: int) -> None:
        if voter not in self.voters:
            raise ViolationError(f"n{voter} votes, but is an observer")
        before = self._votes.setdefault((voter, epoch), candidate)
        if before != candidate:
            raise ViolationError(
                f"n{voter} votes for n{candidate} in epoch {epoch}, after n{before}"
            )

    def leads(self, node: int, epoch: int, log: MemoryLog) -> None:
        before = self._leaders.setdefault(epoch, node)
        if before != node:
            raise ViolationError(f"n{before} and n{node} both lead epoch {epoch}")
        # A leader that was overtaken before it knew that it leads need not know what came later.
        owed = sum(committed_in < epoch for committed_in in self._committed_in)
        if log.end_offset < owed:
            raise ViolationError(
                f"n{node} leads epoch {epoch} without the records from {log.end_offset} on, "
                f"but {owed} are committed"
            )
        self._agrees(node, log, log.start_offset, owed)
        self.seen["elections"] += 1

    def writes(self, node: int, log: MemoryLog, base_offset: int) -> None:
        """Equal (offset, epoch) must mean equal records and equal predecessors, so equal logs."""
        for offset in range(base_offset, log.end_offset):
            epoch, value = log.records[offset - log.start_offset]
            previous = log.epoch_at(offset - 1) if offset else 0
            if previous > epoch:
                raise ViolationError(f"n{node} writes epoch {epoch} at {offset} after {previous}")
            before = self._written.setdefault((offset, epoch), (value, previous))
            if before != (value, previous):
                raise ViolationError(
                    f"n{node} has {value} at {offset} in epoch {epoch}, another has {before[0]}"
                )
        self.seen["records written"] += log.end_offset - base_offset

    def truncates(self, offset: int, end_offset: int, high_watermark: int) -> None:
        if offset < high_watermark:
            raise ViolationError(f"cut to {offset}, below the high watermark {high_watermark}")
        self.seen["truncations"] += 1
        self.seen["records truncated"] += end_offset - offset

    def starts_over(self, end_offset: int, high_watermark: int) -> None:
        if end_offset <= high_watermark:
            raise ViolationError(f"a snapshot of {end_offset} in place of {high_watermark}")
        if end_offset > len(self.committed):
            raise ViolationError(f"a snapshot of {end_offset}, not all of which is committed")

    def commits(
        self,
        node: int,
        epoch: int,
        log: MemoryLog,
        before: int,
        offset: int,
        held_by: Iterable[MemoryLog] | None,
    ) -> None:
        """`held_by`: the logs of the voters, when the node has counted them itself."""
        if offset <= before:
            raise ViolationError(f"n{node}: the high watermark goes from {before} to {offset}")
        if offset > log.end_offset:
            raise ViolationError(f"n{node} calls {offset} committed, has {log.end_offset}")
        self._agrees(node, log, max(before, log.start_offset), min(offset, len(self.committed)))
        for missing in range(len(self.committed), offset):
            self.committed.append(log.records[missing - log.start_offset])
            self._committed_in.append(epoch)
            self.seen["records committed"] += 1
        if held_by is not None:
            holders = sum(_holds_on_disk(each, offset - 1, log) for each in held_by)
            if holders <= len(self.voters) // 2:
                raise ViolationError(f"n{node} commits up to {offset}, held by {holders} voters")

    def _agrees(self, node: int, log: MemoryLog, start: int, end: int) -> None:
        for offset in range(start, end):
            has = log.records[offset - log.start_offset]
            if has != self.committed[offset]:
                raise ViolationError(
                    f"n{node} has {has} at {offset}, but {self.committed[offset]} is committed"
                )


def _holds_on_disk(log: MemoryLog, offset: int, like: MemoryLog) -> bool:
    if offset < log.start_offset:
        return True
    return log.flushed_offset > offset and log.epoch_at(offset) == like.epoch_at(offset)
