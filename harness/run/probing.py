"""Whether each partition takes a write when all is healed and its leader has been moved.

A leader that has everybody in sync and still takes no write looks well in every description; only
a write shows it. The writes are operations of the workload, and stand in the history as any other.
Plain data for results.json; checkers/availability.py judges it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from checkers.cluster.availability import WAITED_S_MIN
from harness.cluster import Cluster
from harness.run.aftermath import answering, described, told
from harness.run.clients import Clients, Tried

WRITE_WITHIN_S = WAITED_S_MIN
_NS = 1e9


async def with_writes(
    cluster: Cluster,
    clients: Clients,
    calm: Mapping[str, Any],
    keys: Sequence[str],
    topics: Sequence[str],
    *,
    min_isr: int,
    before: int,
) -> dict[str, Any]:
    """`calm` of aftermath.py, with what became of one write to each partition at least.

    `before` is how many writes had been acknowledged until then.

    No write is tried where its failure would say nothing: while a fault is left, without a
    description of the cluster, and to a partition that is known not to serve. A system without
    leaders has no description to wait for: any of its nodes may serve any partition.
    """
    if cluster.system.leaders is None:
        calm = {**calm, "partitions": len(keys)}
    unwell = {each["partition"] for each in calm["unwell"]}
    asked = [key for key in keys if key not in unwell]
    if not calm["healed"] or not calm["partitions"] or not asked:
        return dict(calm)
    found = await clients.probe(asked, WRITE_WITHIN_S)
    in_time = {key: each.took_ns for key, each in found.items() if _is_in_time(each)}
    late = {key: each for key, each in found.items() if key not in in_time}
    writes = {
        "before": before,
        "acknowledged": sum(each.acknowledged for each in found.values()),
        "took_s": {key: round(took / _NS, 3) for key, took in in_time.items() if took is not None},
        "late": await _evidence(cluster, late, topics, min_isr),
    }
    # Where a write is late, who answers now decides about guilt.
    nodes = await answering(cluster, topics) if late else calm["nodes"]
    return {**calm, "nodes": nodes, "writes": writes}


def _is_in_time(tried: Tried) -> bool:
    return tried.took_ns is not None and tried.took_ns <= WRITE_WITHIN_S * _NS


async def _evidence(
    cluster: Cluster, late: Mapping[str, Tried], topics: Sequence[str], min_isr: int
) -> list[dict[str, Any]]:
    """Each with its partition as the cluster describes it afterwards; nobody's if it does not."""
    nobody: dict[str, Any] = {"leader": None, "replicas": [], "isr": [], "min_isr": min_isr}
    if cluster.system.leaders is None:
        nobody |= {"replicas": list(cluster.nodes), "isr": list(cluster.nodes)}
    states = {}
    if late:
        for topic, state in await described(cluster, topics):
            states[f"{topic}-{state.index}"] = told(topic, state, min_isr)
    return [
        {
            **states.get(key, {"partition": key, **nobody}),
            "tries": each.tries,
            "tried_s": round(each.until_ns / _NS, 1),
            "took_s": None if each.took_ns is None else round(each.took_ns / _NS, 1),
            "heard": each.is_heard,
            "error": each.error,
        }
        for key, each in late.items()
    ]
