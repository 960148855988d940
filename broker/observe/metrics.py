"""What a node counts while it works: plain integers, because the hot path pays for each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from broker.observe.histogram import LatencyHistogram


class TopicMetrics:
    """A hot caller may hold one and add to its fields."""

    __slots__ = (
        "bytes_in",
        "bytes_out",
        "bytes_rejected",
        "failed_fetch_requests",
        "failed_produce_requests",
        "fetch_requests",
        "messages_in",
        "produce_requests",
    )

    def __init__(self) -> None:
        self.messages_in = 0
        self.bytes_in = 0
        self.bytes_out = 0
        self.bytes_rejected = 0
        self.produce_requests = 0
        self.failed_produce_requests = 0
        self.fetch_requests = 0
        self.failed_fetch_requests = 0


@dataclass(slots=True)
class TransactionEndings:
    """How the transactions that a node coordinates were decided."""

    commit: int = 0
    abort: int = 0
    """By their producer."""
    timeout: int = 0
    """Aborted by the coordinator, because they were open for too long."""
    new_producer: int = 0
    """Aborted by the coordinator, because another producer began with their id."""


class ProcessFigures(NamedTuple):
    """What only the operating system knows; none of it in a simulator."""

    resident_bytes: int
    cpu_s: float
    open_files: int


class _Topics(dict[str, TopicMetrics]):
    def __missing__(self, name: str) -> TopicMetrics:
        made = self[name] = TopicMetrics()
        return made


class _Latencies(dict[int, LatencyHistogram]):
    def __missing__(self, api_key: int) -> LatencyHistogram:
        made = self[api_key] = LatencyHistogram()
        return made


class Metrics:
    def __init__(self, process_figures: Callable[[], ProcessFigures] | None = None) -> None:
        self.topics = _Topics()
        self.latencies = _Latencies()
        self.request_errors: dict[tuple[int, int], int] = {}
        self.connections_accepted = 0
        self.connections_refused = 0
        self.requests_malformed = 0
        self.throttled = 0
        self.loop_lag = LatencyHistogram()
        self.process_figures = process_figures
        self.transaction_endings = TransactionEndings()
        self.producers_fenced = 0

    def request_done(self, api_key: int, elapsed_s: float) -> None:
        self.latencies[api_key].observe(elapsed_s)

    def request_failed(self, api_key: int, error_code: int) -> None:
        """One error code in an answer; a request of many parts may have several."""
        key = (api_key, error_code)
        self.request_errors[key] = self.request_errors.get(key, 0) + 1

    def produced(self, topic: str, records: int, size: int) -> None:
        counts = self.topics[topic]
        counts.produce_requests += 1
        counts.messages_in += records
        counts.bytes_in += size

    def produce_failed(self, topic: str, size: int = 0) -> None:
        """`size` is what was refused for its size."""
        counts = self.topics[topic]
        counts.produce_requests += 1
        counts.failed_produce_requests += 1
        counts.bytes_rejected += size

    def fetched(self, topic: str, size: int) -> None:
        counts = self.topics[topic]
        counts.fetch_requests += 1
        counts.bytes_out += size

    def fetch_failed(self, topic: str) -> None:
        counts = self.topics[topic]
        counts.fetch_requests += 1
        counts.failed_fetch_requests += 1

    def topic_deleted(self, topic: str) -> None:
        self.topics.pop(topic, None)

    def connection_accepted(self) -> None:
        self.connections_accepted += 1

    def connection_refused(self) -> None:
        self.connections_refused += 1

    def request_malformed(self) -> None:
        self.requests_malformed += 1

    def request_throttled(self) -> None:
        self.throttled += 1
