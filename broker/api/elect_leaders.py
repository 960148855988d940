"""ElectLeaders: moves leadership to the preferred replicas, or to whoever is left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from broker.api.request import Request
from broker.controller.elect_leaders import ElectionType, elect_leader
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
    kind_number = request.body.election_type if request.version >= _FIRST_VERSION_WITH_TYPES else 0
    try:
        kind = ElectionType(kind_number)
    except ValueError:
        return await _refuse(request, kind_number)
    asks_for_all = request.body.topic_partitions is None
    topics: list[m.ReplicaElectionResult] = []
    results: dict[tuple[str, int], m.PartitionResult] = {}

    async def decide() -> Sequence[PartitionsChanged]:
        elected: dict[tuple[str, bytes], list[tuple[int, PartitionInfo]]] = {}
        for name, indexes in _asked(node, request.body):
            topic = m.ReplicaElectionResult(topic=name, partition_result=[])
            topics.append(topic)
            for index in indexes:
                await request.pause()
                if (name, index) not in results:
                    result = m.PartitionResult(partition_id=index, error_message=None)
                    results[name, index] = result
                    try:
                        change = elect_leader(
                            node.metadata.image, name, index, kind, node.topic_rules
                        )
                        elected.setdefault((name, change.topic_id), []).extend(change.partitions)
                    except KafkaError as error:
                        result.error_code = error.code
                        result.error_message = request.explain(error)
                result = results[name, index]
                if not (asks_for_all and result.error_code == ErrorCode.ELECTION_NOT_NEEDED):
                    topic.partition_result.append(result)
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
    return m.ElectLeadersResponse(replica_election_results=topics)


async def _refuse(
    request: Request[m.ElectLeadersRequest], kind_number: int
) -> m.ElectLeadersResponse:
    """For a kind of election that does not exist: the request fails, and each partition too."""
    response = m.ElectLeadersResponse(error_code=ErrorCode.INVALID_REQUEST)
    problem = KafkaError(
        ErrorCode.INVALID_REQUEST, f"there is no kind {kind_number} of elections, only 0 and 1"
    )
    for topic in request.body.topic_partitions or ():
        result = m.ReplicaElectionResult(topic=topic.topic, partition_result=[])
        response.replica_election_results.append(result)
        for index in topic.partitions:
            await request.pause()
            result.partition_result.append(
                m.PartitionResult(
                    partition_id=index,
                    error_code=problem.code,
                    error_message=request.explain(problem),
                )
            )
    return response


def _asked(node: Node, body: m.ElectLeadersRequest) -> Iterator[tuple[str, Sequence[int]]]:
    if body.topic_partitions is None:
        for topic in node.metadata.image.topics_sorted():
            yield topic.name, range(len(topic.partitions))
        return
    for asked in body.topic_partitions:
        yield asked.topic, asked.partitions
