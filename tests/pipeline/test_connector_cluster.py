"""A stream of Spark goes on while the leaders of its topic are killed, and has each record once."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer

from harness.cluster import Cluster
from harness.cluster.capabilities import Processes
from harness.cluster.waiting import wait_until
from pipeline.connector import add_connector
from tests.cluster.clusters import running, until_isr_is
from tests.pipeline.kafka_topics import QUIET, new_topic, stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.spark,
    pytest.mark.java,
    pytest.mark.slow,
    pytest.mark.timeout(600),
]
PARTITIONS = 3
LONG_S = 120.0


class Writer:
    """Numbers, each acknowledged by all replicas in sync; idempotent, so none is in a log twice."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.acknowledged: set[int] = set()
        self.sent = 0
        self._topic = topic
        self._stop = False
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "message.timeout.ms": 120_000,
                "linger.ms": 5,
                **QUIET,
            }
        )

    def run(self) -> None:
        while not self._stop:
            self._send(self.sent)
            self.sent += 1
            self._producer.poll(0.002)
        assert self._producer.flush(LONG_S) == 0

    def stop(self) -> None:
        self._stop = True

    def _send(self, number: int) -> None:
        def done(error: Any, _: Any) -> None:
            if error is None:
                self.acknowledged.add(number)

        self._producer.produce(self._topic, str(number), key=str(number), on_delivery=done)


async def kill_each_leader_once(cluster: Cluster, process: Processes, topic: str) -> None:
    for partition in range(PARTITIONS):
        leader = await cluster.leader(topic, partition)
        assert leader is not None
        await process.kill(leader)

        async def moved(partition: int = partition, dead: Any = leader) -> bool:
            others = [node for node in cluster.nodes if node != dead]
            return await cluster.leader(topic, partition, *others) not in (None, dead)

        await wait_until(moved, within_s=60, what=f"another leader of {partition}")
        await asyncio.sleep(2)
        await process.start(leader)
        await until_isr_is(cluster, topic, cluster.nodes, within_s=LONG_S)


def start(session: SparkSession, bootstrap: str, topic: str, into: Path) -> Any:
    return (
        stream(session, bootstrap, topic, failOnDataLoss="true")
        .selectExpr("partition", "offset", "cast(value as string) value")
        .writeStream.format("parquet")
        .option("path", str(into / "rows"))
        .option("checkpointLocation", str(into / "checkpoint"))
        .trigger(processingTime="500 milliseconds")
        .start()
    )


async def test_a_stream_survives_the_kills_of_all_leaders(
    spark: SparkSession, tmp_path: Path
) -> None:
    add_connector(spark)
    async with running(tmp_path / "cluster", 3) as (cluster, process):
        bootstrap = cluster.bootstrap()
        topic = new_topic(bootstrap, PARTITIONS, 3, min_insync_replicas="2")
        await until_isr_is(cluster, topic, cluster.nodes)
        writer = Writer(bootstrap, topic)
        query = start(spark, bootstrap, topic, tmp_path)
        writing = asyncio.ensure_future(asyncio.to_thread(writer.run))
        try:
            await kill_each_leader_once(cluster, process, topic)
        finally:
            writer.stop()
            await writing
        await asyncio.to_thread(query.processAllAvailable)
        assert query.exception() is None
        query.stop()

    rows = spark.read.parquet(str(tmp_path / "rows")).collect()
    assert {int(row.value) for row in rows} >= writer.acknowledged
    assert [n for n, count in Counter(int(row.value) for row in rows).items() if count > 1] == []
    places = Counter((row.partition, row.offset) for row in rows)
    assert max(places.values()) == 1
    assert len(writer.acknowledged) == writer.sent > 1000
