"""Requests over which Kafka fails or falls silent, and which our broker answers."""

from __future__ import annotations

from collections.abc import Mapping

from tests.differential.compare import ENDING
from tests.differential.judge import Intended, Kind

_FAILS = "Kafka fails with an unexpected exception; our broker answers what is wrong."
_UNKNOWN = "UNKNOWN_SERVER_ERROR"
_PRODUCED = "responses[*].partition_responses[*]"
_BY_ID = "by_id/*"
_WHOLE_ANSWER = "Kafka fails over the topic, and its answer has no cluster; ours names it."

_CODES: Mapping[tuple[str, str, str], str] = {
    ("configs", "responses[*].error_code", "changed_one_by_one/operation *"): "INVALID_REQUEST",
    ("describe_topic_partitions", "topics[*].error_code", "pages/illegal and empty name"): (
        "INVALID_TOPIC_EXCEPTION"
    ),
    ("offset_fetch", "groups[*].error_code", "with_member_ids/null member, an epoch"): (
        "UNKNOWN_MEMBER_ID"
    ),
    ("produce", f"{_PRODUCED}.error_code", "broken_records/unknown codec 5"): (
        "UNSUPPORTED_COMPRESSION_TYPE"
    ),
    ("produce", f"{_PRODUCED}.error_code", "broken_records/codec * over plain records"): (
        "CORRUPT_MESSAGE"
    ),
    ("metadata", "topics[*].error_code", "by_id/neither id nor name"): "UNKNOWN_TOPIC_ID",
    ("metadata", "error_code", "by_id/neither id nor name"): "NONE",
}
"""Area, path and step to the error that our broker answers instead."""

ENTRIES = (
    *(
        Intended(area, path, _FAILS, Kind.FAILURES, step, kafka=_UNKNOWN, ours=ours)
        for (area, path, step), ours in _CODES.items()
    ),
    *(
        Intended("produce", f"{_PRODUCED}.log_start_offset", _FAILS, Kind.FAILURES, step, versions)
        for step, versions in {
            "broken_records/unknown codec 5": range(5, 7),
            "broken_records/codec * over plain records": range(5, 14),
        }.items()
    ),
    Intended(
        "metadata", "topics[*].name", _FAILS, Kind.FAILURES, "by_id/neither id nor name",
        range(12, 14), kafka="", ours=None,
    ),
    *(
        Intended("metadata", path, _WHOLE_ANSWER, Kind.FAILURES, _BY_ID, range(10, 14))
        for path in ("brokers[*]", "cluster_id", "controller_id")
    ),
    Intended(
        "configs", ENDING, "Kafka's controller fails over a resource that is named twice.",
        Kind.FAILURES, "the_same_resource_twice/twice", kafka="silent", ours="response",
    ),
    Intended(
        "produce", ENDING, "Kafka never answers null records.",
        Kind.FAILURES, "null_records/null records", kafka="silent", ours="response",
    ),
    *(
        Intended(
            "describe_cluster", ENDING,
            "Kafka closes the connection; our broker answers SECURITY_DISABLED to every filter.",
            Kind.FAILURES, f"without_an_authorizer/{step}", kafka="closed", ours="response",
        )
        for step in ("unknown resource type", "unknown operation")
    ),
)  # fmt: skip
