"""Events of a transaction coordinator for a simulator: transitions, markers, fenced producers.

Nothing is computed without a listener.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from broker.coordination.step import CoordinatorRecord, Step
from broker.metadata.internal_topics import TRANSACTIONS_TOPIC
from broker.observe.events import emit, event_sink
from broker.partition import Partition
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode
from broker.transactions import records
from broker.transactions.state import TransactionState
from broker.transactions.transaction import TopicPartition, Transaction

_FENCED = frozenset(
    {
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    }
)

_REPLIES = (m.InitProducerIdResponse, m.EndTxnResponse)


@dataclass(frozen=True, slots=True)
class TransitionDecided:
    """A transition of a transactional id, in the moment in which it is decided."""

    transaction: Transaction
    """The state after it."""
    cause: str
    """`init`, `add`, `end`, `timeout` or `markers`: the request, or what else has led to it."""

    def __str__(self) -> str:
        after = self.transaction
        return (
            f"{after.transactional_id}: {after.state.label} by {self.cause}, producer "
            f"{after.producer_id} epoch {after.producer_epoch}, {len(after.partitions)} partitions"
        )


@dataclass(frozen=True, slots=True)
class MarkersSent:
    """Markers of one transaction that go to one broker, or their acknowledgement by it."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool
    partitions: tuple[TopicPartition, ...]
    broker_id: int

    def __str__(self) -> str:
        kind = "commit" if self.committed else "abort"
        return (
            f"{self.transactional_id}: {kind} of producer {self.producer_id} epoch "
            f"{self.producer_epoch} to broker {self.broker_id}, {len(self.partitions)} partitions"
        )


def tell_of_step(partition: Partition, step: Step) -> None:
    """`transaction` for each transition, `transaction_expired` for each id that ends,
    `transaction_timeout` for each transaction that was open for too long, `producer_fenced` for
    each producer that is refused."""
    if event_sink.get() is None:
        return
    responses = [each.response for each in step.replies]
    for record in step.records:
        _tell_of_record(partition, record, responses)
    for response in responses:
        refusal = refusal_of_fenced(response)
        if refusal is not None:
            emit("producer_fenced", partition.topic, partition.index, detail=refusal)


def refusal_of_fenced(response: object) -> str | None:
    """Request and error, if the response refuses a producer that another one has replaced."""
    if isinstance(response, _REPLIES) and response.error_code in _FENCED:
        code, kind = ErrorCode(response.error_code).name, type(response).__name__
        return f"{kind.removesuffix('Response')}: {code}"
    if isinstance(response, ErrorCode) and response in _FENCED:
        return f"AddPartitionsToTxn: {response.name}"
    return None


def _tell_of_record(
    partition: Partition, record: CoordinatorRecord, responses: list[object]
) -> None:
    transactional_id = records.decode_key(record.key)
    if record.value is None:
        emit("transaction_expired", partition.topic, partition.index, detail=transactional_id)
        return
    after = records.decode_value(transactional_id, record.value)
    decided = TransitionDecided(after, cause_of(after, responses))
    emit(
        "transaction", partition.topic, partition.index, epoch=after.producer_epoch, detail=decided
    )
    if decided.cause == "timeout":
        emit("transaction_timeout", partition.topic, partition.index, detail=transactional_id)


def cause_of(after: Transaction, responses: list[object]) -> str:
    """What led to a transition, by the responses of its step; see `TransitionDecided.cause`."""
    if any(isinstance(each, m.InitProducerIdResponse) for each in responses):
        return "init"
    if any(isinstance(each, m.EndTxnResponse) for each in responses):
        return "end"
    if after.state is TransactionState.ONGOING:
        return "add"
    return "timeout" if after.state is TransactionState.PREPARE_ABORT else "markers"


def tell_of_markers(
    kind: str,
    index: int,
    coordinator_epoch: int,
    broker_id: int,
    sent: Iterable[tuple[Transaction, Iterable[TopicPartition]]],
) -> None:
    """`markers` before they are sent, `markers_done` for those that the broker has acknowledged.

    `index` is the partition of the coordinator.
    """
    if event_sink.get() is None:
        return
    for transaction, partitions in sent:
        told = MarkersSent(
            transaction.transactional_id,
            *transaction.identity,
            transaction.state is TransactionState.PREPARE_COMMIT,
            tuple(partitions),
            broker_id,
        )
        emit(kind, TRANSACTIONS_TOPIC, index, epoch=coordinator_epoch, detail=told)
