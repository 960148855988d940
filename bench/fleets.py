"""Starts the systems that take turns in a row, and carries all their rows on one storage.

Single brokers run together, then the clusters that are compared, then ours in several sizes.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.cold_reads import SCANNED, run_cold_rows
from bench.loads.frames import batch
from bench.loads.messages import values
from bench.memory import Growth, measure_growth
from bench.ramp import Step, ramp
from bench.rounds import Measured, Plan, run_row
from bench.rows import (
    APACHE,
    APACHE_X3,
    CEILING,
    MOCK,
    OURS,
    OURS_TRUSTING,
    OURS_X1,
    OURS_X3,
    OURS_X5,
    RECORDS_PER_MB,
    ROWS,
    Row,
)
from bench.systems import Apache, OurBroker, System, bare_sendfile, bare_sink, mock_cluster
from bench.systems.clusters import apache_cluster, our_cluster

# One core for the servers and another for the client, whichever this process may use.
_USABLE = sorted(os.sched_getaffinity(0))
SERVER_CPUS, CLIENT_CPUS = frozenset(_USABLE[:1]), frozenset(_USABLE[-1:])
MEMORY_ROW = "RSS growth"

SYSTEMS: Mapping[str, Callable[[Path], System]] = {
    OURS: lambda home: OurBroker(home, SERVER_CPUS),
    OURS_TRUSTING: lambda home: OurBroker(
        home,
        SERVER_CPUS,
        name=OURS_TRUSTING,
        own_settings={"log.record.validation.enable": "false"},
    ),
    APACHE: lambda home: Apache(home, SERVER_CPUS),
    MOCK: lambda _: mock_cluster(SERVER_CPUS),
    OURS_X1: lambda home: our_cluster(OURS_X1, home, SERVER_CPUS, 1),
    OURS_X3: lambda home: our_cluster(OURS_X3, home, SERVER_CPUS, 3),
    OURS_X5: lambda home: our_cluster(OURS_X5, home, SERVER_CPUS, 5),
    APACHE_X3: lambda home: apache_cluster(APACHE_X3, home, SERVER_CPUS, 3),
}
SINGLES = (OURS, OURS_TRUSTING, APACHE, MOCK)
FLEETS = (SINGLES, (OURS_X3, APACHE_X3), (OURS_X1, OURS_X3, OURS_X5))


@dataclass
class Findings:
    versions: dict[str, str] = field(default_factory=dict)
    measured: list[Measured] = field(default_factory=list)
    growths: list[Growth] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)


@contextmanager
def started(names: Sequence[str], home: Path) -> Iterator[dict[str, System]]:
    """All the brokers at once: an idle one costs next to nothing, and taking turns needs them."""
    with ExitStack() as stack:
        running: dict[str, System] = {}
        for name in names:
            running[name] = SYSTEMS[name](home / name.replace(" ", "-"))
            stack.callback(running[name].stop)
        yield running


@contextmanager
def ceiling(row: Row, home: Path) -> Iterator[System]:
    if row.filled:
        records = batch(values(RECORDS_PER_MB), row.filled_codec)
        stand = bare_sendfile(home, SERVER_CPUS, records)
    else:
        stand = bare_sink(SERVER_CPUS)
    try:
        yield stand
    finally:
        stand.stop()


@dataclass(frozen=True)
class StorageRun:
    """Everything that was chosen and can be measured on one storage."""

    storage: str
    home: Path
    chosen: argparse.Namespace
    plan: Plan
    found: Findings

    def run(self) -> None:
        for number, fleet in enumerate(FLEETS):
            rows = [row for row in ROWS if self._is_due(row, fleet)]
            names = [name for name in fleet if name in self.chosen.systems]
            is_single = fleet is SINGLES
            if not names or not (rows or (is_single and self._has_more_of_singles())):
                continue
            with started(names, self.home / str(number)) as running:
                self.found.versions |= {name: one.version for name, one in running.items()}
                compared = {name: one for name, one in running.items() if name != OURS_TRUSTING}
                if is_single and self._is_cold_due():
                    self._run_cold(compared)
                for row in rows:
                    self._run_row(row, running)
                if is_single and self._is_memory_due():
                    self._run_memory(compared)
                if is_single and self._is_ramp_due():
                    for system in compared.values():
                        self.found.steps += ramp(system, self.plan)

    def _wants(self, row: Row) -> bool:
        return (
            any(text in row.name for text in self.chosen.rows)
            and (row.quick or not self.chosen.quick)
            and self.chosen.client in ("both", row.client)
        )

    def _is_due(self, row: Row, fleet: tuple[str, ...]) -> bool:
        is_skipped = self.chosen.quick and self.storage == "disk" and "tmpfs" in row.storages
        is_here = self.storage in row.storages and not is_skipped
        return row.is_carried_by(fleet) and self._wants(row) and is_here

    def _has_more_of_singles(self) -> bool:
        return self._is_cold_due() or self._is_memory_due() or self._is_ramp_due()

    def _is_cold_due(self) -> bool:
        return self.storage == "disk" and self._wants(SCANNED)

    def _is_memory_due(self) -> bool:
        return self.storage == "tmpfs" and any(text in MEMORY_ROW for text in self.chosen.rows)

    def _is_ramp_due(self) -> bool:
        return self.storage == "tmpfs" and self.chosen.ramp is True

    def _run_cold(self, running: Mapping[str, System]) -> None:
        cold_bytes = 500_000_000 if self.chosen.quick else 2_000_000_000
        self.found.measured += run_cold_rows(list(running.values()), self.plan, cold_bytes)

    def _run_row(self, row: Row, running: Mapping[str, System]) -> None:
        with ExitStack() as stack:
            taking_part = [running[name] for name in row.systems if name in running]
            # What stores nothing is as fast on a disk as elsewhere: measured once.
            if self.storage == "disk":
                taking_part = [one for one in taking_part if one.logs]
            elif CEILING in row.systems and CEILING in self.chosen.systems:
                taking_part.append(stack.enter_context(ceiling(row, self.home)))
            self.found.measured += run_row(row, taking_part, self.storage, self.plan)

    def _run_memory(self, running: Mapping[str, System]) -> None:
        last = 1_200_000_000 if self.chosen.quick else 4_000_000_000
        for name in (OURS, APACHE):
            if name in running:
                system = running[name]
                growth = measure_growth(system, self.storage, self.plan, 400_000_000, last)
                self.found.growths.append(growth)
