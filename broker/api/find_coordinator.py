"""FindCoordinator: the broker that answers for a group or a transactional id.

It is the leader of the partition that the key belongs to. The first one who asks makes the topic,
`__consumer_offsets` or `__transaction_state`. Until the partition has a leader, the answer is
COORDINATOR_NOT_AVAILABLE, and clients ask again.
"""

from __future__ import annotations

from collections.abc import Coroutine
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from broker.api.cluster_view import Reachable, brokers_for, leader_of
from broker.api.internal_topics import create_internal_topic
from broker.api.request import Request, at_once_or_in_slices
from broker.coordination.internal_topics import partition_for
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.group_coordinator import GroupCoordinator
    from broker.node import Node
    from broker.transaction_coordinator import TransactionCoordinator

_FIRST_BATCHED_VERSION = 4


class _KeyType(IntEnum):
    GROUP = 0
    TRANSACTION = 1


def find_coordinator(
    node: Node, request: Request[m.FindCoordinatorRequest]
) -> m.FindCoordinatorResponse | Coroutine[Any, Any, m.FindCoordinatorResponse]:
    coordinator = _coordinator_of(node, request.body.key_type)
    if coordinator is not None and coordinator.topic is None:
        return _create_and_answer(node, request, coordinator)
    return at_once_or_in_slices(request, _answer(node, request))


def _coordinator_of(node: Node, key_type: int) -> GroupCoordinator | TransactionCoordinator | None:
    match key_type:
        case _KeyType.GROUP:
            return node.groups
        case _KeyType.TRANSACTION:
            return node.transactions
        case _:
            return None


async def _create_and_answer(
    node: Node,
    request: Request[m.FindCoordinatorRequest],
    coordinator: GroupCoordinator | TransactionCoordinator,
) -> m.FindCoordinatorResponse:
    problem = await create_internal_topic(node, coordinator.topic_to_create())
    return await _answer(node, request, problem)


async def _answer(
    node: Node, request: Request[m.FindCoordinatorRequest], problem: str | None = None
) -> m.FindCoordinatorResponse:
    body = request.body
    brokers = {each.node_id: each for each in brokers_for(node, request.listener)}
    if request.version >= _FIRST_BATCHED_VERSION:
        coordinators = []
        for key in body.coordinator_keys:
            await request.pause()
            coordinators.append(_find(node, brokers, body.key_type, key, problem))
        return m.FindCoordinatorResponse(error_message=None, coordinators=coordinators)
    found = _find(node, brokers, body.key_type, body.key, problem)
    return m.FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=found.error_message,
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def _find(
    node: Node, brokers: dict[int, Reachable], key_type: int, key: str, problem: str | None
) -> m.Coordinator:
    try:
        found = _leader(node, brokers, key_type, key, problem)
    except KafkaError as error:
        return m.Coordinator(
            key=key, node_id=-1, port=-1, error_code=error.code, error_message=error.message
        )
    return m.Coordinator(
        key=key, node_id=found.node_id, host=found.host, port=found.port, error_message=None
    )


def _leader(
    node: Node, brokers: dict[int, Reachable], key_type: int, key: str, problem: str | None
) -> Reachable:
    coordinator = _coordinator_of(node, key_type)
    if coordinator is None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"no coordinator is of type {key_type} here")
    name, topic = coordinator.shards.topic, coordinator.topic
    if topic is None:
        raise KafkaError(
            ErrorCode.COORDINATOR_NOT_AVAILABLE, problem or f"{name} does not exist yet"
        )
    index = partition_for(key, len(topic.partitions))
    leader = brokers.get(leader_of(node, name, index, topic.partitions[index]))
    if leader is None:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{name}-{index} has no leader")
    return leader
