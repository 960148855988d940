"""What a produce request needs before a batch of it may open a transaction in a partition."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from broker.api.request import Request
from broker.coordination.step import ProducerIdAndEpoch
from broker.log.unopened import Guard
from broker.partition import Partition
from broker.protocol import messages as m
from broker.protocol.batch import BatchHeader, read_header
from broker.protocol.errors import ErrorCode, KafkaError
from broker.transaction_verification import Support

if TYPE_CHECKING:
    from broker.node import Node

_FIRST_VERSION_WITH_ABORTABLE = 11
_FIRST_VERSION_THAT_ADDS = 12

_NOT_VERIFIED_YET = frozenset(
    (
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    )
)
"""A producer expects none of these in the answer to a produce request."""


class Opening(NamedTuple):
    """A batch that would open a transaction."""

    partition: Partition
    header: BatchHeader
    guard: Guard


def support_of(version: int) -> Support:
    if version >= _FIRST_VERSION_THAT_ADDS:
        return Support.ADDS
    return Support.ABORTABLE if version >= _FIRST_VERSION_WITH_ABORTABLE else Support.CLASSIC


def opening_of(
    node: Node, request: Request[m.ProduceRequest], partition: Partition, records: memoryview
) -> Opening | None:
    """None for a batch that can be appended without asking anybody."""
    header = read_header(records)
    support = support_of(request.version)
    if not header.is_transactional or not node.verification.is_needed(support):
        return None
    guard = partition.unopened.begin(partition.log.producers, header)
    return None if guard is None else Opening(partition, header, guard)


async def verify(
    node: Node, request: Request[m.ProduceRequest], openings: Iterable[Opening]
) -> dict[Opening, KafkaError]:
    """What the coordinator has against them; one request for all partitions of a producer."""
    support = support_of(request.version)
    by_producer: dict[ProducerIdAndEpoch, list[Opening]] = {}
    for each in openings:
        producer = ProducerIdAndEpoch(each.header.producer_id, each.header.producer_epoch)
        by_producer.setdefault(producer, []).append(each)
    problems: dict[Opening, KafkaError] = {}
    for producer, some in by_producer.items():
        asked = [(each.partition.topic, each.partition.index) for each in some]
        transactional_id = request.body.transactional_id or ""
        answered = await node.verification.ask(transactional_id, producer, asked, support)
        for each, place in zip(some, asked, strict=True):
            code = answered[place]
            if code:
                problems[each] = KafkaError(
                    _for_producer(code, support),
                    f"the coordinator of {transactional_id} has not verified the partition: "
                    f"{code.name}",
                )
    return problems


def check_of(request: Request[m.ProduceRequest], opening: Opening) -> Callable[[], None]:
    """Called right before the append: a marker may have come while the coordinator was asked."""
    support = support_of(request.version)
    partition, header, guard = opening

    def check() -> None:
        try:
            partition.unopened.check(
                partition.log.producers, header, guard, adds=support is Support.ADDS
            )
        except KafkaError as problem:
            is_over = problem.code == ErrorCode.INVALID_TXN_STATE
            if is_over and support is not Support.CLASSIC:
                raise KafkaError(ErrorCode.TRANSACTION_ABORTABLE, problem.message) from None
            raise

    return check


def _for_producer(code: ErrorCode, support: Support) -> ErrorCode:
    """Older clients give up on errors of a coordinator here. They repeat what found not enough
    replicas, and do not even ask for metadata in between."""
    if code == ErrorCode.CONCURRENT_TRANSACTIONS:
        return code if support is Support.ADDS else ErrorCode.NOT_ENOUGH_REPLICAS
    return ErrorCode.NOT_ENOUGH_REPLICAS if code in _NOT_VERIFIED_YET else code
