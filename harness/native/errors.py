"""What can go wrong between our client and a broker.

    ClientError
    ├── NodeUnreachableError    no connection, so nothing was asked
    ├── ConnectionLostError     asked, and nobody knows what became of it
    ├── RequestTimedOutError    asked, and no answer in time
    ├── NoLeaderError           the metadata names nobody to ask
    ├── UnsupportedApiError     the broker does not serve this API, or not in that version
    ├── ClientClosedError       our own doing
    ├── DivergingEpochError     the log we read from is not the one the leader has
    └── BrokerError             the broker answered with an error code
        └── OffsetOutOfRangeError

Only errors on the allow-list are definite: they prove that the request changed nothing. All others
may hide a change.
"""

from __future__ import annotations

from broker.protocol.errors import ErrorCode

DEFINITE_REFUSALS = frozenset(
    {
        # Looked at before anything is appended.
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.INVALID_REQUIRED_ACKS,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.INVALID_RECORD,
        ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        # Of administration.
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.TOPIC_ALREADY_EXISTS,
        ErrorCode.INVALID_PARTITIONS,
        ErrorCode.INVALID_REPLICATION_FACTOR,
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ErrorCode.INVALID_CONFIG,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.POLICY_VIOLATION,
        ErrorCode.UNSUPPORTED_VERSION,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.ELECTION_NOT_NEEDED,
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
    }
)
"""NOT_LEADER_OR_FOLLOWER is not among them: a leader that steps down while an acks=all produce
waits for its followers answers so after the append."""


class ClientError(Exception):
    is_retriable = False
    is_definite = False


class NodeUnreachableError(ClientError):
    is_retriable = True
    is_definite = True


class ConnectionLostError(ClientError):
    is_retriable = True


class RequestTimedOutError(ClientError):
    is_retriable = True


class NoLeaderError(ClientError):
    is_retriable = True
    is_definite = True


class UnsupportedApiError(ClientError):
    is_definite = True


class ClientClosedError(ClientError):
    pass


class DivergingEpochError(ClientError):
    """KIP-595: up to `end_offset`, which `epoch` reached there, the logs may be the same."""

    def __init__(self, place: str, epoch: int, end_offset: int) -> None:
        super().__init__(f"{place} diverges: epoch {epoch} ends there at offset {end_offset}")
        self.epoch = epoch
        self.end_offset = end_offset


class BrokerError(ClientError):
    def __init__(self, code: int, message: str | None = None, *, place: str = "") -> None:
        self.code = known_code(code)
        self.place = place
        told = f"{place}: {self.code.name}" if place else self.code.name
        super().__init__(f"{told}, {message}" if message else told)
        self.is_retriable = self.code.retriable
        self.is_definite = self.code in DEFINITE_REFUSALS


class OffsetOutOfRangeError(BrokerError):
    def __init__(self, place: str, offset: int, *, is_fenced: bool) -> None:
        """`is_fenced`: the fetch named the leader epoch, so no deposed leader answered so."""
        super().__init__(ErrorCode.OFFSET_OUT_OF_RANGE, f"asked for offset {offset}", place=place)
        self.offset = offset
        self.is_fenced = is_fenced


def known_code(code: int) -> ErrorCode:
    """A code that we do not know proves nothing, as UNKNOWN_SERVER_ERROR does."""
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


def check(code: int, message: str | None = None, *, place: str = "") -> None:
    if code != ErrorCode.NONE:
        raise BrokerError(code, message, place=place)
