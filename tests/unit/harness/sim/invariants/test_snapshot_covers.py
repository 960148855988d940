"""W-SNAP: a metadata log that does not begin at 0 has a snapshot of all that came before."""

from harness.sim.invariants.snapshot_covers import SnapshotCovers
from tests.unit.harness.sim.invariants.cluster_by_hand import breaks, cluster_by_hand

OFTEN = {"metadata.log.max.record.bytes.between.snapshots": "1"}


def test_a_log_that_begins_later_without_a_snapshot_is_found() -> None:
    rule = SnapshotCovers()
    with cluster_by_hand(rule) as cluster:
        cluster.node(1).quorum.log.log.start_offset = 3
        with breaks(rule, "begins at 3, and there is no snapshot"):
            cluster.tell_of_quorum("append", 1)


def test_a_snapshot_that_ends_too_early_is_found() -> None:
    rule = SnapshotCovers()
    with cluster_by_hand(rule, OFTEN) as cluster:
        log = cluster.node(1).quorum.log.log
        log.start_offset = log.end_offset + 1
        with breaks(rule, "but its snapshot ends at"):
            cluster.tell_of_quorum("append", 1)


def test_a_snapshot_whose_file_is_gone_is_found() -> None:
    rule = SnapshotCovers()
    with cluster_by_hand(rule, OFTEN) as cluster:
        log = cluster.node(1).quorum.log
        assert log.snapshot_id is not None
        cluster.run(cluster.cluster["n1"].disks["data"].delete(log.snapshots.path(log.snapshot_id)))
        with breaks(rule, "is gone"):
            cluster.tell_of_quorum("append", 1)


def test_snapshots_that_cover_all_are_fine() -> None:
    rule = SnapshotCovers()
    with cluster_by_hand(rule, OFTEN) as cluster:
        assert all(cluster.node(each).quorum.log.start_offset > 0 for each in (1, 2, 3))
        assert rule.looks > 3


def test_a_log_from_the_beginning_needs_no_snapshot() -> None:
    rule = SnapshotCovers()
    with cluster_by_hand(rule) as cluster:
        cluster.tell_of_quorum("append", 1)
        assert rule.looks == 0
