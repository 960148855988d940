"""Three nodes, one of them with two log directories, one of which fails."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from harness.cluster import Cluster, PartitionState
from harness.cluster.base import Host
from harness.cluster.local import LocalPlace
from harness.cluster.reference_broker import ReferenceBroker
from harness.cluster.server_properties import QUICK_FAILOVER, Member
from harness.cluster.waiting import wait_until
from tests.cluster.clusters import LAG, SOON_S, until_isr_is
from tests.cluster.confluent import create_topic, produce, read_all

pytestmark = pytest.mark.clients

NODES = ("n1", "n2", "n3")
SMALL_SEGMENTS = {"log.segment.bytes": str(1 << 20), "min.insync.replicas": "2"}
SECOND = "more"


class TwoDirectoriesOnTheFirst(ReferenceBroker):
    def _member(self, host: Host) -> Member:
        member = super()._member(host)
        if host.node != "n1":
            return member
        return replace(member, log_dirs=(*member.log_dirs, host.data / SECOND))


@asynccontextmanager
async def running(directory: Path) -> AsyncIterator[Cluster]:
    settings = replace(QUICK_FAILOVER, properties={**LAG, **SMALL_SEGMENTS})
    system = TwoDirectoriesOnTheFirst(LocalPlace(directory), settings)
    async with Cluster(system, count=3) as cluster:
        yield cluster


ENOUGH = 12
"""For a new segment: what is open can be written to all the same."""


def values(name: str, count: int = 10) -> list[bytes]:
    return [b"%s %d %s" % (name.encode(), number, b"x" * 100_000) for number in range(count)]


async def test_only_what_lies_in_a_failed_directory_is_led_by_others(tmp_path: Path) -> None:
    second = tmp_path / "n1" / "data" / SECOND
    away = second.with_name("away")
    async with running(tmp_path) as cluster:
        await create_topic(cluster, "t", partitions=6, replicas=3)
        await until_isr_is(cluster, "t", NODES)
        lost = {int(each.name.removeprefix("t-")) for each in second.glob("t-*")}
        before = await cluster.partitions("t")
        led = {one.index for one in before if one.leader == "n1"}
        assert led & lost, "nothing would move"
        assert led - lost, "nothing would stay"
        # Whatever is looked for by its path fails, as if the disk were gone.
        second.rename(away)
        second.write_bytes(b"")
        stored: dict[bytes, tuple[int, int]] = {}
        for index in sorted(lost):
            into = values(f"failing {index}", ENOUGH)
            stored |= await produce(cluster, "t", into, partition=index)

        def is_right(one: PartitionState) -> bool:
            if one.index in lost:
                return "n1" not in one.isr and one.leader in ("n2", "n3")
            return set(one.isr) == set(NODES) and one.leader == before[one.index].leader

        async def only_those_have_moved() -> bool:
            return all(map(is_right, await cluster.partitions("t", "n2")))

        what = f"n1 is counted on for all but {sorted(lost)}"
        await wait_until(only_those_have_moved, within_s=SOON_S, what=what)
        stored |= await produce(cluster, "t", values("without"))
        second.unlink()
        away.rename(second)
        await until_isr_is(cluster, "t", NODES)
        stored |= await produce(cluster, "t", values("after"))
        assert (await read_all(cluster, "t")).items() >= stored.items()
