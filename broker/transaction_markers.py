"""Sends the markers of prepared transactions to the brokers that lead their partitions.

A marker is sent until its partition's leader has acknowledged it: to another broker when the
leadership moves, and never again when the partition is gone with its topic. A sender that asks on
behalf of a leadership that is over stops; the coordinator that took over sends all of them again,
with its own coordinator epoch.

Markers that come in one turn of the loop share a request for each broker.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from broker.peers.channel import UnansweredError
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, error_name
from broker.transaction_events import tell_of_markers
from broker.transactions.state import TransactionState
from broker.transactions.transaction import TopicPartition, Transaction

_log = logging.getLogger(__name__)

_PARTITIONS_AT_ONCE = 400
"""Larger requests are wide ones, of which a broker answers one at a time."""
_REQUESTS_IN_FLIGHT = 5
"""To one broker. A partition whose followers lag holds up all of its request."""
_RETRY_S = 0.1

_ENDED_THERE = ErrorCode.INVALID_PRODUCER_EPOCH
"""The partition has a marker or records of a later epoch, so no transaction of this one is open in
it. Either another coordinator has taken over, and then the record of the end cannot be committed
here, or a client has written with a producer id that is not its own. Kafka gives the transaction up
then, and its transactional id can never be used again."""
_OVERTAKEN = ErrorCode.TRANSACTION_COORDINATOR_FENCED
"""The partition has a marker of a later coordinator, which is responsible for this one, too."""


class Leaders(Protocol):
    """The brokers of the cluster, as far as the sender has to know them."""

    def exists(self, partition: TopicPartition) -> bool: ...

    def leader_of(self, partition: TopicPartition) -> int | None:
        """The broker to send to; None while there is none."""
        ...

    def write_markers(
        self, broker_id: int, body: m.WriteTxnMarkersRequest
    ) -> Awaitable[m.WriteTxnMarkersResponse]:
        """Raises UnansweredError."""
        ...


@dataclass(slots=True, eq=False)
class Outgoing:
    """A prepared transaction whose markers are on their way."""

    transaction: Transaction
    index: int
    """The partition of `__transaction_state` that the transaction belongs to."""
    coordinator_epoch: int
    is_over: Callable[[], bool]
    """Whether the leadership has ended in which the transaction was found prepared."""
    done: Callable[[], None]
    """Called once, when every partition has its marker."""
    waiting: dict[TopicPartition, None]


_Batch = list[tuple[Outgoing, list[TopicPartition]]]


class TransactionMarkers:
    def __init__(
        self, leaders: Leaders, spawn: Callable[[Coroutine[Any, Any, None]], None]
    ) -> None:
        self._leaders = leaders
        self._spawn = spawn
        self._queues: dict[int, dict[Outgoing, list[TopicPartition]]] = {}
        self._in_flight: dict[int, int] = {}
        self._is_scheduled = False
        self._is_closed = False

    def send(self, outgoing: Outgoing) -> None:
        self._route(outgoing, list(outgoing.waiting))

    def close(self) -> None:
        self._is_closed = True
        self._queues.clear()

    def _route(self, outgoing: Outgoing, partitions: Iterable[TopicPartition]) -> None:
        """Puts each partition into the queue of its leader, as it is now."""
        if self._is_closed or outgoing.is_over():
            return
        leaderless: list[TopicPartition] = []
        for each in partitions:
            if not self._leaders.exists(each):
                outgoing.waiting.pop(each, None)
                continue
            leader = self._leaders.leader_of(each)
            if leader is None:
                leaderless.append(each)
            else:
                self._queues.setdefault(leader, {}).setdefault(outgoing, []).append(each)
        if not outgoing.waiting:
            outgoing.done()
        if leaderless:
            self._route_later(outgoing, leaderless)
        if self._queues and not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._send_all)

    def _route_later(self, outgoing: Outgoing, partitions: list[TopicPartition]) -> None:
        asyncio.get_running_loop().call_later(_RETRY_S, self._route, outgoing, partitions)

    def _send_all(self) -> None:
        self._is_scheduled = False
        for broker_id in list(self._queues):
            self._send_to(broker_id)

    def _send_to(self, broker_id: int) -> None:
        while self._in_flight.get(broker_id, 0) < _REQUESTS_IN_FLIGHT:
            batch = self._take(broker_id)
            if not batch:
                return
            self._in_flight[broker_id] = self._in_flight.get(broker_id, 0) + 1
            self._spawn(self._exchange(broker_id, batch))

    def _take(self, broker_id: int) -> _Batch:
        queue = self._queues.get(broker_id, {})
        batch: _Batch = []
        room = _PARTITIONS_AT_ONCE
        while queue and room > 0:
            outgoing, partitions = next(iter(queue.items()))
            some, rest = partitions[:room], partitions[room:]
            if rest:
                queue[outgoing] = rest
            else:
                del queue[outgoing]
            room -= len(some)
            if not outgoing.is_over():
                batch.append((outgoing, some))
        if not queue:
            self._queues.pop(broker_id, None)
        return batch

    async def _exchange(self, broker_id: int, batch: _Batch) -> None:
        for outgoing, partitions in batch:
            _tell("markers", broker_id, outgoing, partitions)
        body = m.WriteTxnMarkersRequest(markers=[_marker(*each) for each in batch])
        try:
            answer = await self._leaders.write_markers(broker_id, body)
        except UnansweredError as problem:
            _log.info("markers for broker %d are sent again: %s", broker_id, problem)
            for outgoing, partitions in batch:
                self._route_later(outgoing, partitions)
        else:
            codes = _codes(answer)
            for outgoing, partitions in batch:
                self._answered(broker_id, outgoing, partitions, codes)
        finally:
            self._in_flight[broker_id] -= 1
        self._send_to(broker_id)

    def _answered(
        self,
        broker_id: int,
        outgoing: Outgoing,
        partitions: list[TopicPartition],
        codes: dict[tuple[int, TopicPartition], int],
    ) -> None:
        producer_id = outgoing.transaction.producer_id
        again: list[TopicPartition] = []
        written: list[TopicPartition] = []
        for each in partitions:
            code = codes.get((producer_id, each), ErrorCode.UNKNOWN_SERVER_ERROR)
            if code == ErrorCode.NONE:
                written.append(each)
            elif code in (_ENDED_THERE, _OVERTAKEN):
                _log.warning(
                    "%s: a marker of %s is refused by %s-%d: %s",
                    outgoing.index, outgoing.transaction.transactional_id, *each, error_name(code),
                )  # fmt: skip
                if code == _ENDED_THERE:
                    outgoing.waiting.pop(each, None)
            else:
                again.append(each)
        if written:
            _tell("markers_done", broker_id, outgoing, written)
        for each in written:
            outgoing.waiting.pop(each, None)
        if again:
            self._route_later(outgoing, again)
        elif not outgoing.waiting and not outgoing.is_over():
            outgoing.done()


def _tell(
    kind: str, broker_id: int, outgoing: Outgoing, partitions: Iterable[TopicPartition]
) -> None:
    sent = [(outgoing.transaction, partitions)]
    tell_of_markers(kind, outgoing.index, outgoing.coordinator_epoch, broker_id, sent)


def _marker(outgoing: Outgoing, partitions: Iterable[TopicPartition]) -> m.WritableTxnMarker:
    transaction = outgoing.transaction
    topics: dict[str, list[int]] = {}
    for topic, index in partitions:
        topics.setdefault(topic, []).append(index)
    return m.WritableTxnMarker(
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_result=transaction.state is TransactionState.PREPARE_COMMIT,
        topics=[
            m.WritableTxnMarkerTopic(name=name, partition_indexes=indexes)
            for name, indexes in topics.items()
        ],
        coordinator_epoch=outgoing.coordinator_epoch,
        transaction_version=transaction.client_version,
    )


def _codes(answer: m.WriteTxnMarkersResponse) -> dict[tuple[int, TopicPartition], int]:
    """By producer id and partition. A producer has one transaction, so one marker."""
    return {
        (marker.producer_id, (topic.name, each.partition_index)): each.error_code
        for marker in answer.markers
        for topic in marker.topics
        for each in topic.partitions
    }
