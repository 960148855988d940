"""Every difference from Apache Kafka that is intended, with its reason.

An entry that no play needs is an error: remove it once the brokers agree.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.differential.judge import Intended

INTENDED: Sequence[Intended] = (
    Intended(
        "*",
        "**error_message",
        "Our broker says what is wrong where Kafka leaves the text out.",
        kafka=None,
    ),
)
