"""Our broker, Apache Kafka, librdkafka's mock cluster and the physical ceilings under one load.

.venv/bin/python bench/broker.py [--quick] [--rows TEXT ...] [--ramp] [--json F] [--plot F]

--rows cluster: three nodes of ours against three of Apache Kafka, and ours on 1, 3 and 5 nodes.
"""

from __future__ import annotations

import argparse
import json
import platform
import signal
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType

import confluent_kafka

from bench.apache_kafka import KafkaUnavailableError
from bench.fleets import CLIENT_CPUS, MEMORY_ROW, SERVER_CPUS, SYSTEMS, Findings, StorageRun
from bench.free_memory import Ballast
from bench.measure import LoadError
from bench.rounds import Plan
from bench.rows import CEILING, CLUSTER_PARTITIONS
from bench.systems import SETTINGS
from bench.systems.clusters import REPLICAS_MAX
from bench.systems.server_process import ServerError
from bench.table import as_json, memory_table, table


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a few rows and short rounds")
    parser.add_argument("--rows", nargs="+", default=[""], help="only rows whose name has this")
    parser.add_argument("--client", choices=["librdkafka", "raw", "both"], default="both")
    parser.add_argument("--systems", nargs="+", default=[*SYSTEMS, CEILING])
    parser.add_argument("--storage", nargs="+", default=["tmpfs", "disk"])
    parser.add_argument("--disk", type=Path, default=Path.cwd(), help="a directory on a disk")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, help="how long one round carries its load")
    parser.add_argument("--ramp", action="store_true", help="raise the load until each breaks")
    parser.add_argument("--json", type=Path, help="write all samples here")
    parser.add_argument("--plot", type=Path, help="write a picture here (PNG)")
    return parser.parse_args()


def about(plan: Plan, found: Findings) -> dict[str, object]:
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
        "systems": found.versions,
        "settings of both brokers": dict(SETTINGS),
        "topics of a cluster": f"{CLUSTER_PARTITIONS} partitions, replication factor "
        f"{REPLICAS_MAX} and min.insync.replicas 2; of one node: 1 and 1",
        "CPU, size and RSS of a cluster": "sums over all its nodes",
        "server CPUs": sorted(SERVER_CPUS),
        "client CPUs": sorted(CLIENT_CPUS),
        "rounds": plan.rounds,
        "seconds per round": plan.seconds,
    }


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
    plan = Plan(
        rounds=max(1, chosen.rounds),
        seconds=seconds,
        warm_rounds_max=2 if chosen.quick else 12,
        client_cpus=CLIENT_CPUS,
        say=say,
        ballast=Ballast(seconds),
    )
    found = Findings()
    homes = {"tmpfs": Path("/dev/shm"), "disk": chosen.disk}  # noqa: S108
    for storage in chosen.storage:
        with tempfile.TemporaryDirectory(prefix="bench-", dir=homes[storage]) as home:
            StorageRun(storage, Path(home), chosen, plan, found).run()
    report(about(plan, found), found, chosen)


def report(known: dict[str, object], found: Findings, chosen: argparse.Namespace) -> None:
    for name, value in known.items():
        print(f"{name}: {value}")
    for storage in dict.fromkeys(one.storage for one in found.measured):
        print(f"\n{storage}\n{table(found.measured, storage)}")
    if found.growths:
        print(f"\n{MEMORY_ROW}\n{memory_table(found.growths)}")
    if chosen.json:
        whole = as_json(known, found.measured, found.growths, found.steps)
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
