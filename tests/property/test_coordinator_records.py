"""Keys and values of internal topics come back as they were, in every version.

That their bytes are Kafka's is the business of tests/unit/broker/groups/test_records.py.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from broker.protocol import codec
from broker.protocol.schema import Message
from tests.property.coordinator_records import COORDINATOR_RECORDS
from tests.property.message_values import drawn, in_version, written_examples


def check(message: Message, value: Any) -> None:
    for version in message.versions:
        sent = in_version(message.struct, version, value)
        data = b"".join(codec.encoder(message.name, version)(sent))
        assert codec.decoder(message.name, version)(memoryview(data), 0) == (sent, len(data))


@pytest.mark.parametrize("name", sorted(COORDINATOR_RECORDS))
def test_every_version_comes_back(name: str) -> None:
    message = COORDINATOR_RECORDS[name]
    for value in written_examples(message.struct):
        check(message, value)

    @settings(max_examples=20, database=None, deadline=None)
    @given(drawn(message.struct))
    def check_drawn(value: Any) -> None:
        check(message, value)

    check_drawn()
