"""Transactions of our broker against those of Apache Kafka: `python bench/transactions.py`.

One run, three nodes each, replication factor 3, the systems take turns within a round. It measures
transactions per second by size and number of producers, the latency of a commit, the latency that
read_committed adds to a reader, and consume-transform-produce. The client is librdkafka, which
speaks the classic protocol. Servers have one core and clients the other. A row is level when the
medians differ by no more than the printed spread. Exit code 1: a row is behind.

.venv/bin/python bench/transactions.py [--rounds N] [--parts producers readers copying] [--json F]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import transactional_loads as loads
from bench.compared import KAFKA, OURS, Comparison, table
from bench.systems import System
from bench.systems.clusters import apache_cluster, our_cluster

NODES = 3
PARTS = ("producers", "readers", "copying")
SIZES = (1, 10, 100)
PRODUCERS = (1, 4)
SYSTEMS: Mapping[str, tuple[str, Callable[..., System]]] = {
    "ours": (OURS, our_cluster),
    "kafka": (KAFKA, apache_cluster),
}


class Rows:
    """All rows, filled round by round."""

    def __init__(self, chosen: argparse.Namespace, client_cpus: frozenset[int]) -> None:
        self._chosen = chosen
        self._client_cpus = client_cpus
        self.rows: dict[str, Comparison] = {}

    def round(self, system: System) -> None:
        parts = {"producers": self._producers, "readers": self._readers, "copying": self._copying}
        for part in self._chosen.parts:
            parts[part](system)

    def _row(self, system: System, row: Comparison, value: float) -> None:
        self.rows.setdefault(row.name, row).add(system.name, value)
        print(f"  {system.name}: {row.name}: {value:,.3f} {row.unit}", flush=True)

    def _producers(self, system: System) -> None:
        for count in PRODUCERS:
            for records in SIZES:
                taken = loads.producers(
                    system,
                    self._client_cpus,
                    count=count,
                    records=records,
                    seconds=self._chosen.seconds,
                )
                load = f"{count} x {records} records"
                rate = Comparison(f"{load}: transactions", "per s", higher_is_better=True)
                self._row(system, rate, taken.per_s)
                self._row(system, Comparison(f"{load}: commit p50", "ms"), taken.commit_p50_ms)
                self._row(system, Comparison(f"{load}: commit p99", "ms"), taken.commit_p99_ms)

    def _readers(self, system: System) -> None:
        taken = loads.added_by_read_committed(
            system, transactions=self._chosen.transactions, pause_s=0.005
        )
        at_once = Comparison("send to read_uncommitted p50", "ms", judged=False)
        self._row(system, at_once, 1e3 * taken.read_uncommitted_s)
        self._row(
            system, Comparison("send to read_committed p50", "ms"), 1e3 * taken.read_committed_s
        )
        added_ms = 1e3 * (taken.read_committed_s - taken.read_uncommitted_s)
        self._row(system, Comparison("added by read_committed", "ms"), added_ms)

    def _copying(self, system: System) -> None:
        taken = loads.copying(
            system,
            self._client_cpus,
            written=self._chosen.copied,
            batch=500,
            seconds=self._chosen.seconds,
        )
        rate = Comparison("consume-transform-produce", "records/s", higher_is_better=True)
        self._row(system, rate, taken.records_per_s)


def main(argv: Sequence[str] | None = None) -> int:
    chosen = _arguments(argv)
    cpus = sorted(os.sched_getaffinity(0))
    server_cpus, client_cpus = frozenset(cpus[:1]), frozenset(cpus[1:] or cpus)
    os.sched_setaffinity(0, client_cpus)
    rows = Rows(chosen, client_cpus)
    with tempfile.TemporaryDirectory(prefix="bench-txn-") as home, ExitStack() as stopped:
        systems: list[System] = []
        for choice in chosen.systems:
            name, make = SYSTEMS[choice]
            system = make(name, Path(home) / choice, server_cpus, NODES)
            stopped.callback(system.stop)
            systems.append(system)
            print(f"{system.name}: {system.version}")
        print("warm-up, not counted", flush=True)
        for system in systems:
            Rows(chosen, client_cpus).round(system)
        for number in range(1, chosen.rounds + 1):
            print(f"round {number} of {chosen.rounds}", flush=True)
            for system in systems:
                rows.round(system)
    found = list(rows.rows.values())
    print()
    print(table(found))
    if chosen.json:
        chosen.json.write_text(json.dumps([asdict(row) for row in found], indent=1))
    return int(any(row.is_behind for row in found))


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each load")
    parser.add_argument("--transactions", type=int, default=200, help="that two readers wait for")
    parser.add_argument("--copied", type=int, default=300_000, help="records in the input topic")
    parser.add_argument("--json", type=Path, help="write all takings here")
    return parser.parse_args(argv)


if __name__ == "__main__":
    raise SystemExit(main())
