"""What an error proves: the table of docs/reference/errors.md, which says why, row by row.

`fail` is an allow-list. An error becomes one only where it is proved that none of the tries behind
it can have changed anything; whatever is not in the table is `info`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from harness.client.base import Acks, Outcome

BEFORE_SENDING = "(before sending)"
"""Stands for every error that the library raises before anything has left it."""
ANY = "(any other)"


class Mode(NamedTuple):
    """How a producer is configured, as far as it matters here."""

    acks: Acks
    idempotence: bool
    retries: bool
    """Whether the library may send a record again by itself."""


class Row(NamedTuple):
    error: str
    acks: tuple[Acks, ...]
    idempotence: tuple[bool, ...]
    retries: tuple[bool, ...]
    outcome: Outcome

    def fits(self, error: str, mode: Mode) -> bool:
        return (
            self.error in (error, ANY)
            and mode.acks in self.acks
            and mode.idempotence in self.idempotence
            and mode.retries in self.retries
        )


EVERY: tuple[Acks, ...] = ("0", "1", "all")
EITHER = (False, True)
ON, OFF = (True,), (False,)

# Judged by the leader before it appends, and nothing about them changes while a record waits.
REFUSALS = (
    "CORRUPT_MESSAGE",
    "MESSAGE_TOO_LARGE",
    "INVALID_TOPIC_EXCEPTION",
    "RECORD_LIST_TOO_LARGE",
    "INVALID_REQUIRED_ACKS",
    "TOPIC_AUTHORIZATION_FAILED",
    "CLUSTER_AUTHORIZATION_FAILED",
    "INVALID_TIMESTAMP",
    "UNSUPPORTED_FOR_MESSAGE_FORMAT",
    "UNSUPPORTED_COMPRESSION_TYPE",
    "INVALID_RECORD",
)

PRODUCE: tuple[Row, ...] = (
    Row(BEFORE_SENDING, EVERY, EITHER, EITHER, "fail"),
    Row("DUPLICATE_SEQUENCE_NUMBER", ("all",), ON, EITHER, "ok"),
    *(Row(error, ("1",), OFF, OFF, "fail") for error in REFUSALS),
    Row("NOT_ENOUGH_REPLICAS", EVERY, EITHER, EITHER, "info"),
    Row("NOT_ENOUGH_REPLICAS_AFTER_APPEND", EVERY, EITHER, EITHER, "info"),
    Row("NOT_LEADER_OR_FOLLOWER", EVERY, EITHER, EITHER, "info"),
    Row("UNKNOWN_TOPIC_OR_PARTITION", EVERY, EITHER, EITHER, "info"),
    Row("REQUEST_TIMED_OUT", EVERY, EITHER, EITHER, "info"),
    Row("NETWORK_EXCEPTION", EVERY, EITHER, EITHER, "info"),
    Row("KAFKA_STORAGE_ERROR", EVERY, EITHER, EITHER, "info"),
    Row("UNKNOWN_SERVER_ERROR", EVERY, EITHER, EITHER, "info"),
    Row("OUT_OF_ORDER_SEQUENCE_NUMBER", EVERY, EITHER, EITHER, "info"),
    Row("UNKNOWN_PRODUCER_ID", EVERY, EITHER, EITHER, "info"),
    Row("INVALID_PRODUCER_EPOCH", EVERY, EITHER, EITHER, "info"),
    Row("PRODUCER_FENCED", EVERY, EITHER, EITHER, "info"),
    Row("_MSG_TIMED_OUT", EVERY, EITHER, EITHER, "info"),
    Row("_TRANSPORT", EVERY, EITHER, EITHER, "info"),
    Row("_PURGE_QUEUE", EVERY, EITHER, EITHER, "info"),
    Row("_PURGE_INFLIGHT", EVERY, EITHER, EITHER, "info"),
    Row(ANY, EVERY, EITHER, EITHER, "info"),
)

ADMIN: tuple[tuple[str, Outcome], ...] = (
    (BEFORE_SENDING, "fail"),
    ("INVALID_TOPIC_EXCEPTION", "fail"),
    ("INVALID_PARTITIONS", "fail"),
    ("INVALID_CONFIG", "fail"),
    ("INVALID_REQUEST", "fail"),
    ("UNSUPPORTED_VERSION", "fail"),
    ("TOPIC_ALREADY_EXISTS", "info"),
    ("UNKNOWN_TOPIC_OR_PARTITION", "info"),
    ("INVALID_REPLICATION_FACTOR", "info"),
    ("NOT_CONTROLLER", "info"),
    ("REQUEST_TIMED_OUT", "info"),
    (ANY, "info"),
)
_ADMIN = dict(ADMIN)


def of_produce(error: str, mode: Mode, *, harmless: bool = False) -> Outcome:
    """`harmless`: the client itself knows that nothing it sent can have been written."""
    return _first(PRODUCE, BEFORE_SENDING if harmless else error, mode)


def of_admin(error: str, *, harmless: bool = False) -> Outcome:
    return _ADMIN.get(BEFORE_SENDING if harmless else error, _ADMIN[ANY])


def of_commit(error: str, *, harmless: bool = False) -> Outcome:
    """A refusal proves nothing by itself: the library may have sent the commit before, and the
    answer to that may be lost. `harmless`: the client knows of each try that it was refused."""
    return "fail" if harmless else "info"


def _first(rows: Sequence[Row], error: str, mode: Mode) -> Outcome:
    return next(row.outcome for row in rows if row.fits(error, mode))
