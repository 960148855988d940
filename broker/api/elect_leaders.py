"""ElectLeaders: moves leadership to the preferred replicas, or to whoever is left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from broker.api.request import Request
from broker.controller.elect_leaders import ElectionType, all_partitions, elect_leader
from broker.metadata.changes import PartitionsChanged
from broker.metadata.partition_info import PartitionInfo
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node

_FIRST_VERSION_WITH_TYPES = 1


async def elect_leaders(
    node: Node, request: Request[m.ElectLeadersRequest]
) -> m.ElectLeadersResponse:
    results: dict[tuple[str, int], m.PartitionResult] = {}
    kind_number = request.body.election_type if request.version >= _FIRST_VERSION_WITH_TYPES else 0
    try:
        kind = ElectionType(kind_number)
    except ValueError:
        return m.ElectLeadersResponse(error_code=ErrorCode.INVALID_REQUEST)
    asks_for_all = request.body.topic_partitions is None

    async def decide() -> Sequence[PartitionsChanged]:
        elected: dict[tuple[str, bytes], list[tuple[int, PartitionInfo]]] = {}
        for name, index in _asked(node, request.body):
            await request.pause()
            result = m.PartitionResult(partition_id=index, error_message=None)
            try:
                change = elect_leader(node.metadata.image, name, index, kind, node.topic_rules)
            except KafkaError as error:
                if asks_for_all and error.code == ErrorCode.ELECTION_NOT_NEEDED:
                    continue
                result.error_code, result.error_message = error.code, request.explain(error)
            else:
                elected.setdefault((name, change.topic_id), []).extend(change.partitions)
            results[name, index] = result
        return [
            PartitionsChanged(name, topic_id, tuple(partitions))
            for (name, topic_id), partitions in elected.items()
        ]

    try:
        await node.change(decide)
    except KafkaError as error:
        for result in results.values():
            if result.error_code == ErrorCode.NONE:
                result.error_code, result.error_message = error.code, request.explain(error)
    return _response(results)


def _asked(node: Node, body: m.ElectLeadersRequest) -> Iterator[tuple[str, int]]:
    if body.topic_partitions is None:
        yield from all_partitions(node.metadata.image)
        return
    seen: dict[tuple[str, int], None] = {}
    for topic in body.topic_partitions:
        seen.update(((topic.topic, index), None) for index in topic.partitions)
    yield from seen


def _response(
    results: dict[tuple[str, int], m.PartitionResult],
) -> m.ElectLeadersResponse:
    topics: dict[str, m.ReplicaElectionResult] = {}
    for (name, _), result in results.items():
        if name not in topics:
            topics[name] = m.ReplicaElectionResult(topic=name, partition_result=[])
        topics[name].partition_result.append(result)
    return m.ElectLeadersResponse(replica_election_results=list(topics.values()))
