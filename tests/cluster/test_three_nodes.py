"""Three real brokers: what a failure moves, what it refuses, and what it never loses."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException

from tests.cluster import aiokafka_client
from tests.cluster.clusters import others, running, until_isr_is, values
from tests.cluster.confluent import create_topic, produce, read_all

pytestmark = pytest.mark.clients

PARTITIONS = 6
NODES = ("n1", "n2", "n3")


async def test_leaders_and_isr_move_when_a_node_dies_and_fill_again_when_it_is_back(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, 3) as (cluster, process):
        config = {"min.insync.replicas": "2"}
        await create_topic(cluster, "t", partitions=PARTITIONS, replicas=3, config=config)
        await until_isr_is(cluster, "t", NODES)
        before = await cluster.partitions("t")
        assert len(before) == PARTITIONS
        assert {one.leader for one in before} == set(NODES)
        stored = await produce(cluster, "t", values("before", 300))

        victim = before[0].leader
        assert victim is not None
        await process.kill(victim)
        await until_isr_is(cluster, "t", others(cluster, victim))
        during = await cluster.partitions("t")
        assert [one.replicas for one in during] == [one.replicas for one in before]
        # Who led and lives leads on: an election is for the dead one's partitions only.
        for then, now in zip(before, during, strict=True):
            assert now.leader == then.leader or then.leader == victim
        stored |= await produce(cluster, "t", values("during", 300))
        stored |= await aiokafka_client.produce(cluster, "t", values("other", 20), partition=0)
        assert await read_all(cluster, "t") == stored

        await process.start(victim)
        await until_isr_is(cluster, "t", NODES)
        stored |= await produce(cluster, "t", values("after", 300))
        assert await read_all(cluster, "t") == stored
        assert await aiokafka_client.read_all(cluster, "t", PARTITIONS) == stored


async def test_a_clean_stop_moves_leadership_before_the_node_goes(tmp_path: Path) -> None:
    async with running(tmp_path, 3) as (cluster, process):
        await create_topic(cluster, "t", partitions=PARTITIONS, replicas=3)
        await until_isr_is(cluster, "t", NODES)
        leaving = await cluster.leader("t", 0)
        assert leaving is not None
        await process.stop(leaving)
        # At once, for each that is left: nobody has to wait for the end of a session here.
        for node in others(cluster, leaving):
            assert leaving not in {one.leader for one in await cluster.partitions("t", node)}
        stored = await produce(cluster, "t", values("without it", 60))
        await process.start(leaving)
        await until_isr_is(cluster, "t", NODES)
        assert await read_all(cluster, "t") == stored


@pytest.mark.long
async def test_below_the_least_isr_writes_are_refused_and_reads_go_on(tmp_path: Path) -> None:
    async with running(tmp_path, 3) as (cluster, process):
        config = {"min.insync.replicas": "3"}
        await create_topic(cluster, "t", partitions=1, replicas=3, config=config)
        await until_isr_is(cluster, "t", NODES)
        stored = await produce(cluster, "t", values("before", 50))
        leader = await cluster.leader("t", 0)
        assert leader is not None
        victim = others(cluster, leader)[0]
        await process.kill(victim)
        await until_isr_is(cluster, "t", others(cluster, victim))

        with pytest.raises(KafkaException) as refusal:
            await produce(cluster, "t", [b"refused"], retries=0)
        assert refusal.value.args[0].code() == KafkaError.NOT_ENOUGH_REPLICAS
        assert await read_all(cluster, "t") == stored
        assert await aiokafka_client.read_all(cluster, "t", 1) == stored

        await process.start(victim)
        await until_isr_is(cluster, "t", NODES)
        stored |= await produce(cluster, "t", values("after", 50))
        assert await read_all(cluster, "t") == stored


async def test_the_data_path_runs_on_without_a_majority_of_controllers(tmp_path: Path) -> None:
    async with running(tmp_path, 3) as (cluster, process):
        await create_topic(cluster, "alone", partitions=3, replicas=1)
        await create_topic(cluster, "t", partitions=3, replicas=3)
        await until_isr_is(cluster, "t", NODES)
        stored = await produce(cluster, "t", values("before", 30))
        left = "n2"
        own = next(one for one in await cluster.partitions("alone") if one.leader == left)
        led = next(one for one in await cluster.partitions("t") if one.leader == left)
        for node in others(cluster, left):
            await process.kill(node)

        # Longer than the session: a broker that hears of no controller still serves.
        await asyncio.sleep(2)
        kept = await produce(cluster, "alone", values("kept", 10), partition=own.index)
        late = await produce(cluster, "t", values("late", 10), partition=led.index, acks="1")
        assert len(kept) == len(late) == 10
        assert await read_all(cluster, "alone", left, partitions=[own.index]) == kept
        with pytest.raises(KafkaException):
            await create_topic(cluster, "impossible", partitions=1, replicas=1, within_s=2)

        await cluster.start()
        await until_isr_is(cluster, "t", NODES)
        await create_topic(cluster, "possible", partitions=1, replicas=3)
        assert await read_all(cluster, "alone") == kept
        # Of what only one replica took, acks=1 promises nothing; what all took stays.
        assert (await read_all(cluster, "t")).items() >= stored.items()
