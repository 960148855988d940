"""Our broker, Apache Kafka, librdkafka's mock cluster and the physical ceilings under one load.

.venv/bin/python bench/broker.py [--quick] [--rows TEXT ...] [--ramp] [--json F] [--plot F]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import confluent_kafka

from bench.apache_kafka import KafkaUnavailableError
from bench.cold_reads import SCANNED, run_cold_rows
from bench.loads.frames import batch
from bench.loads.messages import values
from bench.measure import LoadError
from bench.memory import Growth, measure_growth
from bench.ramp import Step, ramp
from bench.rounds import Measured, Plan, run_row
from bench.rows import APACHE, CEILING, MOCK, OURS, RECORDS_PER_MB, ROWS, Row
from bench.systems import (
    SETTINGS,
    Apache,
    OurBroker,
    System,
    bare_sendfile,
    bare_sink,
    mock_cluster,
)
from bench.systems.server_process import ServerError
from bench.table import as_json, memory_table, table

# One core for the server and another for the client, whichever this process may use.
_USABLE = sorted(os.sched_getaffinity(0))
SERVER_CPUS, CLIENT_CPUS = frozenset(_USABLE[:1]), frozenset(_USABLE[-1:])
MEMORY_ROW = "RSS growth"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few rows and short rounds")
    parser.add_argument("--rows", nargs="+", default=[""], help="only rows whose name has this")
    parser.add_argument("--client", choices=["librdkafka", "raw", "both"], default="both")
    parser.add_argument("--systems", nargs="+", default=[OURS, APACHE, MOCK, CEILING])
    parser.add_argument("--storage", nargs="+", default=["tmpfs", "disk"])
    parser.add_argument("--disk", type=Path, default=Path.cwd(), help="a directory on a disk")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, help="how long one round carries its load")
    parser.add_argument("--ramp", action="store_true", help="raise the load until each breaks")
    parser.add_argument("--json", type=Path, help="write all samples here")
    parser.add_argument("--plot", type=Path, help="write a picture here (PNG)")
    return parser.parse_args()


def about(systems: Sequence[System], plan: Plan) -> dict[str, object]:
    model = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    return {
        "machine": f"{model[0] if model else platform.processor()}, {len(model)} CPUs",
        "kernel": platform.release(),
        "python": platform.python_version(),
        "clients": f"confluent-kafka {confluent_kafka.__version__}, "
        f"librdkafka {confluent_kafka.libversion()[0]}; raw: prepared frames, 5 in flight",
        "systems": {one.name: one.version for one in systems},
        "settings of both brokers": dict(SETTINGS),
        "server CPUs": sorted(SERVER_CPUS),
        "client CPUs": sorted(CLIENT_CPUS),
        "rounds": plan.rounds,
        "seconds per round": plan.seconds,
    }


@contextmanager
def started(names: Sequence[str], home: Path) -> Iterator[dict[str, System]]:
    """All the brokers at once: an idle one costs nothing, and taking turns needs them all."""
    with ExitStack() as stack:
        running: dict[str, System] = {}
        if OURS in names:
            running[OURS] = OurBroker(home / "ours", SERVER_CPUS)
            stack.callback(running[OURS].stop)
        if APACHE in names:
            running[APACHE] = Apache(home / "apache", SERVER_CPUS)
            stack.callback(running[APACHE].stop)
        if MOCK in names:
            running[MOCK] = mock_cluster(SERVER_CPUS)
            stack.callback(running[MOCK].stop)
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


def wanted(row: Row, chosen: argparse.Namespace) -> bool:
    return (
        any(text in row.name for text in chosen.rows)
        and (row.quick or not chosen.quick)
        and chosen.client in ("both", row.client)
    )


@dataclass
class Findings:
    about: dict[str, object] = field(default_factory=dict)
    measured: list[Measured] = field(default_factory=list)
    growths: list[Growth] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)


def run_storage(
    storage: str, home: Path, chosen: argparse.Namespace, plan: Plan, found: Findings
) -> None:
    with started(chosen.systems, home) as running:
        found.about = about(list(running.values()), plan)
        if storage == "disk" and wanted(SCANNED, chosen):
            cold_bytes = 500_000_000 if chosen.quick else 2_000_000_000
            found.measured += run_cold_rows(list(running.values()), plan, cold_bytes)
        for row in ROWS:
            quick_skip = chosen.quick and storage == "disk" and "tmpfs" in row.storages
            if not wanted(row, chosen) or storage not in row.storages or quick_skip:
                continue
            with ExitStack() as stack:
                taking_part = [running[name] for name in row.systems if name in running]
                # What stores nothing is as fast on a disk as elsewhere: measured once.
                if storage == "disk":
                    taking_part = [one for one in taking_part if one.logs is not None]
                elif CEILING in row.systems and CEILING in chosen.systems:
                    taking_part.append(stack.enter_context(ceiling(row, home)))
                found.measured += run_row(row, taking_part, storage, plan)
        if storage == "tmpfs" and any(text in MEMORY_ROW for text in chosen.rows):
            last = 1_200_000_000 if chosen.quick else 4_000_000_000
            for name in (OURS, APACHE):
                if name in running:
                    growth = measure_growth(running[name], storage, plan, 400_000_000, last)
                    found.growths.append(growth)
        if chosen.ramp and storage == "tmpfs":
            for system in running.values():
                found.steps += ramp(system, plan)


def stop_by_signal(number: int, _: FrameType | None) -> None:
    raise KeyboardInterrupt(f"signal {number}")


def run() -> None:
    chosen = arguments()
    # Whichever way this ends, the servers are stopped and their directories removed.
    signal.signal(signal.SIGTERM, stop_by_signal)
    signal.signal(signal.SIGINT, stop_by_signal)
    begun = time.monotonic()

    def say(text: str) -> None:
        print(f"[{time.monotonic() - begun:5.0f} s] {text}", file=sys.stderr, flush=True)

    seconds = chosen.seconds or (0.7 if chosen.quick else 1.5)
    plan = Plan(max(1, chosen.rounds), seconds, 2 if chosen.quick else 6, CLIENT_CPUS, say)
    found = Findings()
    homes = {"tmpfs": Path("/dev/shm"), "disk": chosen.disk}  # noqa: S108
    for storage in chosen.storage:
        with tempfile.TemporaryDirectory(prefix="bench-", dir=homes[storage]) as home:
            run_storage(storage, Path(home), chosen, plan, found)
    report(found, chosen)


def report(found: Findings, chosen: argparse.Namespace) -> None:
    for name, value in found.about.items():
        print(f"{name}: {value}")
    for storage in dict.fromkeys(one.storage for one in found.measured):
        print(f"\n{storage}\n{table(found.measured, storage)}")
    if found.growths:
        print(f"\n{MEMORY_ROW}\n{memory_table(found.growths)}")
    if chosen.json:
        whole = as_json(found.about, found.measured, found.growths, found.steps)
        chosen.json.write_text(json.dumps(whole, indent=1))
    if chosen.plot:
        from bench.plot import plot

        plot(found.measured, chosen.plot)


def main() -> None:
    try:
        run()
    except (KafkaUnavailableError, ServerError, LoadError) as error:
        raise SystemExit(f"bench: {error}") from None
    except KeyboardInterrupt:
        raise SystemExit("bench: interrupted; the servers are stopped") from None
