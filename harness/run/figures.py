"""What a run counted, as figures for results.json."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import cast

from harness.client.base import Batching
from harness.client.traffic import Traffic
from harness.run.tally import Tally
from harness.store.results import FaultFigures, Figures, PartitionFigures, TrafficFigures
from nemesis.conductor import Conductor
from workloads.base import Workload


def figures_of(tally: Tally, conductor: Conductor, workload: Workload) -> Figures:
    counts = tally.counts
    return {
        "ok": counts.ok,
        "fail": counts.fail,
        "info": counts.info,
        "acknowledged": counts.sent,
        "read": counts.read,
        "partitions": partition_figures(tally.sent_by_key),
        "traffic": {
            f"c{number + 1}": traffic_figures(counted, workload.batching(number))
            for number, counted in sorted(tally.traffic.items())
        },
        "faults": cast("list[FaultFigures]", conductor.told()),
    }


def partition_figures(sent: Mapping[str, int]) -> dict[str, PartitionFigures]:
    """By key, what it got of its topic's records."""
    of_topic: Counter[str] = Counter()
    for key, count in sent.items():
        of_topic[_topic_and_partition(key)[0]] += count
    return {
        key: {
            "acknowledged": sent[key],
            "share": round(sent[key] / of_topic[_topic_and_partition(key)[0]], 4),
        }
        for key in sorted(sent, key=_topic_and_partition)
    }


def _topic_and_partition(key: str) -> tuple[str, int]:
    """Keys of plugins may have another form; such a key is a topic by itself."""
    topic, _, partition = key.rpartition("-")
    return (topic, int(partition)) if partition.isdigit() else (key, 0)


def traffic_figures(traffic: Traffic, batching: Batching) -> TrafficFigures:
    """`batching` is what the workload chose; --producer-config may have overridden it."""
    count = traffic.batches.total()
    return {
        "linger_ms": batching.linger_ms,
        "batch_bytes": batching.batch_bytes,
        "codec": batching.codec,
        "requests_in_flight_max": traffic.requests_max,
        "batches_in_flight_max": traffic.batches_max,
        "records_in_flight_max": traffic.records_max,
        "batches": count,
        "records": traffic.records,
        "batch_records": {
            "mean": round(traffic.records / max(1, count), 2),
            "p50": traffic.quantile(0.5),
            "p99": traffic.quantile(0.99),
            "most": max(traffic.batches, default=0),
        },
        "batch_bytes_mean": round(traffic.bytes_total / max(1, count), 1),
        "batch_bytes_max": traffic.bytes_max,
        "sampled": traffic.is_sampled,
    }
