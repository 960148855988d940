"""Turns a node's counters and state into the text that Prometheus reads."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING

from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST as CONTENT_TYPE

from broker.observe import catalogue
from broker.observe.catalogue import MetricInfo, MetricKind
from broker.observe.histogram import LatencyHistogram
from broker.observe.metrics import TopicMetrics
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from broker.group_lag import GroupFigures, GroupOffset
    from broker.node import Node
    from broker.partition import Partition
    from broker.transaction_figures import TransactionFigures

__all__ = ["CONTENT_TYPE", "NodeCollector", "exposition"]

_SAMPLES_IN_A_PIECE = 500
_QUANTILES = (0.5, 0.75, 0.95, 0.99, 0.999)
_LATE_MARGIN_MS = 5 * 60_000
"""Kafka's margin beyond transaction.max.timeout.ms, in which a coordinator ends what timed out."""
Sample = tuple[tuple[str, ...], float]


async def exposition(node: Node) -> bytes:
    """Made in pieces: a scrape of many thousand partitions must not hold up the requests."""
    pieces: list[bytes] = []
    groups = await node.group_lag.look()
    transactions = await node.transactions.look()
    name = None
    for part in NodeCollector(node, groups, transactions).collect():
        text = generate_latest(_One(part))
        # A family's HELP and TYPE stand once, before its first sample.
        pieces.append(text if part.name != name else text.split(b"\n", 2)[2])
        name = part.name
        await asyncio.sleep(0)
    return b"".join(pieces)


class _One:
    """What generate_latest needs of a registry."""

    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> list[Metric]:
        return [self._family]


class NodeCollector:
    """Like a collector of prometheus_client: `collect` looks at the node as it is now.

    A family with many samples comes in several parts, one after the other.
    """

    def __init__(self, node: Node, groups: GroupFigures, transactions: TransactionFigures) -> None:
        """Groups and transactions are looked up before: it takes requests to other nodes, or
        pauses."""
        self._node = node
        self._group_figures = groups
        self._transaction_figures = transactions

    def collect(self) -> Iterator[Metric]:
        yield from self._topics()
        yield from self._requests()
        yield from self._replicas()
        yield from self._groups()
        yield from self._transactions()
        yield from self._connections()
        yield from self._process()
        yield from self._logs()

    def _topics(self) -> Iterator[Metric]:
        topics = sorted(self._node.metrics.topics.items())
        figures = [(name, _topic_figures(counts)) for name, counts in topics]
        for position, info in enumerate(catalogue.TOPICS):
            yield _family(info, [((name,), values[position]) for name, values in figures])

    def _requests(self) -> Iterator[Metric]:
        metrics = self._node.metrics
        latencies = [(ApiKey(key).name, each) for key, each in sorted(metrics.latencies.items())]
        yield _family(catalogue.REQUESTS, [((name,), each.count) for name, each in latencies])
        yield _family(
            catalogue.REQUEST_ERRORS,
            [
                ((ApiKey(key).name, ErrorCode(code).name), count)
                for (key, code), count in sorted(metrics.request_errors.items())
            ],
        )
        times = _empty(catalogue.REQUEST_TIME)
        for name, histogram in latencies:
            _add_summary(times, {"request": name}, histogram, scale=1000)
        yield times

    def _replicas(self) -> Iterator[Metric]:
        node = self._node
        topics = node.metadata.image.topics
        partitions = list(node.partitions)
        directories = node.partitions.directories.values()
        infos = [info for topic in topics.values() for info in topic.partitions]
        own = [info for info in infos if node.node_id in info.replicas]
        led = [each for each in partitions if each.leader is not None]
        offline_led = sum(each.log.failure is not None for each in led)
        # Those without a log here, because its directory could not be read or found no room.
        absent = max(0, len(own) - len(partitions))
        max_timeout_ms = node.config.transaction_max_timeout_ms
        values = (
            len(partitions),
            len(led) - offline_led,
            sum(_lacks_replicas(each) for each in led),
            sum(_is_under_min_isr(each) for each in led),
            sum(each.log.failure is not None for each in partitions) + absent,
            sum(_has_late_transaction(each, max_timeout_ms) for each in led),
            sum(directory.is_offline for directory in directories),
            int(node.controller.is_active),
            sum(info.leader < 0 for info in infos) + offline_led,
            len(topics),
            len(infos),
        )
        for info, value in zip(catalogue.REPLICAS, values, strict=True):
            yield _family(info, [((), value)])

    def _groups(self) -> Iterator[Metric]:
        found = self._group_figures
        yield from _parts(
            catalogue.GROUP_OFFSET, ((_labels_of(each), each.committed) for each in found.offsets)
        )
        yield from _parts(
            catalogue.GROUP_LAG, ((_labels_of(each), lag) for each, lag in found.lags())
        )
        yield _family(catalogue.GROUP_OFFSETS_LEFT_OUT, [((), found.left_out)])

    def _transactions(self) -> Iterator[Metric]:
        found, metrics = self._transaction_figures, self._node.metrics
        states = [(("ongoing",), found.ongoing), (("prepared",), found.prepared)]
        yield _family(catalogue.TRANSACTIONS_OPEN, states)
        yield _family(catalogue.OLDEST_TRANSACTION, [((), found.oldest_s)])
        endings = asdict(metrics.transaction_endings)
        yield _family(
            catalogue.TRANSACTIONS_ENDED, [((how,), count) for how, count in endings.items()]
        )
        yield _family(catalogue.PRODUCERS_FENCED, [((), metrics.producers_fenced)])

    def _connections(self) -> Iterator[Metric]:
        server = self._node.server
        memory = server.memory
        for info, value in (
            (catalogue.CONNECTIONS, server.connection_count),
            (catalogue.CONNECTIONS_REFUSED, self._node.metrics.connections_refused),
            (catalogue.REQUEST_MEMORY, memory.used_bytes),
            (catalogue.REQUEST_MEMORY_LIMIT, memory.limit_bytes),
            (catalogue.REQUEST_MEMORY_RATIO, memory.used_bytes / memory.limit_bytes),
        ):
            yield _family(info, [((), value)])

    def _process(self) -> Iterator[Metric]:
        metrics = self._node.metrics
        lag = _empty(catalogue.LOOP_LAG)
        _add_summary(lag, {}, metrics.loop_lag)
        yield lag
        yield _family(catalogue.LOOP_LAG_MAX, [((), metrics.loop_lag.max_s)])
        if metrics.process_figures is not None:
            figures = metrics.process_figures()
            yield _family(catalogue.RESIDENT_BYTES, [((), figures.resident_bytes)])
            yield _family(catalogue.CPU_SECONDS, [((), figures.cpu_s)])
            yield _family(catalogue.OPEN_FILES, [((), figures.open_files)])

    def _logs(self) -> Iterator[Metric]:
        partitions = list(self._node.partitions)
        for position, info in enumerate(catalogue.LOGS):
            yield from _parts(
                info,
                (
                    ((each.topic, str(each.index)), _log_figures(each)[position])
                    for each in partitions
                ),
            )


