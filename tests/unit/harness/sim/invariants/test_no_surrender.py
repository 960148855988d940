"""W-EXIT: no node ends by itself, but for its disk."""

import asyncio

from broker.metadata.changes import TopicDeleted
from broker.metadata.image import ConflictError
from harness.sim.invariants.base import Cost
from harness.sim.invariants.no_surrender import NoSurrender
from tests.unit.harness.sim.invariants.cluster_by_hand import breaks, cluster_by_hand


def test_a_node_that_cannot_apply_what_is_committed_is_found() -> None:
    rule = NoSurrender()
    with cluster_by_hand(rule) as cluster:
        quorum = cluster.node(cluster.controller).quorum
        with breaks(rule, "ended by itself: ConflictError"):
            # Past the controller, which would have tried it out first.
            nonsense = TopicDeleted("t", b"another topic's")
            cluster.run(quorum.commit([nonsense], quorum.raft.epoch), for_s=10.0)


def test_a_disk_that_fails_is_a_reason() -> None:
    rule = NoSurrender()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        try:
            raise ConflictError("told") from OSError("the disk")
        except ConflictError as problem:
            cluster.watch.life_failed("n1", 0, problem)
        cluster.watch.life_failed("n1", 0, OSError("the disk"))
        cluster.watch.look()
        assert rule.looks == looks + 2


def test_a_kill_and_a_clean_stop_are_no_surrender() -> None:
    rule = NoSurrender()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        node = cluster.cluster["n1"]
        node.kill()
        node.start()
        cluster.run(node.started(), for_s=30.0)
        cluster.run(node.stop(), for_s=30.0)
        cluster.run(asyncio.sleep(1.0), for_s=30.0)
        assert rule.looks == looks + 1
        assert rule.cost is Cost.CHEAP


def test_other_news_are_nothing_to_look_at() -> None:
    rule = NoSurrender()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        cluster.tell("append", 1)
        assert rule.looks == looks
