"""Clients of the harness choose partitions by the keys of records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.client.base import Batching, Client, Partitioner
from harness.client.partitioners import BY_NAME
from harness.cluster.waiting import wait_until
from tests.clients.test_harness_clients import EACH, do, opened, well
from tests.cluster.clusters import running
from tests.cluster.confluent import create_topic

pytestmark = pytest.mark.clients


@EACH
async def test_clients_choose_partitions_by_keys(library: str, tmp_path: Path) -> None:
    """Each library by its own hash, and again when there are more partitions."""
    chosen: tuple[Partitioner, ...] = ("default", "murmur2", "custom")
    async with running(tmp_path, 1) as (cluster, _):
        for partitioner in chosen:
            await create_topic(cluster, partitioner, partitions=3, replicas=1)
            batching = Batching(partitioner=partitioner)
            async with opened(library, cluster.bootstrap(), batching=batching) as client:
                await a_topic_that_grows(client, partitioner)


async def a_topic_that_grows(client: Client, topic: str) -> None:
    choose = BY_NAME[await well(client, "partitioner")]
    await keyed_burst(client, topic, choose, 3)
    assert await well(client, "assign", [topic]) == [f"{topic}-{index}" for index in range(3)]
    more = {"topic": topic, "partitions": 5}
    assert await well(client, "create-partitions", more) == more
    assert (await do(client, "create-partitions", more)).type == "fail"
    moving = next(n for n in range(99) if choose(b"k%d" % n, 5) >= 3)

    async def has_moved() -> bool:
        ((_, key, _),) = await well(client, "send", [["send", f"{topic}/k{moving}", 1]])
        return bool(key == f"{topic}-{choose(b'k%d' % moving, 5)}")

    await wait_until(has_moved, within_s=30, what="a key is where 5 partitions put it")
    await keyed_burst(client, topic, choose, 5)

    async def knows_of_five() -> bool:
        return len(await well(client, "assign", [topic])) == 5

    await wait_until(knows_of_five, within_s=30, what="the client knows of 5 partitions")


async def keyed_burst(
    client: Client, topic: str, choose: Callable[[bytes, int], int], count: int
) -> None:
    told = await well(client, "send", [["send", f"{topic}/k{n}", n] for n in range(40)])
    assert [key for _, key, _ in told] == [
        f"{topic}-{choose(b'k%d' % n, count)}" for n in range(40)
    ]
    assert [placed[1] for _, _, placed in told] == list(range(40))
