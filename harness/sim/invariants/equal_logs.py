"""W-LOGMATCH: logs that hold the same epoch at the same offset are the same up to there.

Each batch that appears anywhere must be like the first one that was seen with its offset and epoch,
and follow the same batch; by that the logs before it are the same, too. And below their high
watermarks all logs are the same, whatever their epochs: that is compared with the ghost record. By
checksum and size, not byte by byte. Compacted topics are not looked at.
"""

from __future__ import annotations

from typing import NamedTuple

from broker.inspect import SeenBatch
from harness.sim.invariants.base import Cost, Key, Violation
from harness.sim.invariants.ghost import Conflict
from harness.sim.invariants.replica import Replica
from harness.sim.invariants.step import Step


class _First(NamedTuple):
    """How a batch looked where it was first seen."""

    last_offset: int
    crc: int
    size: int
    previous: tuple[int, int] | None  # offset and epoch of the batch before it, if there was one
    node: str


class EqualLogs:
    name = "W-LOGMATCH"
    cost = Cost.CHEAP

    def __init__(self) -> None:
        self.looks = 0
        self._written: dict[tuple[Key, int, int], _First] = {}
        self._begun: dict[tuple[Key, int], tuple[int, str]] = {}

    def check(self, step: Step) -> Violation | None:
        for replica in step.replicas.values():
            for previous, batch in replica.log.grown:
                sentence = self._compare(replica, previous, batch)
                if sentence is not None:
                    return step.broken(self.name, sentence)
        if step.conflict is not None:
            return step.broken(self.name, _explain(step.conflict))
        return None

    def _compare(
        self, replica: Replica, previous: SeenBatch | None, batch: SeenBatch
    ) -> str | None:
        self.looks += 1
        base, epoch = batch.base_offset, batch.leader_epoch
        link = None if previous is None else (previous.base_offset, previous.leader_epoch)
        seen = _First(batch.last_offset, batch.crc, batch.size, link, replica.node)
        first = self._written.setdefault((replica.key, base, epoch), seen)
        where = f"{replica} at offset {base} in epoch {epoch}"
        if first[:3] != seen[:3]:
            return f"{where} differs from what {first.node} has there"
        if None not in (first.previous, link) and first.previous != link:
            return f"{where} follows {link}, but on {first.node} it follows {first.previous}"
        if first.previous is None and link is not None:
            self._written[replica.key, base, epoch] = seen
        if previous is not None and previous.leader_epoch != epoch:
            begun = self._begun.setdefault((replica.key, epoch), (base, replica.node))
            if begun[0] != base:
                return f"{where}: the epoch begins here, but on {begun[1]} at {begun[0]}"
        return None


def _explain(conflict: Conflict) -> str:
    replica, batch, before = conflict
    where = f"{replica} shows offsets {batch.base_offset} to {batch.last_offset}"
    if before is None:
        return f"{where} of epoch {batch.leader_epoch}, where others have shown other batches"
    return (
        f"{where} of epoch {batch.leader_epoch} below its high watermark, but {before.shown_by} "
        f"has shown others there, of epoch {before.leader_epoch}"
    )
