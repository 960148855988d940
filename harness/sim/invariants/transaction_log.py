"""What the transaction coordinators have decided for good: the committed part of their log.

A record counts once it lies below the high watermark of a coordinator's partition. From then on no
coordinator can take it back, so the records that the leaders show, one after the other, are one
history of each transactional id. It is followed once for all invariants.
"""

from __future__ import annotations

from bisect import bisect_left
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from broker.inspect import TRANSACTIONS_TOPIC, TransactionState
from broker.protocol import codec
from harness.sim.invariants.base import Key
from harness.sim.invariants.coordinator_log import CoordinatorLogs, LoggedRecord
from harness.sim.invariants.replica import Replica

if TYPE_CHECKING:
    from harness.sim.invariants.step import Step

Slot = tuple[str, int]


class LoggedTransaction(NamedTuple):
    transactional_id: str
    producer_id: int
    epoch: int
    state: TransactionState
    partitions: frozenset[Slot]
    client_version: int
    offset: int

    @property
    def identity(self) -> tuple[int, int]:
        return self.producer_id, self.epoch

    def __str__(self) -> str:
        return f"{self.state.label} of producer {self.producer_id} epoch {self.epoch}"


class Transition(NamedTuple):
    transactional_id: str
    before: LoggedTransaction | None
    """None for an id that was not known."""
    after: LoggedTransaction | None
    """None for an id that has expired."""


class TransactionLog:
    def __init__(self) -> None:
        self.current: dict[str, LoggedTransaction] = {}
        self._owners: dict[int, str] = {}
        """By producer id, the transactional id that had it last."""
        self.prepared: set[tuple[int, int, bool]] = set()
        """Producer id and epoch of every decision, and whether it is to commit."""
        self._ends: dict[Key, int] = {}
        self._logs = CoordinatorLogs()
        self._step: Step | None = None
        self._transitions: list[Transition] = []

    def follow(self, step: Step) -> list[Transition]:
        """What has become final in this step."""
        if self._step is not step:
            self._step, self._transitions = step, []
            for replica in step.replicas.values():
                if replica.topic == TRANSACTIONS_TOPIC:
                    self._read(step, replica)
        return self._transitions

    def of_producer(self, producer_id: int) -> LoggedTransaction | None:
        """The transactional id that has this producer id, as it is now."""
        return self.current.get(self._owners.get(producer_id, ""))

    def look_again(self, step: Step) -> bool:
        """Reads the coordinators' logs on all nodes; False if one cannot be read at this moment,
        because its log is rolled or compacted, say. Then nothing can be said."""
        is_whole = True
        for node, index in step.scene.places_of(TRANSACTIONS_TOPIC):
            found = step.scene.look(node, TRANSACTIONS_TOPIC, index)
            can_be_read = self._read(step, found) if isinstance(found, Replica) else not found
            is_whole = is_whole and can_be_read
        return is_whole

    def _read(self, step: Step, replica: Replica) -> bool:
        """Whether all is read that a leader has committed."""
        if replica.partition is None or replica.partition.leadership is None:
            return True
        if step.scene.decided.was_unclean(replica.key):
            return False
        log = self._logs.of(step, replica)
        begin, end = self._ends.get(replica.key, 0), min(replica.high_watermark, log.end)
        if log.problem is not None:
            return False
        if end <= begin:
            return True
        first = bisect_left(log.records, begin, key=attrgetter("offset"))
        for record in log.records[first:]:
            if record.offset < end:
                self._take(record)
        self._ends[replica.key] = end
        return True

    def _take(self, record: LoggedRecord) -> None:
        key, _ = codec.decoder("TransactionLogKey", 0)(memoryview(record.key), 2)
        name: str = key.transactional_id
        before, after = self.current.get(name), None
        if record.value is None:
            self.current.pop(name, None)
        else:
            after = self.current[name] = _decoded(name, record.value, record.offset)
            self._owners[after.producer_id] = name
            if after.state.is_prepared:
                is_commit = after.state is TransactionState.PREPARE_COMMIT
                self.prepared.add((*after.identity, is_commit))
        self._transitions.append(Transition(name, before, after))


def _decoded(name: str, value: bytes, offset: int) -> LoggedTransaction:
    version = int.from_bytes(value[:2], "big")
    decoded, _ = codec.decoder("TransactionLogValue", version)(memoryview(value), 2)
    return LoggedTransaction(
        name,
        decoded.producer_id,
        decoded.producer_epoch,
        TransactionState(decoded.transaction_status),
        frozenset(
            (each.topic, index)
            for each in decoded.transaction_partitions or ()
            for index in each.partition_ids
        ),
        decoded.client_transaction_version,
        offset,
    )
