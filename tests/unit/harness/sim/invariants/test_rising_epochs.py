"""W-EPOCH: epochs rise along a log, and the cache says where each begins."""

from broker.log.epochs import EpochStart
from harness.sim.invariants.rising_epochs import RisingEpochs
from tests.unit.harness.sim.invariants.cluster_by_hand import RECORDS, breaks, cluster_by_hand


def test_an_epoch_that_falls_is_found() -> None:
    rule = RisingEpochs()
    with cluster_by_hand(rule) as cluster:
        cluster.append(cluster.follower, b"later", epoch=8)
        cluster.append(cluster.follower, b"earlier", epoch=7)
        with breaks(rule, f"has epoch 7 at offset {RECORDS + 1}, after epoch 8"):
            cluster.tell("append", cluster.follower)


def test_epochs_that_rise_are_fine() -> None:
    rule = RisingEpochs()
    with cluster_by_hand(rule) as cluster:
        cluster.append(cluster.follower, b"earlier", epoch=7)
        cluster.append(cluster.follower, b"later", epoch=8)
        cluster.tell("append", cluster.follower)


def test_a_beginning_that_the_cache_lacks_is_found() -> None:
    rule = RisingEpochs()
    with cluster_by_hand(rule) as cluster:
        cluster.append(cluster.follower, b"a", epoch=7)
        cluster.partition(cluster.follower).log.epochs._entries.pop()
        with breaks(rule, f"but its batches say .*7, {RECORDS}"):
            cluster.tell("append", cluster.follower)


def test_a_beginning_at_another_offset_is_found() -> None:
    rule = RisingEpochs()
    with cluster_by_hand(rule) as cluster:
        cluster.append(cluster.follower, b"a", epoch=7)
        cluster.append(cluster.follower, b"b", epoch=7)
        cluster.partition(cluster.follower).log.epochs._entries[-1] = EpochStart(7, RECORDS + 1)
        with breaks(rule, "caches .*but its batches say"):
            cluster.tell("append", cluster.follower)


def test_a_leadership_that_wrote_nothing_may_stand_at_the_end() -> None:
    rule = RisingEpochs()
    with cluster_by_hand(rule) as cluster:
        cluster.partition(cluster.follower).log.epochs.assign(9, RECORDS)
        cluster.tell("role", cluster.follower)


def test_a_leader_whose_cache_lacks_its_own_epoch_is_found() -> None:
    rule = RisingEpochs()
    with cluster_by_hand(rule) as cluster:
        leader = cluster.partition(cluster.leader).leader
        assert leader is not None
        leader.leader_epoch += 1
        with breaks(rule, f"is led in epoch {leader.leader_epoch}, but its cache ends with"):
            cluster.tell("role", cluster.leader)


def test_a_log_that_begins_later_is_compared_from_there() -> None:
    rule = RisingEpochs()
    with cluster_by_hand(rule) as cluster:
        log = cluster.partition(cluster.follower).log
        cluster.append(cluster.follower, b"a", epoch=7)
        cluster.append(cluster.follower, b"b", epoch=8)
        log.advance_high_watermark(RECORDS + 2)
        cluster.run(log.delete_records(RECORDS + 1))
        assert log.epochs.entries == (EpochStart(8, RECORDS + 1),)
        cluster.tell("append", cluster.follower)


def test_a_node_without_the_partition_is_nothing_to_look_at() -> None:
    rule = RisingEpochs()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        cluster.tell("append", 1, topic="nowhere")
        assert rule.looks == looks
