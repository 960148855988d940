"""W-DURABLE: what the quorum has committed is on the disks of a majority."""

from broker.log.origin import Origin
from broker.metadata.changes import ProducerIdsAllocated
from broker.quorum.metadata_log import DIRECTORY
from broker.quorum.records import change_batch
from harness.sim.invariants.durable_commits import DurableCommits
from tests.unit.harness.sim.invariants.cluster_by_hand import (
    RECORDS,
    ClusterByHand,
    breaks,
    cluster_by_hand,
)


def commit(cluster: ClusterByHand, *flushing: int) -> None:
    """A record that all voters have, and only these on disk, is called committed."""
    leader = cluster.node(cluster.controller).quorum
    nodes = [cluster.node(each) for each in (1, 2, 3)]

    async def write() -> None:
        for node in nodes:
            batch = memoryview(change_batch([ProducerIdsAllocated(10_000)], 0))
            node.quorum.log.log.append(
                batch, leader_epoch=leader.raft.epoch, origin=Origin.COORDINATOR
            )
            if node.node_id in flushing:
                await node.quorum.log.flush()

    cluster.run(write())
    for node in nodes:
        cluster.tell_of_quorum("append", node.node_id)
    leader.raft._member.high_watermark = leader.log.end_offset
    cluster.tell_of_quorum("high_watermark", cluster.controller)


def test_a_commit_that_only_one_voter_has_on_disk_is_found() -> None:
    rule = DurableCommits()
    with cluster_by_hand(rule) as cluster:
        only = cluster.controller
        with breaks(rule, rf"but only \[{only}\] of the voters \[1, 2, 3\] have it on disk"):
            commit(cluster, only)


def test_a_commit_on_the_disks_of_a_majority_is_fine() -> None:
    rule = DurableCommits()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        commit(cluster, 1, 2)
        assert rule.looks > looks


def test_a_voter_that_is_down_counts_with_what_its_disk_holds() -> None:
    rule = DurableCommits()
    with cluster_by_hand(rule) as cluster:
        commit(cluster, 1, 2, 3)
        leader = cluster.controller
        others = [cluster.cluster[f"n{each}"] for each in (1, 2, 3) if each != leader]
        others[0].power_loss()
        others[1].kill()
        cluster.tell_of_quorum("high_watermark", leader)
        path = f"{DIRECTORY}/{0:020d}.log"
        for node in others:
            node.disks["data"]._now.files[path].content[-1] ^= 1
        with breaks(rule, rf"but only \[{leader}\] of the voters"):
            cluster.tell_of_quorum("high_watermark", leader)


def test_followers_call_nothing_committed_themselves() -> None:
    rule = DurableCommits()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        other = next(each for each in (1, 2, 3) if each != cluster.controller)
        cluster.tell_of_quorum("high_watermark", other)
        cluster.tell("acknowledged", cluster.leader, offset=RECORDS)
        assert rule.looks == looks


def test_acknowledged_data_that_was_not_synced_is_found_if_asked_for() -> None:
    rule = DurableCommits(data=True)
    with breaks(rule, "of the in-sync replicas .* do not have it on disk"), cluster_by_hand(rule):
        pass


def test_acknowledged_data_is_synced_where_every_message_is_flushed() -> None:
    rule = DurableCommits(data=True)
    with cluster_by_hand(rule, {"log.flush.interval.messages": "1"}):
        assert rule.looks >= RECORDS
