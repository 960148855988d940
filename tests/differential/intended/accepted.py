"""Requests that Kafka refuses, or serves in part, and our broker serves."""

from __future__ import annotations

from tests.differential.compare import ABSENT
from tests.differential.judge import Intended, Kind

_AT_ONCE = "Our controller decides at once, so no time limit is too short for it."
_NO_BYTES = "Our broker takes a negative limit for none at all."
_EACH = "Kafka stores one batch of a partition that is named twice; our broker stores each one."
_EACH_TOPIC = "Our broker answers for each topic, however it is named."
_FETCHED = "responses[*].partitions[*]"
_PRODUCED = "responses[*].partition_responses[*]"
_NEGATIVE = "limits/negative bytes of a partition"
_MIXED = "by_id/one by id, one by name"
_UNKNOWN, _TIMED_OUT = "UNKNOWN_SERVER_ERROR", "REQUEST_TIMED_OUT"

_CREATED = tuple(
    Intended("create_topics", f"topics[*]{path}", _AT_ONCE, Kind.ACCEPTED, step, versions, **known)
    for step in ("names/timeout 0", "names/negative timeout")
    for path, versions, known in (
        (".error_code", range(2, 8), {"kafka": _TIMED_OUT, "ours": "NONE"}),
        (".num_partitions", range(5, 8), {"kafka": -1}),
        (".replication_factor", range(5, 8), {"kafka": -1}),
        (".configs[*]", range(5, 8), {"kafka": ABSENT}),
        (".topic_id", range(7, 8), {}),
    )
)

ENTRIES = (
    *_CREATED,
    Intended(
        "delete_topics", "responses[*].error_code", _AT_ONCE, Kind.ACCEPTED, "by_name/timeout 0",
        kafka=_TIMED_OUT, ours="NONE",
    ),
    Intended(
        "delete_topics", "responses[*].topic_id", _AT_ONCE, Kind.ACCEPTED, "by_name/timeout 0",
        range(6, 7),
    ),
    *(
        Intended(
            "fetch", f"{_FETCHED}.{field}", _NO_BYTES, Kind.ACCEPTED, _NEGATIVE, kafka=kafka
        )
        for field, kafka in (
            ("error_code", _UNKNOWN),
            ("high_watermark", -1),
            ("last_stable_offset", -1),
            ("log_start_offset", -1),
            ("records[*]", ABSENT),
        )
    ),
    *(
        Intended("produce", path, _EACH, Kind.ACCEPTED, f"several_partitions/{step}")
        for path, step in (
            (_PRODUCED, "a partition twice"),
            ("responses[*]", "a topic twice"),
            (f"{_PRODUCED}.base_offset", "a topic twice"),
            (f"{_FETCHED}.high_watermark", "what the log has"),
            (f"{_FETCHED}.last_stable_offset", "what the log has"),
            (f"{_FETCHED}.records[*]", "what the log has"),
            (f"{_FETCHED}.records[*].records[*].value", "what the log has"),
        )
    ),
    *(
        Intended("metadata", path, _EACH_TOPIC, Kind.ACCEPTED, _MIXED, versions, **known)
        for path, versions, known in (
            ("topics[*].error_code", range(10, 12), {"kafka": "INVALID_REQUEST", "ours": "NONE"}),
            ("topics[*].topic_id", range(10, 12), {}),
            ("topics[*].partitions[*]", range(10, 12), {"kafka": ABSENT}),
            ("topics[*]", range(12, 14), {"kafka": ABSENT}),
        )
    ),
)  # fmt: skip
