"""What a run counted, as figures for results.json."""

from __future__ import annotations

from typing import cast

from harness.client.base import Batching
from harness.client.traffic import Traffic
from harness.run.tally import Tally
from harness.store.results import FaultFigures, Figures, TrafficFigures
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
        "traffic": {
            f"c{number + 1}": traffic_figures(counted, workload.batching(number))
            for number, counted in sorted(tally.traffic.items())
        },
        "faults": cast("list[FaultFigures]", conductor.told()),
    }


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
