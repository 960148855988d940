"""One replica as the watcher knows it: in one life of its node, as it was at the last look."""

from __future__ import annotations

from collections.abc import Sequence

from broker.inspect import SeenLog, SeenPartition, SeenQuorum, SeenSegment
from harness.sim.invariants.base import METADATA, Key
from harness.sim.invariants.replica_log import Peek, ReplicaLog


class Replica:
    """Of a partition, or of the metadata log: then `quorum` is set in place of `partition`."""

    def __init__(self, node: str, life: int, key: Key, topic: str) -> None:
        self.node = node
        self.life = life
        self.key = key
        self.topic = topic
        self.name = "the metadata" if key == METADATA else f"{topic}-{key[1]}"
        self.log = ReplicaLog()
        self.partition: SeenPartition | None = None
        self.quorum: SeenQuorum | None = None
        self.segments: tuple[SeenSegment, ...] = ()
        self.shown_end = 0
        """Up to where the ghost record has taken notice of this log."""
        self.held_end = 0
        """Up to where all that is in the ghost record is known to be here."""
        self.is_new = True
        """Looked at for the first time in this life."""
        self.mark_before = 0
        """The high watermark at the look before the last one."""
        self.is_unlike = False
        """What it stores is no measure of what was written: it is compacted, or was damaged."""

    def look(
        self,
        seen: SeenPartition | SeenQuorum,
        segments: Sequence[SeenSegment],
        peek: Peek,
        is_unlike: bool,
    ) -> None:
        self.is_new = self.partition is None and self.quorum is None
        self.mark_before = 0 if self.is_new else self.high_watermark
        if isinstance(seen, SeenQuorum):
            self.quorum = seen
        else:
            self.partition = seen
        self.segments = tuple(segments)
        self.is_unlike = is_unlike
        if is_unlike:
            # Replicas compact when they like, and a fault may have changed what this one stores:
            # their batches need not be the same any more.
            self.log = ReplicaLog()
            return
        self.log.look(segments, peek)
        if self.log.cut_at is not None:
            self.shown_end = min(self.shown_end, self.log.cut_at)
            self.held_end = min(self.held_end, self.log.cut_at)

    @property
    def seen_log(self) -> SeenLog:
        seen = self.partition or self.quorum
        assert seen is not None, "nobody has looked at it yet"
        return seen.log

    @property
    def epoch(self) -> int:
        """Under which the node acts for this log."""
        if self.quorum is not None:
            return self.quorum.epoch
        return -1 if self.partition is None else self.partition.leader_epoch

    @property
    def high_watermark(self) -> int:
        """What the quorum has committed is known to its rules, and to its log a moment later."""
        return self.seen_log.high_watermark if self.quorum is None else self.quorum.high_watermark

    def leads(self, epoch: int | None) -> bool:
        """Whether it is a partition's leader of this epoch."""
        leadership = None if self.partition is None else self.partition.leadership
        return leadership is not None and leadership.leader_epoch == epoch

    def __str__(self) -> str:
        return f"{self.node}'s {self.name}"