def _topic_figures(counts: TopicMetrics) -> tuple[int, ...]:
    return (
        counts.messages_in,
        counts.bytes_in,
        counts.bytes_out,
        counts.bytes_rejected,
        counts.produce_requests,
        counts.failed_produce_requests,
        counts.fetch_requests,
        counts.failed_fetch_requests,
    )


def _log_figures(partition: Partition) -> tuple[int, ...]:
    log = partition.log
    unstable = log.high_watermark - log.last_stable_offset
    return log.size_bytes, log.start_offset, log.end_offset, len(log.segments), unstable


def _labels_of(offset: GroupOffset) -> tuple[str, ...]:
    return offset.group_id, offset.topic, str(offset.partition)


def _is_under_min_isr(partition: Partition) -> bool:
    """Of a partition that this node leads; its own replica counts while its log is online."""
    in_sync = 0 if partition.info is None else len(partition.info.isr)
    return in_sync - (partition.log.failure is not None) < partition.log.config.min_insync_replicas


def _has_late_transaction(partition: Partition, max_timeout_ms: int) -> bool:
    """Whether the oldest open transaction had no record for longer than any may be open.

    Its coordinator has ended it, or does not know it. The time is that of this process: it begins
    anew when the broker starts, but no clock and no timestamp of a client can change it.
    """
    producer = partition.log.producers.oldest_open
    if producer is None:
        return False
    silent_ms = partition.log.uptime_ms() - producer.seen_ms
    return silent_ms > max_timeout_ms + _LATE_MARGIN_MS


def _lacks_replicas(partition: Partition) -> bool:
    info = partition.info
    return info is not None and len(info.isr) < len(info.replicas)


def _empty(info: MetricInfo) -> Metric:
    return Metric(info.name, info.about, info.kind.value)


def _family(info: MetricInfo, samples: Iterable[Sample]) -> Metric:
    family: CounterMetricFamily | GaugeMetricFamily
    if info.kind is MetricKind.COUNTER:
        family = CounterMetricFamily(info.name, info.about, labels=info.labels)
    else:
        family = GaugeMetricFamily(info.name, info.about, labels=info.labels)
    for labels, value in samples:
        family.add_metric(labels, value)
    return family


def _parts(info: MetricInfo, samples: Iterable[Sample]) -> Iterator[Metric]:
    """At least one, so that a family without samples is exported with its HELP and TYPE."""
    left = iter(samples)
    some = list(islice(left, _SAMPLES_IN_A_PIECE))
    while True:
        yield _family(info, some)
        some = list(islice(left, _SAMPLES_IN_A_PIECE))
        if not some:
            return


def _add_summary(
    family: Metric, labels: dict[str, str], histogram: LatencyHistogram, scale: float = 1
) -> None:
    for share in _QUANTILES:
        quantile = {**labels, "quantile": str(share)}
        family.add_sample(family.name, quantile, histogram.quantile(share) * scale)
    family.add_sample(family.name + "_count", labels, histogram.count)
    family.add_sample(family.name + "_sum", labels, histogram.sum_s * scale)
