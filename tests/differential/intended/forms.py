"""The same answer in another form."""

from __future__ import annotations

from tests.differential.judge import Intended, Kind

_TEXT = "<some text>"

ENTRIES = (
    Intended(
        "*", "**error_message", "Our broker says what is wrong where Kafka leaves the text out.",
        Kind.FORMS, kafka=None, ours=_TEXT,
    ),
    Intended(
        "find_coordinator", "error_message", "Kafka writes NONE as the text of a success.",
        Kind.FORMS, "of_*", range(1, 4), kafka=_TEXT, ours=None,
    ),
    Intended(
        "create_topics", "topics[*].topic_id",
        "Kafka draws an id for a topic that is only validated; no topic will ever have it.",
        Kind.FORMS, "names/only validated", range(7, 8), ours=bytes(16),
    ),
    Intended(
        "list_offsets", "topics[*].partitions[*].offset",
        "Kafka may answer an offset that was deleted; ours is at least the start of the log.",
        Kind.FORMS, "after_records_were_deleted/timestamp -3", range(7, 12), kafka=2, ours=3,
    ),
    *(
        Intended(
            area, "responses[*].partition_responses[*].log_append_time_ms",
            "A topic that keeps its producers' times has no append time, also not for duplicates.",
            Kind.FORMS, step, kafka="<time>", ours=-1,
        )
        for area, step in (
            ("produce", "idempotent_producers/the same again"),
            ("produce", "idempotent_producers/one of the last five"),
            ("transactional_produce", "a_transaction/the first again, *"),
        )
    ),
)  # fmt: skip
