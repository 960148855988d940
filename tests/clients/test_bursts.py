"""Bursts through librdkafka: its threads sleep while they wait for responses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.client.base import Batching, ClientSettings
from harness.client.confluent import ConfluentDriver
from harness.client.driver import Stored, ToStore, place_of
from harness.client.traffic import Traffic
from harness.cluster.waiting import wait_until
from tests.cluster.clusters import running
from tests.cluster.confluent import create_topic

pytestmark = pytest.mark.clients

RECORDS = 300


class Watched(ConfluentDriver):
    """Keeps what librdkafka counted since the producer was made."""

    batches = 0
    wakeups = 0

    def __init__(self, settings: ClientSettings, client_id: str) -> None:
        super().__init__(settings, client_id)
        self.counted = Traffic()

    def _measured(self, statistics: str) -> None:
        told: dict[str, Any] = json.loads(statistics)
        self.batches += sum(topic["batchcnt"]["cnt"] for topic in told["topics"].values())
        self.wakeups = sum(broker["wakeups"] for broker in told["brokers"].values())
        super()._measured(statistics)


async def test_a_burst_does_not_keep_threads_awake(tmp_path: Path) -> None:
    """A thread that spins wakes up hundreds of times for each batch, one that sleeps twice."""
    async with running(tmp_path, 1) as (cluster, _):
        for batch_bytes in (256, 1_024, 8_192):
            topic = f"t{batch_bytes}"
            await create_topic(cluster, topic, partitions=2, replicas=1)
            batching = Batching(batch_bytes=batch_bytes, linger_ms=20)
            driver = await sent_by(cluster.bootstrap(), topic, batching)
            full = RECORDS * 40 / (batch_bytes - 105)
            assert driver.batches < 4 + 1.5 * full, "batches are filled"
            assert driver.wakeups < 100 + 20 * driver.batches


async def sent_by(bootstrap: str, topic: str, batching: Batching) -> Watched:
    driver = Watched(ClientSettings(bootstrap=bootstrap, batching=batching), "c1-0")
    await driver.open()
    try:
        # The first request waits for connections and a producer id, and leaves them behind.
        await driver.produce([ToStore(place_of(f"{topic}-0"), None, b"first", 1)])
        ends = await driver.produce(
            [
                ToStore(place_of(f"{topic}-{at % 2}"), None, b"%028d" % at, 1)
                for at in range(RECORDS)
            ]
        )
        offsets = [end.offset for end in ends if isinstance(end, Stored)]
        assert offsets[0::2] == list(range(1, 1 + RECORDS // 2)), "in the order of the sends"
        assert offsets[1::2] == list(range(RECORDS // 2))

        async def are_counted() -> bool:
            driver.counted.add(driver.traffic())
            return driver.counted.records > RECORDS

        await wait_until(are_counted, within_s=30, what="librdkafka tells of every batch")
    finally:
        await driver.close()
    return driver
