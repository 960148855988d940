"""What an error means for a transaction: try again, abort, or give the producer up.

    RETRIABLE   nothing is decided: the same request is sent again
    ABORTABLE   the transaction cannot be committed any more; abort it and go on
    FENCED      another producer has the transactional id, or the coordinator has ended the
                transaction because its time was up: this producer is over
    FATAL       the producer is over for another reason
    UNKNOWN     no answer came in time: the request may have had its effect

The table is Kafka's: what is fatal in one request may be harmless in another.
"""

from __future__ import annotations

from enum import Enum, auto

from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from harness.native.errors import DEFINITE_REFUSALS, ClientError


class TransactionErrorKind(Enum):
    RETRIABLE = auto()
    ABORTABLE = auto()
    FENCED = auto()
    FATAL = auto()
    UNKNOWN = auto()

    @property
    def ends_producer(self) -> bool:
        return self in (
            TransactionErrorKind.FENCED,
            TransactionErrorKind.FATAL,
            TransactionErrorKind.UNKNOWN,
        )


_FENCING = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED)
_ABORTABLE = (
    ErrorCode.TRANSACTION_ABORTABLE,
    # The coordinator has forgotten the id, or the partition the producer. A new epoch follows.
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.UNKNOWN_PRODUCER_ID,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
)
_OF_MEMBERS = (
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.FENCED_INSTANCE_ID,
    ErrorCode.STALE_MEMBER_EPOCH,
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.GROUP_ID_NOT_FOUND,
)
"""Of the group whose offsets are to be committed: the transaction has to go, not the producer."""

_BEFORE_ANY_EFFECT = (
    *_OF_MEMBERS,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.TRANSACTION_ABORTABLE,
    ErrorCode.OPERATION_NOT_ATTEMPTED,
)
"""NOT_COORDINATOR is not among them: a request that waits for the log of the coordinator is
answered so when the coordinator loses the partition, after the append."""


def kind_of(api: ApiKey, code: ErrorCode) -> TransactionErrorKind:
    if code in _FENCING:
        # A partition that refuses an epoch does not know who has the transactional id. The
        # coordinator does, and says so when it is asked to abort.
        is_produce = api == ApiKey.PRODUCE and code == ErrorCode.INVALID_PRODUCER_EPOCH
        return TransactionErrorKind.ABORTABLE if is_produce else TransactionErrorKind.FENCED
    if code in _ABORTABLE:
        return TransactionErrorKind.ABORTABLE
    if api == ApiKey.TXN_OFFSET_COMMIT and code in _OF_MEMBERS:
        return TransactionErrorKind.ABORTABLE
    if code.retriable or code == ErrorCode.OPERATION_NOT_ATTEMPTED:
        return TransactionErrorKind.RETRIABLE
    return TransactionErrorKind.FATAL


def is_refusal(code: ErrorCode) -> bool:
    """Whether the answer proves that the request changed nothing."""
    return code in DEFINITE_REFUSALS or code in _BEFORE_ANY_EFFECT


class TransactionFailedError(ClientError):
    """A step of a transaction did not succeed. `is_definite`: none of its tries had any effect."""

    def __init__(
        self,
        kind: TransactionErrorKind,
        message: str,
        *,
        code: ErrorCode | None = None,
        is_definite: bool,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.code = code
        self.is_definite = is_definite
