"""Each reading client starts at the beginning, at the end, at an offset and at a time."""

from __future__ import annotations

import time

import pytest

from tests.clients.conftest import CreateTopic
from tests.clients.speaker import Message, Reader, without_timestamp

pytestmark = pytest.mark.clients

# Retention is by record time, so records of the distant past would be deleted at once.
FIRST_TIME_MS = int(time.time() * 1000) - 3_600_000
SPACING_MS = 1000
COUNT = 30


def timed_messages() -> list[Message]:
    return [
        Message(b"value %d" % number, timestamp_ms=FIRST_TIME_MS + number * SPACING_MS)
        for number in range(COUNT)
    ]


@pytest.fixture(scope="module")
def timed_topic(create_topic: CreateTopic, witness: Reader) -> str:
    topic = create_topic()
    witness.produce(topic, 0, timed_messages())
    return topic


def test_reading_from_the_beginning_gives_everything_with_its_time(
    reader: Reader, timed_topic: str
) -> None:
    stored = reader.read(timed_topic, 0, COUNT, start="beginning")
    assert [one.message for one in stored] == timed_messages()
    assert [one.offset for one in stored] == list(range(COUNT))


def test_reading_from_an_offset_starts_exactly_there(reader: Reader, timed_topic: str) -> None:
    stored = reader.read(timed_topic, 0, 5, start=17)
    assert [one.offset for one in stored] == [17, 18, 19, 20, 21]


def test_reading_from_the_end_gives_only_what_comes_later(
    reader: Reader, witness: Reader, create_topic: CreateTopic
) -> None:
    topic = create_topic()
    witness.produce(topic, 0, [Message(b"early %d" % number) for number in range(10)])
    late = [Message(b"late %d" % number) for number in range(3)]
    stored = reader.read(
        topic, 0, 3, start="end", once_positioned=lambda: witness.produce(topic, 0, late)
    )
    assert without_timestamp(stored) == late
    assert [one.offset for one in stored] == [10, 11, 12]


@pytest.mark.parametrize(
    ("after_first_ms", "expected"),
    [
        pytest.param(-1, 0, id="before-all"),
        pytest.param(7 * SPACING_MS, 7, id="exactly"),
        pytest.param(7 * SPACING_MS + 1, 8, id="between"),
        pytest.param(COUNT * SPACING_MS, None, id="after-all"),
    ],
)
def test_a_time_is_found_as_the_first_record_not_before_it(
    reader: Reader, timed_topic: str, after_first_ms: int, expected: int | None
) -> None:
    assert reader.offset_for_time(timed_topic, 0, FIRST_TIME_MS + after_first_ms) == expected


def test_the_bounds_are_the_first_and_the_end_offset(
    reader: Reader, timed_topic: str, create_topic: CreateTopic
) -> None:
    assert reader.bounds(timed_topic, 0) == (0, COUNT)
    assert reader.bounds(create_topic(), 0) == (0, 0)
