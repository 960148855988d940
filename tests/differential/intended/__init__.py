"""Every difference from Apache Kafka that is intended, with its reason.

An entry that no play needs is an error: remove it once the brokers agree. `docs/generate.py` writes
[the page about differences](../../../docs/reference/differences.md) from these lists.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.differential.intended import (
    absent,
    accepted,
    failures,
    forms,
    groups,
    refused,
    settings,
    transactions,
)
from tests.differential.judge import Intended

INTENDED: Sequence[Intended] = (
    *absent.ENTRIES,
    *settings.ENTRIES,
    *failures.ENTRIES,
    *refused.ENTRIES,
    *accepted.ENTRIES,
    *groups.ENTRIES,
    *transactions.ENTRIES,
    *forms.ENTRIES,
)
