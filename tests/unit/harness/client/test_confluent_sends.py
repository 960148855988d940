"""Records that wait for librdkafka: how many it gets, and what becomes of those it never got."""

from __future__ import annotations

from typing import Any, cast

import pytest
from confluent_kafka import Producer

from harness.client.base import Batching, ClientSettings
from harness.client.confluent_sends import Burst, Patience, Portions
from harness.client.driver import DriverError, ToStore, place_of
from harness.client.librdkafka import LOGGER, producer_config

NOBODY = "127.0.0.1:1"
"""Nothing listens there, so librdkafka keeps what it is given."""


def made(*, timeout_ms: int) -> Producer:
    config = {"bootstrap.servers": NOBODY, "message.timeout.ms": timeout_ms}
    return Producer(config, logger=LOGGER)


def records(count: int, key: str = "t-0") -> list[ToStore]:
    return [ToStore(place_of(key), None, b"x" * 28, 1) for _ in range(count)]


def portion(of: list[ToStore], batch_bytes: int, **settings: Any) -> int:
    batching = Batching(batch_bytes=batch_bytes)
    chosen = ClientSettings(bootstrap=NOBODY, batching=batching, **settings)
    return Portions(producer_config(chosen, "c1")).of(of)


@pytest.mark.parametrize(("batch_bytes", "expected"), [(1, 5), (256, 6), (1_024, 22), (8_192, 202)])
def test_a_portion_is_what_librdkafka_sends_at_once(batch_bytes: int, expected: int) -> None:
    assert portion(records(300), batch_bytes) == expected


def test_records_are_held_back_only_where_librdkafka_would() -> None:
    assert portion(records(300), 256, enable_idempotence=False) == 300
    assert portion(records(300), 256, producer_config={"enable.idempotence": "false"}) == 300


def test_records_without_a_partition_keep_their_order_by_going_at_once() -> None:
    assert portion([*records(299), *records(1, "t/name")], 256) == 300


def test_a_record_that_was_never_handed_over_was_never_sent() -> None:
    producer = made(timeout_ms=100)
    burst = Burst(producer, records(8), 5)
    ends = burst.send({}, Patience(to_send=0.0, to_end=30.0))
    told = [(end.name, end.harmless) for end in ends if isinstance(end, DriverError)]
    assert told == [("_MSG_TIMED_OUT", False)] * 5 + [("_TIMED_OUT", True)] * 3


def test_no_report_in_time_leaves_the_outcome_open() -> None:
    producer = made(timeout_ms=60_000)
    ends = Burst(producer, records(1), 5).send({}, Patience(to_send=0.0, to_end=0.0))
    assert [(end.name, end.harmless) for end in ends if isinstance(end, DriverError)] == [
        ("_TIMED_OUT", False)
    ]
    producer.purge()


def test_a_refused_record_stays_where_it_was() -> None:
    producer = made(timeout_ms=100)
    refused = DriverError("LEADER_NOT_AVAILABLE", harmless=True)
    ends = Burst(producer, records(2), 5).send({0: refused}, Patience(to_send=5.0, to_end=30.0))
    assert ends[0] is refused
    assert cast("DriverError", ends[1]).name == "_MSG_TIMED_OUT"


def test_what_has_no_report_in_time_is_dropped_before_librdkafka_gives_it_up() -> None:
    producer = made(timeout_ms=60_000)
    ends = Burst(producer, records(8), 5).send({}, Patience(0.0, 30.0, drops=True))
    told = [(end.name, end.harmless) for end in ends if isinstance(end, DriverError)]
    assert told == [("_PURGE_QUEUE", False)] * 5 + [("_TIMED_OUT", True)] * 3
    assert len(producer) == 0


def test_librdkafka_outlasts_the_patience_of_the_driver() -> None:
    settings = ClientSettings(bootstrap=NOBODY)
    config = producer_config(settings, "c1")
    assert int(config["message.timeout.ms"]) > 2 * settings.delivery_timeout_ms
