"""W-CRC: a log is batches from its first byte to its last, with rising offsets."""

from broker.disk.memory import MemoryDisk
from broker.protocol.records import Record, build_batch
from broker.quorum.metadata_log import TOPIC
from harness.sim.invariants.sound_batches import SoundBatches
from tests.unit.harness.sim.invariants.cluster_by_hand import (
    RECORDS,
    ClusterByHand,
    breaks,
    cluster_by_hand,
)


def flip_last_byte(cluster: ClusterByHand, node_id: int) -> None:
    """On the disk, behind the log's back."""
    disk = cluster.cluster[f"n{node_id}"].disks["data"]
    assert isinstance(disk, MemoryDisk)
    disk._now.files[cluster.partition(node_id).log.active.file.path].content[-1] ^= 1


def test_a_checksum_that_does_not_match_is_found() -> None:
    rule = SoundBatches()
    with cluster_by_hand(rule) as cluster:
        cluster.append(cluster.follower, b"damaged", epoch=7)
        flip_last_byte(cluster, cluster.follower)
        with breaks(rule, f"n{cluster.follower}'s t-0: .*log: the CRC of the batch at byte"):
            cluster.tell("append", cluster.follower)


def test_damage_is_found_when_the_node_starts_again() -> None:
    rule = SoundBatches()
    with cluster_by_hand(rule) as cluster:
        node = cluster.cluster[f"n{cluster.follower}"]
        cluster.run(node.stop(), for_s=20.0)
        disk = node.disks["data"]
        path = next(each for each in disk._now.files if each.startswith("t-0/") and "log" in each)
        disk._now.files[path].content[-1] ^= 1
        node.start()
        with breaks(rule, "the CRC of the batch"):
            cluster.run(node.started(), for_s=30.0)


def test_bytes_behind_the_last_batch_are_found() -> None:
    rule = SoundBatches()
    with cluster_by_hand(rule) as cluster:
        segment = cluster.partition(cluster.follower).log.active
        segment.file.append((b"left over",))
        segment.size += len(b"left over")
        with breaks(rule, "a batch header takes 61 bytes, got 9"):
            cluster.tell("append", cluster.follower)


def test_an_offset_that_does_not_rise_is_found() -> None:
    rule = SoundBatches()
    with cluster_by_hand(rule) as cluster:
        segment = cluster.partition(cluster.follower).log.active
        batch = build_batch([Record(RECORDS - 1, 0, None, b"again")], leader_epoch=0)
        segment.file.append((batch,))
        segment.size += len(batch)
        with breaks(rule, f"offset {RECORDS - 1} follows {RECORDS - 1}"):
            cluster.tell("append", cluster.follower)


def test_a_log_that_says_it_is_longer_is_found() -> None:
    rule = SoundBatches()
    with cluster_by_hand(rule) as cluster:
        cluster.partition(cluster.follower).log.end_offset += 1
        with breaks(rule, f"the last batch ends at {RECORDS}, the log at {RECORDS + 1}"):
            cluster.tell("append", cluster.follower)


def test_a_gap_in_the_metadata_is_found_and_elsewhere_allowed() -> None:
    rule = SoundBatches()
    with cluster_by_hand(rule) as cluster:
        cluster.append(cluster.follower, b"later", epoch=7, offset=RECORDS + 10)
        cluster.tell("append", cluster.follower)
        log = cluster.node(1).quorum.log.log
        batch = build_batch([Record(log.end_offset + 2, 0, None, b"{}")], leader_epoch=99)
        log.append_replicated(memoryview(batch))
        with breaks(rule, "with a gap between"):
            cluster.tell_of_quorum("append", 1)


def test_sound_batches_are_fine_and_each_is_read_once() -> None:
    rule = SoundBatches()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        cluster.append(cluster.follower, b"one more", epoch=7)
        cluster.tell("append", cluster.follower)
        cluster.tell("append", cluster.follower)
        assert rule.looks == looks + 1


def test_a_node_that_has_no_such_log_is_nothing_to_look_at() -> None:
    rule = SoundBatches()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        cluster.tell("append", 1, topic="nowhere")
        assert rule.looks == looks
        assert TOPIC != "nowhere"
