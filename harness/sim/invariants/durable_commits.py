"""W-DURABLE: what the quorum has committed is on the disks of a majority of its voters.

On disk means synced, so that no loss of power takes it; nodes that are down count with what their
disks hold. With `data` the same is asked of partitions: what is acknowledged is on the disks of all
that are in sync and run. Kafka's logs do not promise that by themselves: it takes flush.messages=1.
Looked at is the last batch; what comes before it was synced before it.
"""

from __future__ import annotations

from broker.inspect import SeenBatch, read_batches
from harness.sim.invariants.base import METADATA, Cost, Violation
from harness.sim.invariants.replica import Replica
from harness.sim.invariants.scene import Scene
from harness.sim.invariants.step import Step
from harness.sim.trace_sink import News


class DurableCommits:
    name = "W-DURABLE"
    cost = Cost.CHEAP

    def __init__(self, *, data: bool = False) -> None:
        self.looks = 0
        self._data = data

    def check(self, step: Step) -> Violation | None:
        for news in step.of_kind("high_watermark", "acknowledged"):
            replica = step.replica_of(news)
            if replica is None:
                continue
            sentence = None
            if replica.key == METADATA:
                sentence = self._committed(step.scene, replica)
            elif self._data and news.kind == "acknowledged":
                sentence = self._acknowledged(step.scene, replica, news)
            if sentence is not None:
                return step.broken(self.name, sentence)
        return None

    def _committed(self, scene: Scene, leader: Replica) -> str | None:
        quorum = leader.quorum
        if quorum is None or quorum.role != "leader":
            return None
        last = leader.log.last_below(quorum.high_watermark)
        if last is None:
            return None
        self.looks += 1
        holders = [each for each in quorum.voters if _has_on_disk(scene, each, leader, last)]
        if len(holders) > len(quorum.voters) // 2:
            return None
        return (
            f"{leader.node} leads the quorum in epoch {quorum.epoch} and calls all below "
            f"{quorum.high_watermark} committed, but only {holders} of the voters "
            f"{list(quorum.voters)} have it on disk"
        )

    def _acknowledged(self, scene: Scene, leader: Replica, news: News) -> str | None:
        leadership = None if leader.partition is None else leader.partition.leadership
        last = leader.log.last_below(news.offset or 0)
        if leadership is None or last is None:
            return None
        self.looks += 1
        lacking = [
            each
            for each in leadership.isr
            if scene.is_clean(each) and not _has_on_disk(scene, each, leader, last)
        ]
        if not lacking:
            return None
        return (
            f"{leader.node} acknowledges {leader.name} up to {news.offset}, but {lacking} of the "
            f"in-sync replicas {list(leadership.isr)} do not have it on disk"
        )


def _has_on_disk(scene: Scene, node_id: int, leader: Replica, batch: SeenBatch) -> bool:
    replica = scene.last_known(node_id, leader.key)
    if replica is None:
        return False
    if batch.last_offset < replica.seen_log.start:
        return True
    if replica.is_unlike:
        return batch.last_offset < replica.seen_log.end
    has = replica.log.by_base.get(batch.base_offset)
    if has is None or (has.leader_epoch, has.crc) != (batch.leader_epoch, batch.crc):
        return False
    segment = next((each for each in replica.segments if each.base_offset == has.segment), None)
    if segment is None or scene.synced_bytes(replica.node, segment) < has.position + has.size:
        return False
    # A node that lost its power may have other bytes there by now.
    content = scene.peek(replica.node, segment, has.position, has.size)
    found, _ = read_batches(segment, has.position, content)
    return found == [has]
