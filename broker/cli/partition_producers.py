"""The producers that the leaders of partitions remember, with their open transactions."""

from __future__ import annotations

from collections.abc import Collection

from broker.cli.cluster_client import ClusterClient
from broker.cli.errors import UnreachableFailure
from broker.cli.log_offsets import PartitionName
from broker.network.interface import Address
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import error_name

Producers = dict[PartitionName, list[m.ProducerState]]


async def producers_of(cluster: ClusterClient, wanted: Collection[PartitionName]) -> Producers:
    """Of every partition. One without a leader is asked for again until the time is up."""
    found: Producers = {}
    rests = cluster.rests("the producers could not be found")
    while True:
        problem = None
        left = [each for each in wanted if each not in found]
        for address, some in (await _by_leader(cluster, left)).items():
            if address is None:
                problem = f"partition {some[0]} has no leader"
                continue
            try:
                problem = await _ask(cluster, address, some, found) or problem
            except UnreachableFailure as failure:
                problem = str(failure)
        if problem is None:
            return found
        await rests.rest(problem)


async def leader_of(cluster: ClusterClient, partition: PartitionName) -> Address | None:
    [(address, _)] = (await _by_leader(cluster, [partition])).items()
    return address


async def _by_leader(
    cluster: ClusterClient, wanted: Collection[PartitionName]
) -> dict[Address | None, list[PartitionName]]:
    answer = await cluster.metadata(sorted({each.topic for each in wanted}))
    leaders = {
        (topic.name or "", each.partition_index): each.leader_id
        for topic in answer.topics
        for each in topic.partitions
    }
    by_leader: dict[Address | None, list[PartitionName]] = {}
    for each in wanted:
        address = cluster.address_of(leaders.get((each.topic, each.partition), -1))
        by_leader.setdefault(address, []).append(each)
    return by_leader


async def _ask(
    cluster: ClusterClient, address: Address, wanted: list[PartitionName], found: Producers
) -> str | None:
    """Adds to `found`. What is wrong with a partition that is not answered, if there is one."""
    topics: dict[str, list[int]] = {}
    for name, index in wanted:
        topics.setdefault(name, []).append(index)
    body = m.DescribeProducersRequest(
        topics=[
            m.DescribeProducersRequestTopicRequest(name=name, partition_indexes=some)
            for name, some in topics.items()
        ]
    )
    answer: m.DescribeProducersResponse = await cluster.ask(
        address, ApiKey.DESCRIBE_PRODUCERS, body
    )
    problem = None
    for topic in answer.topics:
        for each in topic.partitions:
            where = PartitionName(topic.name, each.partition_index)
            if each.error_code:
                problem = f"partition {where}: {error_name(each.error_code)}"
            else:
                found[where] = each.active_producers
    return problem
