"""No acknowledged record is lost, doubled or moved by kill -9 at random moments."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random

import pytest

from tests.cluster.clusters import running, until_isr_is
from tests.cluster.confluent import create_topic, read_log
from tests.cluster.kill_rounds import PRODUCERS, TOPIC, Killer, Watcher, Writer, problems

pytestmark = pytest.mark.clients

PARTITIONS = 6
LONG_S = 120.0


async def kept_through(
    directory: Path, *, nodes: int, replicas: int, rounds: int, at_once: int, seed: int
) -> dict[str, int]:
    """The totals, once all that was acknowledged has been found in its place."""
    async with running(directory, nodes) as (cluster, process):
        config = {"min.insync.replicas": str(replicas // 2 + 1)}
        await create_topic(cluster, TOPIC, partitions=PARTITIONS, replicas=replicas, config=config)
        bootstrap = cluster.bootstrap()
        writers = [Writer(bootstrap, f"w{number}", PARTITIONS) for number in range(PRODUCERS)]
        watcher = Watcher(bootstrap, PARTITIONS)
        killer = Killer(cluster, process, Random(seed), at_once)
        writing = asyncio.gather(*(asyncio.to_thread(writer.run) for writer in writers))
        watching = asyncio.ensure_future(asyncio.to_thread(watcher.run))
        try:
            for _ in range(rounds):
                await killer.round()
        finally:
            for writer in writers:
                writer.stop()
            await writing
            watcher.stop()
            await watching
        found = await read_log(cluster, TOPIC)
        assert problems(writers, watcher, found)[:10] == []
        if replicas == nodes:
            await until_isr_is(cluster, TOPIC, cluster.nodes, within_s=LONG_S)
        return {
            **killer.counts,
            "sent": sum(writer.sent for writer in writers),
            "acknowledged": sum(len(writer.stored) for writer in writers),
            "unknown": sum(writer.unknown for writer in writers),
            "watched": len(watcher.seen),
            "in the log": len(found),
        }


def show(totals: dict[str, int], capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        shown = ", ".join(f"{name} {count:,}" for name, count in totals.items())
        print(f"\n  {shown}")  # noqa: T201 - the totals are what a reader looks for


@pytest.mark.long
async def test_two_rounds_of_kills_lose_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    totals = await kept_through(tmp_path, nodes=3, replicas=3, rounds=2, at_once=1, seed=1)
    show(totals, capsys)
    assert totals["kills"] >= 2
    assert totals["acknowledged"] > 100
    assert totals["unknown"] == 0


@pytest.mark.slow
@pytest.mark.timeout(1200)
async def test_fifty_rounds_of_kills_lose_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sometimes two of five, each partition with three replicas: then some can take no writes."""
    totals = await kept_through(tmp_path, nodes=5, replicas=3, rounds=50, at_once=2, seed=2)
    show(totals, capsys)
    assert totals["rounds"] == 50
    assert totals["two at once"] > 0
    assert totals["kills while starting"] > 0
    assert totals["acknowledged"] > 5000
