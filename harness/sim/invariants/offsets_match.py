"""W-OFFMAT: a coordinator holds the offsets that its log has, and what was acknowledged stays.

Whenever a coordinator has loaded or written: what it holds in memory is what its log gives by the
rule that the last record of a key counts, worked out here and not by the broker. Records of a
transaction count when its marker has committed them. And the log of
every later coordinator has, for each key, the record that was acknowledged last, or a later one.

The second part is why an acknowledgement before the high watermark is found, though the topic is
compacted and W-LEADC does not look at it. It is not asked after an unclean election, nor of a log
that a fault has damaged.
"""

from __future__ import annotations

from broker.inspect import CommittedOffset, OffsetKey, SeenShard
from broker.protocol import codec
from harness.sim.invariants.base import Cost, Key, Violation
from harness.sim.invariants.coordinator_log import CoordinatorLog, CoordinatorLogs
from harness.sim.invariants.replica import Replica
from harness.sim.invariants.step import Step

_OFFSET_KEYS = (0, 1)
"""Versions of keys that are of committed offsets."""


class OffsetsMatch:
    name = "W-OFFMAT"
    cost = Cost.EXPENSIVE

    def __init__(self) -> None:
        self.looks = 0
        self._logs = CoordinatorLogs()
        self._acknowledged: dict[Key, dict[bytes, tuple[int, int]]] = {}
        """By partition and key, the offset of the record that was acknowledged last, and the
        leader epoch of the coordinator that did it."""

    def check(self, step: Step) -> Violation | None:
        for replica, shard in step.coordinators():
            if not replica.leads(shard.leader_epoch):
                continue
            problem = self._look(step, replica, shard)
            if problem is not None:
                return step.broken(self.name, f"{replica}: {problem}")
        return None

    def _look(self, step: Step, replica: Replica, shard: SeenShard) -> str | None:
        log = self._logs.of(step, replica)
        if log.problem is not None or log.end != shard.end_offset:
            return None  # W-CRC says more of it; or something is written just now
        self.looks += 1
        problem = _difference(shard, log) or self._lost(replica.key, shard, log)
        if step.scene.decided.was_unclean(replica.key):
            self._acknowledged.pop(replica.key, None)
        for news in step.of_kind("acknowledged"):
            if step.replica_of(news) is replica and news.epoch == shard.leader_epoch:
                self._remember(replica.key, shard, log, news.offset or 0)
        return problem

    def _lost(self, key: Key, shard: SeenShard, log: CoordinatorLog) -> str | None:
        """A coordinator that was deposed, and has not heard of it, need not know of later ones."""
        for name, (offset, epoch) in self._acknowledged.get(key, {}).items():
            found = log.latest.get(name)
            if epoch <= shard.leader_epoch and (found is None or found.offset < offset):
                told = "nothing" if found is None else f"offset {found.offset}"
                return (
                    f"{_words(name)} was acknowledged at offset {offset} of the log, and this "
                    f"coordinator has {told}"
                )
        return None

    def _remember(self, key: Key, shard: SeenShard, log: CoordinatorLog, end: int) -> None:
        kept = self._acknowledged.setdefault(key, {})
        for record in log.latest.values():
            if record.counts_from < end and record.offset > kept.get(record.key, (-1, -1))[0]:
                kept[record.key] = record.offset, shard.leader_epoch


def _difference(shard: SeenShard, log: CoordinatorLog) -> str | None:
    expected = _materialised(log)
    held = shard.state.offsets
    for key in [*expected, *(each for each in held if each not in expected)]:
        if held.get(key) != expected.get(key):
            group, topic, partition = key
            return (
                f"group {group} has {_told(held.get(key))} for {topic}-{partition} in memory, and "
                f"{_told(expected.get(key))} in the log"
            )
    return None


def _materialised(log: CoordinatorLog) -> dict[OffsetKey, CommittedOffset]:
    found: dict[OffsetKey, CommittedOffset] = {}
    for record in log.latest.values():
        version = int.from_bytes(record.key[:2], "big")
        if version in _OFFSET_KEYS and record.value is not None:
            key, _ = codec.decoder("OffsetCommitKey", version)(memoryview(record.key), 2)
            value_version = int.from_bytes(record.value[:2], "big")
            decode = codec.decoder("OffsetCommitValue", value_version)
            value, _ = decode(memoryview(record.value), 2)
            found[key.group, key.topic, key.partition] = CommittedOffset(
                value.offset,
                value.leader_epoch,
                value.metadata,
                value.commit_timestamp,
                value.expire_timestamp,
                value.topic_id,
            )
    return found


def _told(committed: CommittedOffset | None) -> str:
    return "nothing" if committed is None else f"offset {committed.offset}"


def _words(key: bytes) -> str:
    version = int.from_bytes(key[:2], "big")
    if version not in _OFFSET_KEYS:
        return f"the record {key.hex()}"
    decoded, _ = codec.decoder("OffsetCommitKey", version)(memoryview(key), 2)
    return f"a commit of group {decoded.group} for {decoded.topic}-{decoded.partition}"
