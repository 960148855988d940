"""Requests that Kafka accepts and our broker refuses."""

from __future__ import annotations

from tests.differential.compare import ENDING
from tests.differential.judge import Intended, Kind

_MISSPELT = "A name that no broker knows is refused: it is most likely a misspelt one."
_NO_EPOCH = "A producer id without an epoch cannot be fenced, so our broker refuses it."
_STAMP = "Kafka clears the bit LogAppendTime that a client sets; our broker refuses the batch."
_REPLICA = "A replica fetches by topic id and with a leader epoch, or it cannot be fenced."
_PRODUCED = "responses[*].partition_responses[*]"
_FETCHED = "responses[*].partitions[*]"
_EPOCH, _STAMPED = (
    "broken_records/producer id without an epoch",
    "timestamps/log append time in the request",
)
_REPLICAS = ("bad_places/a replica that is none", "bad_places/the leader as replica")

ENTRIES = (
    Intended(
        "api_versions", ENDING,
        "Kafka takes any negative length for null; our broker takes only -1.", Kind.REFUSED,
        "bytes_that_are_no_request/Metadata v1, negative array length",
        kafka="some answer", ours="closed",
    ),
    *(
        Intended(
            "configs", "responses[4/1].error_code", _MISSPELT, Kind.REFUSED, step,
            kafka="NONE", ours="INVALID_REQUEST",
        )
        for step in ("replaced/an unknown setting of a broker",
                     "changes_of_other_resources/unknown setting")
    ),
    Intended(
        "produce", f"{_PRODUCED}.error_code", _NO_EPOCH, Kind.REFUSED, _EPOCH,
        kafka="NONE", ours="INVALID_RECORD",
    ),
    Intended(
        "produce", f"{_PRODUCED}.error_code", _STAMP, Kind.REFUSED, _STAMPED,
        kafka="NONE", ours="INVALID_TIMESTAMP",
    ),
    Intended("produce", f"{_PRODUCED}.base_offset", _NO_EPOCH, Kind.REFUSED, _EPOCH, ours=-1),
    Intended("produce", f"{_PRODUCED}.base_offset", _STAMP, Kind.REFUSED, _STAMPED, ours=-1),
    *(
        Intended(
            "produce", f"{_FETCHED}.{field}", _NO_EPOCH, Kind.REFUSED,
            "broken_records/what the log has",
        )
        for field in ("high_watermark", "last_stable_offset", "records[2]")
    ),
    *(
        Intended(
            "fetch", f"{_FETCHED}.error_code", _REPLICA, Kind.REFUSED, step, versions,
            kafka="NOT_LEADER_OR_FOLLOWER", ours=ours,
        )
        for step in _REPLICAS
        for versions, ours in (
            (range(4, 13), "UNKNOWN_TOPIC_ID"),
            (range(13, 19), "INVALID_REQUEST"),
        )
    ),
    *(
        Intended(
            "fetch", f"{_FETCHED}.current_leader", _REPLICA, Kind.REFUSED, step, range(16, 19),
            ours=None,
        )
        for step in _REPLICAS
    ),
)  # fmt: skip
