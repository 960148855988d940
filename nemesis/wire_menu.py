"""The messages that the nemesis `wire` chooses from, and what it does to each.

Every workload produces and fetches. A workload with members of consumer groups is about the
messages between members and coordinators, so there the choice is among those. A member speaks one
of two protocols, and which one only its client knows: such faults name the messages of both.
With transactions it is about the messages between producers, coordinators and leaders that make a
transaction: a transaction is torn, lost or left open by one of them that is late or lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Choice = tuple[dict[str, Any], dict[str, Any], int]
"""What is matched, what becomes of it, and the most messages that pass before it, counted on each
connection: beyond that a quiet client would not send it in time."""

_OFTEN: Final = 5
_SELDOM: Final = 1

_DROP: dict[str, Any] = {"kind": "drop"}


def _match(api: str | list[str], direction: str) -> dict[str, Any]:
    return {"api": api, "direction": direction}


def _delay(seconds: float) -> dict[str, Any]:
    return {"kind": "delay", "seconds": seconds}


def _error(code: str) -> dict[str, Any]:
    return {"kind": "error", "code": code}


def _twice(after_s: float) -> dict[str, Any]:
    return {"kind": "duplicate", "after_s": after_s}


_OF_LOGS: dict[str, tuple[Choice, ...]] = {
    "drop": (
        (_match("Produce", "reply"), _DROP, _OFTEN),
        (_match("Produce", "request"), _DROP, _OFTEN),
        (_match("Fetch", "reply"), _DROP, _OFTEN),
    ),
    "delay": (
        (_match("Produce", "reply"), _delay(5.0), _OFTEN),
        (_match("Produce", "request"), _delay(2.0), _OFTEN),
        (_match("Fetch", "request"), _delay(1.0), _OFTEN),
    ),
    "error": (
        (_match("Produce", "reply"), _error("NOT_LEADER_OR_FOLLOWER"), _OFTEN),
        (_match("Produce", "reply"), _error("REQUEST_TIMED_OUT"), _OFTEN),
    ),
    "duplicate": ((_match("Produce", "request"), _twice(0.5), _OFTEN),),
}

VARIANTS = tuple(_OF_LOGS)

_JOIN = ["JoinGroup", "ConsumerGroupHeartbeat"]
_SYNC = ["SyncGroup", "ConsumerGroupHeartbeat"]
_BEAT = ["Heartbeat", "ConsumerGroupHeartbeat"]
_LEAVE = ["LeaveGroup", "ConsumerGroupHeartbeat"]
_LOST_OR_LATE = (_JOIN, _SYNC, _BEAT, _LEAVE, ["OffsetFetch"], ["FindCoordinator"])

_SHARE_OF_COMMITS = 4
"""How often each fault of a commit stands among the others: it is what an offset is lost by."""


def _of_commits(of_request: dict[str, Any], of_reply: dict[str, Any]) -> tuple[Choice, ...]:
    return _SHARE_OF_COMMITS * (
        (_match("OffsetCommit", "request"), of_request, _SELDOM),
        (_match("OffsetCommit", "reply"), of_reply, _SELDOM),
    )


_OF_GROUPS: dict[str, tuple[Choice, ...]] = {
    "drop": (
        *(
            (_match(api, way), _DROP, _SELDOM)
            for api in _LOST_OR_LATE
            for way in ("request", "reply")
        ),
        *_of_commits(_DROP, _DROP),
    ),
    "delay": (
        # Longer than a session, so that a member has been replaced when its message arrives.
        *_of_commits(_delay(8.0), _delay(2.0)),
        (_match(_BEAT, "request"), _delay(8.0), _SELDOM),
        *(
            (_match(api, way), _delay(2.0), _SELDOM)
            for api in _LOST_OR_LATE
            for way in ("request", "reply")
        ),
    ),
    "error": (
        (_match("OffsetCommit", "reply"), _error("NOT_COORDINATOR"), _SELDOM),
        (_match(_BEAT, "reply"), _error("NOT_COORDINATOR"), _SELDOM),
        (_match(_JOIN, "reply"), _error("NOT_COORDINATOR"), _SELDOM),
    ),
    "duplicate": (
        # The copy of a commit comes right behind it: later it might undo the member's next one.
        (_match("OffsetCommit", "request"), _twice(0.0), _SELDOM),
        *((_match(api, "request"), _twice(0.5), _SELDOM) for api in _LOST_OR_LATE),
    ),
}


_OF_ANY_ID: dict[str, Any] = {"transactional_id": ""}
"""The nemesis fills in one of the workload's: without it a Produce may be of no transaction."""
_TXN_APIS = (
    *("InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn"),
    "WriteTxnMarkers",
)
_OF_OFFSETS = ("AddOffsetsToTxn", "TxnOffsetCommit")
_LONG_S = 3.0
"""Longer than a request's time-out: the client has given the request up and goes on when it
arrives (KAFKA-17754)."""


def _of_transaction(direction: str) -> dict[str, Any]:
    return {**_match("Produce", direction), **_OF_ANY_ID}


def _of_each(action: dict[str, Any], *directions: str) -> tuple[Choice, ...]:
    """EndTxn stands twice: it decides a transaction."""
    return (
        *(
            (_match(api, way), action, _SELDOM)
            for api in (*_TXN_APIS, "EndTxn")
            for way in directions
        ),
        *((_of_transaction(way), action, _SELDOM) for way in directions),
    )


_OF_TRANSACTIONS: dict[str, tuple[Choice, ...]] = {
    "drop": _of_each(_DROP, "request", "reply"),
    "delay": _of_each(_delay(_LONG_S), "request", "reply"),
    "error": (
        *(
            (_match(api, "reply"), _error(code), _SELDOM)
            for api in ("InitProducerId", "AddPartitionsToTxn", "TxnOffsetCommit", "EndTxn")
            for code in ("NOT_COORDINATOR", "CONCURRENT_TRANSACTIONS")
            if (api, code) != ("TxnOffsetCommit", "CONCURRENT_TRANSACTIONS")
        ),
        (_of_transaction("reply"), _error("NOT_LEADER_OR_FOLLOWER"), _SELDOM),
    ),
    "duplicate": _of_each(_twice(0.5), "request"),
}


_OF_MEMBERS = frozenset({*_JOIN, *_SYNC, *_BEAT, *_LEAVE, "OffsetFetch", "FindCoordinator"})
_BETWEEN_HEARTBEATS_S = 8.0


def patience_s(match: Mapping[str, Any]) -> float:
    """How long to wait for such a message at least: members may only send a heartbeat now and
    then."""
    api = match.get("api", ())
    names = {api} if isinstance(api, str) else set(api)
    is_of_group = names <= _OF_MEMBERS | {"OffsetCommit", *_TXN_APIS} and names
    return _BETWEEN_HEARTBEATS_S if is_of_group else 1.0


def choices(variant: str, *, of_groups: bool, of_transactions: bool = False) -> tuple[Choice, ...]:
    found = _OF_GROUPS[variant] if of_groups else ()
    if of_transactions:
        found += _OF_TRANSACTIONS[variant]
        if not of_groups:
            # Nobody sends offsets there.
            found = tuple(each for each in found if each[0]["api"] not in _OF_OFFSETS)
    return found or _OF_LOGS[variant]
