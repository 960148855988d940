"""W-EXIT: no node ends by itself, but for its disk."""

import asyncio
import errno
from collections.abc import Coroutine
from typing import Any

import pytest

from broker.disk.memory import MemoryDisk
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
        broken, full = MemoryDisk(), MemoryDisk(capacity_bytes=1)
        broken.fail("create")
        for shown in (error_of(broken.create("a")), error_of(full.replace("a", b"much"))):
            cluster.watch.life_failed("n1", 0, shown)
            told = ConflictError("told")
            told.__cause__ = shown
            cluster.watch.life_failed("n1", 0, told)
        cluster.watch.look()
        assert rule.looks == looks + 4


def error_of(work: Coroutine[Any, Any, object]) -> OSError:
    with pytest.raises(OSError) as caught:  # noqa: PT011 - whichever it is
        asyncio.run(work)
    return caught.value


def met_on_the_way() -> Exception:
    """A problem of another kind, that came up while an error of the disk was being handled."""
    told = ConflictError("told")
    told.__context__ = error_of(MemoryDisk(capacity_bytes=0).replace("a", b"much"))
    return told


@pytest.mark.parametrize(
    "problem",
    [
        TimeoutError(),
        ConnectionResetError(errno.ECONNRESET, "reset"),
        error_of(MemoryDisk().open("nothing")),
        OSError(errno.EBADF, "closed"),
        met_on_the_way(),
    ],
    ids=["timeout", "reset", "missing", "closed", "met on the way"],
)
def test_what_no_fault_of_a_disk_has_made_is_no_reason(problem: Exception) -> None:
    rule = NoSurrender()
    with cluster_by_hand(rule) as cluster:
        cluster.watch.life_failed("n1", 0, problem)
        with breaks(rule, "n1 ended by itself"):
            cluster.watch.look()


def test_a_node_that_cannot_even_stop_is_judged_by_why_it_had_to() -> None:
    rule = NoSurrender()
    with cluster_by_hand(rule) as cluster:
        node = cluster.cluster["n1"]
        broker = node.node
        assert broker is not None

        async def never() -> None:
            await asyncio.get_running_loop().create_future()

        broker.stop = never  # type: ignore[method-assign]
        broker.fail(ConflictError("the first problem"))
        with breaks(rule, "the first problem"):
            cluster.run(asyncio.sleep(60.0), for_s=100.0)


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
