"""What was on the wire: counted by request, added up, and read from librdkafka's statistics."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from harness.client.librdkafka_stats import traffic_from
from harness.client.traffic import Meter, Metered, Traffic


def test_the_most_in_flight_is_that_of_one_moment() -> None:
    meter = Meter()
    first, second, third = [(3, 100)], [(5, 200), (1, 50)], [(2, 80)]
    meter.sent(first)
    meter.sent(second)
    meter.ended(first)
    meter.sent(third)
    meter.ended(second)
    meter.ended(third)
    counted = meter.take()
    assert (counted.requests_max, counted.batches_max, counted.records_max) == (2, 3, 9)
    assert counted.batches == {3: 1, 5: 1, 1: 1, 2: 1}
    assert (counted.records, counted.bytes_total, counted.bytes_max) == (11, 430, 200)
    assert not meter.take()


def test_a_request_stays_in_flight_when_the_count_is_taken() -> None:
    meter = Meter()
    meter.sent([(4, 10)])
    meter.take()
    meter.sent([(6, 10)])
    assert meter.take().records_max == 10


def test_traffic_adds_up_and_survives_its_frame() -> None:
    whole = Traffic()
    for sizes in ([(1, 70)], [(1, 70), (9, 300)]):
        meter = Meter()
        meter.sent(sizes)
        told: dict[str, Any] = msgspec.msgpack.decode(msgspec.msgpack.encode(meter.take()))
        whole.add(Traffic.read(told))
    assert whole.batches == {1: 2, 9: 1}
    assert (whole.records, whole.records_max, whole.bytes_max) == (11, 10, 300)


def test_quantiles_are_sizes_that_there_are() -> None:
    traffic = Traffic()
    traffic.batches.update({1: 98, 40: 1, 200: 1})
    assert [traffic.quantile(share) for share in (0.5, 0.98, 0.99, 1.0)] == [1, 1, 40, 200]
    assert Traffic().quantile(0.5) == 0


def window(**told: int) -> dict[str, int]:
    return {"min": 0, "max": 0, "sum": 0, "cnt": 0, "avg": 0, "hdrsize": 8304, **told}


def statistics(brokers: dict[str, Any], **topics: tuple[dict[str, int], dict[str, int]]) -> str:
    return json.dumps(
        {
            "name": "c1#producer-1",
            "brokers": {
                name: {"nodeid": 1, "rxbytes": 7, **each} for name, each in brokers.items()
            },
            "topics": {
                name: {"topic": name, "batchcnt": counts, "batchsize": sizes}
                for name, (counts, sizes) in topics.items()
            },
        }
    )


def test_librdkafka_tells_exact_numbers_and_estimates() -> None:
    percentiles = {"p50": 15, "p75": 15, "p90": 16, "p95": 16, "p99": 16}
    told = traffic_from(
        statistics(
            {
                "n1": {"waitresp_cnt": 3, "waitresp_msg_cnt": 40},
                "n2": {"waitresp_cnt": 2, "waitresp_msg_cnt": 2},
                "n3": {"waitresp_cnt": 1, "waitresp_msg_cnt": 0},
            },
            t=(window(min=2, max=15, sum=140, cnt=10, **percentiles), window(sum=900, max=200)),
            idle=(window(), window()),
        )
    )
    assert (told.requests_max, told.records_max) == (5, 42), "n3 was only asked for metadata"
    assert (told.records, told.bytes_total, told.bytes_max) == (140, 900, 200)
    assert told.batches == {2: 1, 15: 9}, "no percentile goes beyond the greatest"
    assert told.is_sampled


def test_between_two_samples_at_least_one_batch_was_in_flight() -> None:
    told = traffic_from(statistics({}, t=(window(min=7, max=7, sum=7, cnt=1), window(sum=90))))
    assert (told.requests_max, told.batches_max, told.records_max) == (1, 1, 7)
    assert told.batches == {7: 1}


def test_statistics_of_an_idle_producer_say_nothing() -> None:
    assert not traffic_from(statistics({}, t=(window(), window())))


def test_a_client_need_not_count() -> None:
    class Plain:
        pass

    assert not isinstance(Plain(), Metered)
