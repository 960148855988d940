"""Our codec against kio's: every message in every version, the same bytes both ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from broker.protocol import codec
from broker.protocol.schema import Message
from broker.protocol.schema_text import schema
from tests.property.coordinator_records import COORDINATOR_RECORDS
from tests.property.field_coverage import FieldCoverage
from tests.property.kio_values import their_bytes, their_class, their_value, to_theirs
from tests.property.message_values import drawn, in_version, written_examples

MESSAGES = sorted(
    # kio has no records of coordinators: test_coordinator_records.py looks at these.
    (each for each in schema().messages.values() if each.name not in COORDINATOR_RECORDS),
    key=lambda message: message.name,
)
DRAWN_EXAMPLES = 12


def compare(message: Message, version: int, value: Any) -> None:
    """`value` has only what the version has."""
    cls = their_class(message, version)
    theirs = to_theirs(message.struct, version, cls, value)
    expected = their_bytes(theirs)

    encoded = b"".join(map(bytes, codec.encoder(message.name, version)(value)))
    assert encoded == expected, f"{message.name} v{version}: {value}"

    framed = b"head" + expected
    decoded, end = codec.decoder(message.name, version)(memoryview(framed), 4)
    assert decoded == value
    assert end == len(framed)
    assert their_value(cls, encoded) == (theirs, len(encoded))


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: str(message.name))
def test_every_version_has_the_bytes_that_kio_has(
    message: Message, record_property: Callable[[str, object], None]
) -> None:
    coverage = FieldCoverage()

    def compare_all_versions(value: Any) -> None:
        for version in message.versions:
            sent = in_version(message.struct, version, value)
            compare(message, version, sent)
            coverage.watch(message.struct, version, sent)

    for value in written_examples(message.struct):
        compare_all_versions(value)

    @settings(
        max_examples=DRAWN_EXAMPLES,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(drawn(message.struct))
    def compare_drawn(value: Any) -> None:
        compare_all_versions(value)

    if message.struct.fields:
        compare_drawn()
    missed = [
        line for version in message.versions for line in coverage.missed(message.struct, version)
    ]
    assert missed == []
    record_property("message_versions_compared", len(message.versions))


def test_the_whole_list_is_compared(capsys: pytest.CaptureFixture[str]) -> None:
    bodies = [message for api in schema().apis.values() for message in (api.request, api.response)]
    count = sum(len(message.versions) for message in bodies)
    with capsys.disabled():
        print(f"\ncodec: {len(schema().apis)} APIs, {count} message-versions compared with kio")  # noqa: T201
    assert {message.name for message in bodies} <= {message.name for message in MESSAGES}
    assert len(schema().apis) == 73
    assert count == 562
