"""What librdkafka's statistics say of a producer's traffic.

They come as JSON every `INTERVAL_MS`. The numbers of batches, records and bytes are exact, for each
topic since the last time. The records in a batch are given by percentiles, so their distribution is
an estimate: a batch counts with the next percentile above it, except the smallest. What is in
flight is given for one moment, so a maximum is that of the samples, and at least one batch.
"""

from __future__ import annotations

from collections import Counter

import msgspec

from harness.client.traffic import Traffic

INTERVAL_MS = 250
"""Shorter than most faults: while a leader is cut off, requests to it wait for seconds."""

_SHARES = (("p50", 0.5), ("p75", 0.75), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99))


class _Window(msgspec.Struct):
    """Of what was measured since the last statistics."""

    min: int = 0
    max: int = 0
    sum: int = 0
    cnt: int = 0
    p50: int = 0
    p75: int = 0
    p90: int = 0
    p95: int = 0
    p99: int = 0


class _Broker(msgspec.Struct):
    waitresp_cnt: int = 0
    """Requests without a response. One that asks for metadata may be among them."""
    waitresp_msg_cnt: int = 0
    """Records in them."""


class _Topic(msgspec.Struct):
    batchsize: _Window = msgspec.field(default_factory=_Window)
    batchcnt: _Window = msgspec.field(default_factory=_Window)


class _Statistics(msgspec.Struct):
    brokers: dict[str, _Broker] = {}
    topics: dict[str, _Topic] = {}


_read = msgspec.json.Decoder(_Statistics).decode


def traffic_from(statistics: str) -> Traffic:
    """The part of librdkafka's JSON that is about produce requests."""
    told = _read(statistics)
    waiting = [each for each in told.brokers.values() if each.waitresp_msg_cnt]
    requests = sum(each.waitresp_cnt for each in waiting)
    found = Traffic(
        requests_max=requests,
        batches_max=requests,  # librdkafka sends one batch with each request
        records_max=sum(each.waitresp_msg_cnt for each in waiting),
        is_sampled=True,
    )
    for topic in told.topics.values():
        if topic.batchcnt.cnt:
            found.batches.update(_spread(topic.batchcnt))
            found.records += topic.batchcnt.sum
            found.bytes_total += topic.batchsize.sum
            found.bytes_max = max(found.bytes_max, topic.batchsize.max)
            found.requests_max = max(found.requests_max, 1)
            found.batches_max = max(found.batches_max, 1)
            found.records_max = max(found.records_max, topic.batchcnt.max)
    return found


def _spread(window: _Window) -> Counter[int]:
    """Batches by their records; their number, the least and the greatest size are right."""
    sizes = Counter({window.min: 1} if window.cnt > 1 else {})
    done = sizes.total()
    for name, share in _SHARES:
        upto = int(share * window.cnt)
        if upto > done:
            # Percentiles are rounded, and may lie beyond the greatest.
            sizes[min(max(getattr(window, name), window.min), window.max)] += upto - done
            done = upto
    sizes[window.max] += window.cnt - done
    return sizes
