"""W-LOGMATCH: the same epoch at the same offset means the same log up to there."""

from harness.sim.invariants.equal_logs import EqualLogs
from tests.unit.harness.sim.invariants.cluster_by_hand import RECORDS, breaks, cluster_by_hand


def test_other_records_at_the_same_offset_and_epoch_are_found() -> None:
    rule = EqualLogs()
    with cluster_by_hand(rule) as cluster:
        cluster.append(cluster.leader, b"one", epoch=7)
        cluster.append(cluster.follower, b"other", epoch=7)
        cluster.tell("append", cluster.leader)
        with breaks(
            rule, f"at offset {RECORDS} in epoch 7 differs from what n{cluster.leader} has"
        ):
            cluster.tell("append", cluster.follower)


def test_the_same_records_are_fine() -> None:
    rule = EqualLogs()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        for node_id in (cluster.leader, cluster.follower):
            cluster.append(node_id, b"same", epoch=7)
            cluster.tell("append", node_id)
        assert rule.looks == looks + 2


def test_other_records_of_another_epoch_may_be_cut_off_later() -> None:
    rule = EqualLogs()
    with cluster_by_hand(rule) as cluster:
        cluster.append(cluster.leader, b"one", epoch=7)
        cluster.append(cluster.follower, b"other", epoch=8)
        cluster.tell("append", cluster.leader)
        cluster.tell("append", cluster.follower)


def test_the_same_batch_behind_other_batches_is_found() -> None:
    rule = EqualLogs()
    with cluster_by_hand(rule) as cluster:
        leader, follower = cluster.leader, cluster.follower
        cluster.append(leader, b"a", epoch=7)
        cluster.append(follower, b"b", epoch=8)
        for node_id in (leader, follower):
            cluster.append(node_id, b"same", epoch=9)
        cluster.tell("append", leader)
        with breaks(rule, f"follows .*8.*, but on n{leader} it follows .*7"):
            cluster.tell("append", follower)


def test_an_epoch_that_begins_at_two_offsets_is_found() -> None:
    rule = EqualLogs()
    with cluster_by_hand(rule) as cluster:
        leader, follower = cluster.leader, cluster.follower
        cluster.append(leader, b"a", epoch=7)
        cluster.append(follower, b"b", epoch=6)
        cluster.append(follower, b"c", epoch=7)
        cluster.tell("append", leader)
        with breaks(rule, f"the epoch begins here, but on n{leader} at {RECORDS}"):
            cluster.tell("append", follower)


def test_other_records_below_two_high_watermarks_are_found_whatever_their_epochs() -> None:
    rule = EqualLogs()
    with cluster_by_hand(rule) as cluster:
        leader, follower = cluster.leader, cluster.follower
        for node_id, epoch in ((leader, 7), (follower, 8)):
            cluster.append(node_id, b"of %d" % epoch, epoch=epoch)
            cluster.partition(node_id).log.advance_high_watermark(RECORDS + 1)
        cluster.tell("high_watermark", leader)
        with breaks(rule, f"n{follower}'s t-0 shows .* but n{leader} has shown others there"):
            cluster.tell("high_watermark", follower)


def test_what_was_cut_off_is_read_again_when_it_comes_back() -> None:
    rule = EqualLogs()
    with cluster_by_hand(rule) as cluster:
        follower = cluster.follower
        cluster.append(follower, b"a", epoch=7)
        cluster.tell("append", follower)
        cluster.truncate(follower, RECORDS)
        cluster.tell("truncate", follower)
        cluster.append(follower, b"b", epoch=7)
        with breaks(rule, f"differs from what n{follower} has there"):
            cluster.tell("append", follower)


def test_a_log_that_did_not_grow_is_nothing_to_look_at() -> None:
    rule = EqualLogs()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        cluster.tell("append", cluster.leader)
        assert rule.looks == looks
