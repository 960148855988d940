"""Do readers at the tail wait while another reader scans what is no longer in memory?

Only a disk can be cold. The files of the scanned topic are dropped from the page cache before
each round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.measure import Sample, cpu_s, figures, rss_bytes, worker
from bench.rounds import Measured, Plan, drop_from_page_cache, fill, topic
from bench.rows import APACHE, OURS, PARTITIONS, Row
from bench.systems import System

ALONE = Row(name="tail readers, alone", load="tail", storages=("disk",), judged="latency")
SCANNED = Row(
    name="tail readers during a cold scan",
    load="tail",
    storages=("disk",),
    judged="latency",
    quick=True,
)


def run_cold_rows(systems: Sequence[System], plan: Plan, cold_bytes: int) -> list[Measured]:
    plan.say(f"disk: {SCANNED.name}, {cold_bytes / 1e9:.1f} GB of it")
    taken: dict[tuple[str, str], list[Sample]] = {}
    brokers = [one for one in systems if one.name in (OURS, APACHE)]
    for system in brokers:
        with topic(system, PARTITIONS) as cold:
            wish = Row(name="cold", load="raw scan", filled=cold_bytes // 1024)
            fill(system, cold, wish, plan)
            for _ in range(plan.rounds):
                for row, scanned in ((ALONE, None), (SCANNED, cold)):
                    one = _round(system, plan, scanned)
                    taken.setdefault((row.name, system.name), []).append(one)
    return [
        Measured(
            row=row,
            storage="disk",
            system=system.name,
            samples=tuple(taken[row.name, system.name]),
            warm_rounds=0,
            figures=figures(taken[row.name, system.name]),
        )
        for row in (ALONE, SCANNED)
        for system in brokers
    ]


def _round(system: System, plan: Plan, cold: str | None) -> Sample:
    common: dict[str, Any] = {"bootstrap": system.bootstrap, "seconds": plan.seconds}
    with topic(system, 1) as name:
        if cold is None:
            return _tail(system, {**common, "load": "tail", "topic": name}, plan)
        drop_from_page_cache(system.logs, cold)
        scan = {**common, "load": "raw scan", "topic": cold, "partitions": PARTITIONS}
        with worker(scan, plan.client_cpus) as scanner:
            tail = {**common, "load": "tail", "topic": name}
            return _tail(system, tail, plan, scanner.go)


def _tail(
    system: System,
    load: dict[str, Any],
    plan: Plan,
    meanwhile: Any = None,
) -> Sample:
    with worker(load, plan.client_cpus) as client:
        before_s = cpu_s(system.pids)
        if meanwhile is not None:
            meanwhile()
        client.go()
        result = client.result()
        used_s = cpu_s(system.pids) - before_s
    return Sample(
        messages=int(result["messages"]),
        bytes=int(result["bytes"]),
        seconds=result["seconds"],
        server_cpu_s=used_s,
        client_cpu_s=result["client_cpu_s"],
        p50_us=result["p50_us"],
        p99_us=result["p99_us"],
        server_rss_bytes=rss_bytes(system.pids),
    )
