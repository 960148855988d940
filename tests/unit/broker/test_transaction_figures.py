"""What /metrics says of transactions: what is open, how long, how they end, and what hangs."""

from __future__ import annotations

import pytest

from broker.node import Node
from broker.protocol.errors import ErrorCode
from tests.unit.broker.api.nodes import StillClock, create_topic, running_node
from tests.unit.broker.api.test_transactions import PARTITIONS, client_of_a_node
from tests.unit.broker.api.transaction_requests import (
    BUMPING_END,
    TIMEOUT_MS,
    TransactionClient,
)
from tests.unit.broker.observe.test_exporter import samples

OPEN = "reference_transactions_open"
OLDEST = "reference_transaction_oldest_open_seconds"
ENDED = "reference_transactions_ended_total"
FENCED = "reference_transaction_producers_fenced_total"
UNSTABLE = "kafka_cluster_partition_laststableoffsetlag"
LATE = "kafka_server_replicamanager_partitionswithlatetransactionscount"


async def value(node: Node, name: str, **labels: str) -> float:
    [found] = [value for got, value in (await samples(node))[name] if labels.items() <= got.items()]
    return found


async def ended(node: Node) -> dict[str, float]:
    """Without those that are 0."""
    found = (await samples(node))[ENDED]
    assert {labels["how"] for labels, _ in found} == {"commit", "abort", "timeout", "new_producer"}
    return {labels["how"]: count for labels, count in found if count}


def clock_of(node: Node) -> StillClock:
    clock = node.world.clock
    assert isinstance(clock, StillClock)
    return clock


async def test_a_transaction_is_open_and_ages_until_it_ends() -> None:
    async with client_of_a_node() as (node, client):
        assert await value(node, OPEN, state="ongoing") == 0
        await client.add(0)
        clock_of(node).time_ms += 7_000
        other = TransactionClient(node, "other")
        await other.find()
        await other.init_until_done()
        await other.add(1)
        clock_of(node).time_ms += 1_500
        assert await value(node, OPEN, state="ongoing") == 2
        assert await value(node, OPEN, state="prepared") == 0
        assert await value(node, OLDEST) == 8.5
        await client.end(commit=True)
        await client.until("CompleteCommit")
        assert await value(node, OLDEST) == 1.5
        clock_of(node).time_ms += 1_000
        await client.add(0)
        assert await value(node, OLDEST) == 2.5
        await client.end(commit=True)
        await client.until("CompleteCommit")
        await other.end(commit=False)
        await other.until("CompleteAbort")
        assert await value(node, OPEN, state="ongoing") == 0
        assert await value(node, OPEN, state="prepared") == 0
        assert await value(node, OLDEST) == 0


async def test_a_decision_without_its_markers_is_still_open() -> None:
    async with client_of_a_node() as (node, client):
        node.transactions._ends.close()
        await client.add(0)
        clock_of(node).time_ms += 4_000
        assert await client.end(commit=True) == ErrorCode.NONE
        assert await value(node, OPEN, state="ongoing") == 0
        assert await value(node, OPEN, state="prepared") == 1
        assert await value(node, OLDEST) == 4


@pytest.mark.parametrize("version", [4, BUMPING_END])
async def test_ends_are_counted_once_by_who_decided_them(version: int) -> None:
    async with client_of_a_node() as (node, client):
        assert await ended(node) == {}
        for commit in (True, True, False):
            await client.add(0)
            assert await client.end(commit=commit, version=version) == ErrorCode.NONE
            await client.until("CompleteCommit" if commit else "CompleteAbort")
        assert await ended(node) == {"commit": 2, "abort": 1}
        await client.add(0)
        await TransactionClient(node).init_until_done()
        assert await ended(node) == {"commit": 2, "abort": 1, "new_producer": 1}


async def test_a_repeated_end_is_counted_once() -> None:
    async with client_of_a_node() as (node, client):
        await client.add(0)
        assert await client.end(commit=True) == ErrorCode.NONE
        await client.until("CompleteCommit")
        assert await client.end(commit=True) == ErrorCode.NONE
        assert await ended(node) == {"commit": 1}


async def test_a_transaction_that_timed_out_is_counted_as_such() -> None:
    async with client_of_a_node() as (node, client):
        await client.add(0)
        clock_of(node).time_ms += TIMEOUT_MS + 1
        index = node.transactions.by_id.partition_of("tx")
        shard = node.transactions.shards.find(index)
        assert shard is not None

        # The check itself comes every ten seconds of the loop.
        shard.call(lambda machine, _, now: machine._abort_timed_out(now), lambda _: None)
        await client.until("CompleteAbort")
        assert await ended(node) == {"timeout": 1}
        assert await value(node, FENCED) == 0


async def test_a_producer_that_another_one_has_replaced_is_counted_when_it_is_refused() -> None:
    async with client_of_a_node() as (node, zombie):
        await TransactionClient(node).init_until_done()
        assert await value(node, FENCED) == 0
        assert await zombie.add(0) == [ErrorCode.PRODUCER_FENCED]
        assert await value(node, FENCED) == 1
        assert await zombie.end(commit=True) == ErrorCode.PRODUCER_FENCED
        assert await value(node, FENCED) == 2


async def test_records_behind_an_open_transaction_are_unstable() -> None:
    async with client_of_a_node() as (node, client):
        await client.add(0)
        assert await value(node, UNSTABLE, topic="t", partition="0") == 0
        client.write(0, 0)
        client.write(0, 1)
        assert await value(node, UNSTABLE, topic="t", partition="0") == 2
        assert await value(node, UNSTABLE, topic="t", partition="1") == 0
        await client.end(commit=True)
        await client.until("CompleteCommit")
        assert await value(node, UNSTABLE, topic="t", partition="0") == 0


@pytest.mark.parametrize(("after_min", "is_late"), [(19.9, 0), (20.1, 1)])
async def test_a_transaction_that_no_coordinator_ends_is_late(
    monkeypatch: pytest.MonkeyPatch, after_min: float, is_late: int
) -> None:
    """transaction.max.timeout.ms is 15 minutes, and there is a margin of 5."""
    async with running_node(PARTITIONS) as node:
        await create_topic(node, "t", 2)
        unknown = TransactionClient(node, producer_id=77, epoch=0)
        unknown.write(1, 0)
        partition = node.partitions.find("t", 1)
        assert partition is not None
        later_ms = partition.log.uptime_ms() + int(after_min * 60_000)
        monkeypatch.setattr(type(partition.log), "uptime_ms", lambda _: later_ms)
        assert await value(node, LATE) == is_late
