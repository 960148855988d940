"""Logs are open before the metadata is known: they serve and delete nothing by mere defaults."""

from __future__ import annotations

import asyncio

import pytest

from broker.disk.memory import MemoryDisk
from broker.quorum.replay import Replay
from tests.nodes import create_topic, formatted, produce, running_node, wait_until, wire
from tests.unit.broker.log.builders import Clock, batch

DAY_MS = 86_400_000
OFTEN = {"log.retention.check.interval.ms": "10"}


def let_metadata_come_after(delay_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Replay.run

    async def late(replay: Replay) -> None:
        await asyncio.sleep(delay_s)
        await run(replay)

    monkeypatch.setattr(Replay, "run", late)


async def test_a_log_takes_the_configuration_that_was_replayed_after_it_was_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disks = {"data": await formatted(MemoryDisk())}
    async with running_node(disks=disks) as node, wire(node) as client:
        await create_topic(client, "t", retention_ms="-1", cleanup_policy="compact")
    let_metadata_come_after(0.2, monkeypatch)
    async with running_node(disks=disks) as node, wire(node):
        (partition,) = node.partitions
        await wait_until(lambda: partition.leader is not None)
        assert partition.log.config.retention_ms == -1
        assert partition.log.config.cleanup_compact


async def test_nothing_is_deleted_before_the_metadata_says_how_long_it_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disks = {"data": await formatted(MemoryDisk())}
    async with running_node(disks=disks) as node, wire(node) as client:
        await create_topic(client, "kept", retention_ms="-1")
        await create_topic(client, "t")
        for topic in ("kept", "t"):
            assert (await produce(client, batch(b"x"), topic=topic)).error_code == 0
    let_metadata_come_after(0.3, monkeypatch)
    clock = Clock()
    clock.time_ms += 30 * DAY_MS
    async with running_node(OFTEN, disks=disks, clock=clock) as node:
        logs = {each.topic: each.log for each in node.partitions}
        await wait_until(lambda: logs["t"].start_offset == 1)
        assert logs["kept"].start_offset == 0
