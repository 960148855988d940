"""Does the broker's memory grow with what it stores? RSS after 400 MB and after 4 GB."""

from __future__ import annotations

from dataclasses import dataclass

from bench.measure import rss_bytes, sample
from bench.rounds import Plan, topic
from bench.rows import PARTITIONS, RECORDS_PER_MB
from bench.systems import System

GROWTH_BAR_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True)
class Growth:
    system: str
    storage: str
    first_bytes: int
    last_bytes: int
    rss_after_first: int
    rss_after_last: int

    @property
    def growth_bytes(self) -> int:
        return self.rss_after_last - self.rss_after_first


def measure_growth(
    system: System, storage: str, plan: Plan, first_bytes: int, last_bytes: int
) -> Growth:
    plan.say(f"{storage}: RSS of {system.name} after {last_bytes / 1e9:.1f} GB")
    with topic(system, PARTITIONS) as name:

        def produce(size: int) -> int:
            load = {
                "load": "raw produce",
                "topic": name,
                "partitions": PARTITIONS,
                "records_per_batch": RECORDS_PER_MB,
                "messages": size // 1024,
            }
            sample(system, load, plan.client_cpus)
            return rss_bytes(system.pids)

        after_first = produce(first_bytes)
        after_last = produce(last_bytes - first_bytes)
    return Growth(system.name, storage, first_bytes, last_bytes, after_first, after_last)
