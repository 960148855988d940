"""The states of a transactional id, by the numbers that its records carry."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum


class TransactionState(IntEnum):
    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    """The decision is made. It is carried out in all partitions, whatever happens."""
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    """Kafka's word for an id that expires. No record has it: the id's tombstone says so."""
    PREPARE_EPOCH_FENCE = 7
    """Kafka's word for an abort by the coordinator that is not written yet. No record has it."""

    @property
    def label(self) -> str:
        """The name that clients know, such as `PrepareCommit`."""
        return self.name.title().replace("_", "")

    @property
    def is_prepared(self) -> bool:
        return self in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)

    @property
    def is_idle(self) -> bool:
        """No transaction is open, and none is being ended."""
        return self in _IDLE


_IDLE = frozenset(
    {
        TransactionState.EMPTY,
        TransactionState.COMPLETE_COMMIT,
        TransactionState.COMPLETE_ABORT,
    }
)

STATE_BY_LABEL: Mapping[str, TransactionState] = {each.label: each for each in TransactionState}

PREVIOUS_STATES: Mapping[TransactionState, frozenset[TransactionState]] = {
    TransactionState.EMPTY: _IDLE,
    TransactionState.ONGOING: _IDLE | {TransactionState.ONGOING},
    TransactionState.PREPARE_COMMIT: frozenset({TransactionState.ONGOING}),
    # With transaction version 2 a client may abort without knowing whether it has begun.
    TransactionState.PREPARE_ABORT: _IDLE | {TransactionState.ONGOING},
    TransactionState.COMPLETE_COMMIT: frozenset({TransactionState.PREPARE_COMMIT}),
    TransactionState.COMPLETE_ABORT: frozenset({TransactionState.PREPARE_ABORT}),
}
"""The states that a recorded state may follow. A transactional id begins as Empty."""
