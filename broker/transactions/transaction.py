"""One transactional id as a value, and how it goes from one state to the next.

A transition returns a new value; nothing is changed in place. `records` writes a value down, and a
replay of that record gives the same value again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from broker.transactions.state import PREVIOUS_STATES, TransactionState

TopicPartition = tuple[str, int]

NO_PRODUCER_ID = -1
NO_EPOCH = -1
EPOCH_MAX = 0x7FFF
"""Only the coordinator uses this epoch: for markers, when the last epoch of a client has ended."""
LAST_CLIENT_EPOCH = EPOCH_MAX - 1
NO_TIME_MS = -1

CLASSIC = 0
"""The transaction version of clients that register partitions themselves and keep their epoch."""
BUMPING = 2
"""The transaction version in which every transaction has an epoch of its own (KIP-890)."""


_ENDS = frozenset(
    {
        TransactionState.PREPARE_COMMIT,
        TransactionState.PREPARE_ABORT,
        TransactionState.COMPLETE_COMMIT,
        TransactionState.COMPLETE_ABORT,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    transactional_id: str
    producer_id: int
    producer_epoch: int
    previous_producer_id: int = NO_PRODUCER_ID
    """The producer id before the last transition, nearly always the same one."""
    next_producer_id: int = NO_PRODUCER_ID
    """The producer id that follows when the prepared end is complete; the epochs of the present
    one are used up. The client has it already."""
    timeout_ms: int
    state: TransactionState = TransactionState.EMPTY
    partitions: dict[TopicPartition, None] = field(default_factory=dict)
    """An ordered set, never changed in place."""
    start_ms: int = NO_TIME_MS
    updated_ms: int
    client_version: int = CLASSIC

    @property
    def identity(self) -> tuple[int, int]:
        return self.producer_id, self.producer_epoch

    @property
    def is_exhausted(self) -> bool:
        """Whether no client may get another epoch of this producer id."""
        return self.producer_epoch >= LAST_CLIENT_EPOCH

    @property
    def epoch_before_end(self) -> int:
        """The epoch that the client had before an end of version 2, which raised it; NO_EPOCH
        after anything else."""
        if self.client_version < BUMPING or self.state not in _ENDS:
            return NO_EPOCH
        if self.producer_epoch == 0:  # the producer id is another one, too
            return LAST_CLIENT_EPOCH
        return self.producer_epoch - 1

    def is_begun_as(self, other: Transaction) -> bool:
        """Whether the producer of `other` has begun already, and has done nothing since."""
        return self.state is other.state is TransactionState.EMPTY and (
            self.identity == other.identity
        )

    # Transitions

    def initialised(
        self, producer_id: int, epoch: int, timeout_ms: int, now_ms: int
    ) -> Transaction:
        """InitProducerId: a producer begins, with this identity."""
        return self._to(
            TransactionState.EMPTY,
            now_ms,
            producer_id=producer_id,
            producer_epoch=epoch,
            timeout_ms=timeout_ms,
            partitions={},
            start_ms=NO_TIME_MS,
        )

    def with_partitions(
        self, added: Iterable[TopicPartition], version: int, now_ms: int
    ) -> Transaction:
        """The first partition begins the transaction."""
        return self._to(
            TransactionState.ONGOING,
            now_ms,
            partitions={**self.partitions, **dict.fromkeys(added)},
            start_ms=now_ms if self.state.is_idle else self.start_ms,
            client_version=version,
        )

    def prepared(
        self, *, commit: bool, version: int, next_producer_id: int, now_ms: int
    ) -> Transaction:
        """Decides how the transaction ends. With version 2 its markers have the next epoch, so
        that whatever its producer still has on the way comes too late."""
        bumped = min(self.producer_epoch + 1, EPOCH_MAX)
        return self._to(
            TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT,
            now_ms,
            producer_epoch=bumped if version >= BUMPING else self.producer_epoch,
            next_producer_id=next_producer_id,
            # An abort of nothing has no beginning, and needs one (KAFKA-18060).
            start_ms=now_ms if self.state.is_idle else self.start_ms,
            client_version=version,
        )

    def completed(self, now_ms: int) -> Transaction:
        """Every partition has its marker."""
        rotates = self.next_producer_id != NO_PRODUCER_ID
        return self._to(
            TransactionState.COMPLETE_COMMIT
            if self.state is TransactionState.PREPARE_COMMIT
            else TransactionState.COMPLETE_ABORT,
            now_ms,
            producer_id=self.next_producer_id if rotates else self.producer_id,
            producer_epoch=0 if rotates else self.producer_epoch,
            next_producer_id=NO_PRODUCER_ID,
            partitions={},
        )

    def _to(self, state: TransactionState, now_ms: int, **changes: object) -> Transaction:
        assert self.state in PREVIOUS_STATES[state], f"{self.state.label} -> {state.label}"
        return replace(
            self,
            state=state,
            previous_producer_id=self.producer_id,
            updated_ms=now_ms,
            **changes,  # type: ignore[arg-type]
        )
