"""W-CRC: a log is batches from its first byte to its last, with rising offsets.

Every checksum is right, no bytes follow the last batch, and that one ends where the log does. In
the metadata log no offset is left out. Each batch is read once in a life of its node: bytes that
change later, without a word of the node, are not seen. Compacted topics are not looked at, nor logs
that a fault has damaged.
"""

from __future__ import annotations

from harness.sim.invariants.base import METADATA, Cost, Violation
from harness.sim.invariants.replica import Replica
from harness.sim.invariants.step import Step


class SoundBatches:
    name = "W-CRC"
    cost = Cost.CHEAP

    def __init__(self) -> None:
        self.looks = 0

    def check(self, step: Step) -> Violation | None:
        for replica in step.replicas.values():
            if replica.is_unlike:
                continue
            sentence = self._look(replica)
            if sentence is not None:
                return step.broken(self.name, f"{replica}: {sentence}")
        return None

    def _look(self, replica: Replica) -> str | None:
        log = replica.log
        if log.problem is not None:
            return log.problem
        for previous, batch in log.grown:
            self.looks += 1
            if batch.last_offset < batch.base_offset:
                return f"a batch ends at {batch.last_offset} and begins at {batch.base_offset}"
            behind = None if previous is None else previous.last_offset + 1
            if behind is not None and batch.base_offset < behind:
                return f"offset {batch.base_offset} follows {behind - 1}"
            if replica.key == METADATA and behind is not None and batch.base_offset > behind:
                return f"offset {batch.base_offset} follows {behind - 1}, with a gap between"
        if log.batches and log.end != replica.seen_log.end:
            return f"the last batch ends at {log.end}, the log at {replica.seen_log.end}"
        return None
