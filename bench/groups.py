"""Consumer groups of our broker against those of Apache Kafka: `python bench/groups.py`.

One run, one node each, the systems take turns within a round. It measures what a killed member
costs by rebalance strategy, commits per second, and a group with a thousand members. Servers have
one core and clients the other. A row is level when the medians differ by no more than the printed
spread, which is half the distance between the extremes. Exit code 1: a row is behind.

.venv/bin/python bench/groups.py [--rounds N] [--parts failover commits members] [--json F]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import group_failover, group_members, offset_commits
from bench.compared import Comparison, table
from bench.systems import Apache, OurBroker, System

PARTS = ("failover", "commits", "members")
SYSTEMS: Mapping[str, Callable[..., Any]] = {"ours": OurBroker, "kafka": Apache}


class Groups:
    """All rows, filled round by round."""

    def __init__(self, chosen: argparse.Namespace, client_cpus: frozenset[int]) -> None:
        self._chosen = chosen
        self._client_cpus = client_cpus
        self.rows: dict[str, Comparison] = {}

    def round(self, system: System) -> None:
        for part in self._chosen.parts:
            {"failover": self._failover, "commits": self._commits, "members": self._members}[part](
                system
            )

    def _row(self, system: System, row: Comparison, value: float) -> None:
        self.rows.setdefault(row.name, row).add(system.name, value)
        print(f"  {system.name}: {row.name}: {value:,.3f} {row.unit}", flush=True)

    def _failover(self, system: System) -> None:
        for strategy in self._chosen.strategies:
            taken = group_failover.measure(system, strategy, self._client_cpus)
            name = f"{strategy}: kill to served again"
            if strategy == "static":
                self._row(system, Comparison(f"{name} (restarted)", "s"), taken.served_again_s)
            else:
                beyond_s = taken.served_again_s - group_failover.SESSION_S
                self._row(system, Comparison(name, "s", judged=False), taken.served_again_s)
                self._row(system, Comparison(f"{strategy}: beyond the session", "s"), beyond_s)
            self._row(
                system, Comparison(f"{strategy}: pause of the others", "s"), taken.others_paused_s
            )

    def _commits(self, system: System) -> None:
        for one_group in (False, True):
            taken = offset_commits.measure(
                system, self._chosen.connections, self._chosen.seconds, one_group=one_group
            )
            where = "one group" if one_group else "a group per connection"
            rate = Comparison(f"commits, {where}", "per s", higher_is_better=True)
            self._row(system, rate, taken.per_s)
            cost = Comparison(f"CPU of a commit, {where}", "us")
            self._row(system, cost, taken.cpu_us_each)

    def _members(self, system: System) -> None:
        count = self._chosen.members
        taken = asyncio.run(group_members.measure(system, count, self._chosen.seconds))
        for name, cost in (("join", taken.join), ("rebalance", taken.rebalance)):
            what = f"{count:,} members {name}"
            self._row(system, Comparison(f"{what}: time to stable", "s"), cost.seconds)
            self._row(system, Comparison(f"{what}: CPU", "s"), cost.cpu_s)
        beat = Comparison(f"CPU of a heartbeat of {count:,}", "us")
        self._row(system, beat, taken.heartbeats.cpu_us_each)
        grown = Comparison(f"memory for {count:,} members", "MB")
        self._row(system, grown, taken.memory_bytes / 1e6)


def main(argv: Sequence[str] | None = None) -> int:
    chosen = _arguments(argv)
    cpus = sorted(os.sched_getaffinity(0))
    server_cpus, client_cpus = frozenset(cpus[:1]), frozenset(cpus[1:] or cpus)
    os.sched_setaffinity(0, client_cpus)
    groups = Groups(chosen, client_cpus)
    makers = [SYSTEMS[name] for name in chosen.systems]
    with tempfile.TemporaryDirectory(prefix="bench-groups-") as home, ExitStack() as stopped:
        systems: list[System] = []
        for number, make in enumerate(makers):
            system = make(
                Path(home) / str(number), server_cpus, own_settings=group_failover.SETTINGS
            )
            stopped.callback(system.stop)
            systems.append(system)
            print(f"{system.name}: {system.version}")
        for number in range(1, chosen.rounds + 1):
            print(f"round {number} of {chosen.rounds}", flush=True)
            for system in systems:
                groups.round(system)
    rows = list(groups.rows.values())
    print()
    print(table(rows))
    if chosen.json:
        chosen.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    return int(any(row.is_behind for row in rows))


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    strategies = list(group_failover.STRATEGIES)
    parser.add_argument("--strategies", nargs="+", choices=strategies, default=strategies)
    parser.add_argument("--members", type=int, default=1000, help="of the large group")
    parser.add_argument("--connections", type=int, default=50, help="that commit")
    parser.add_argument("--seconds", type=float, default=5.0, help="of commits and of heartbeats")
    parser.add_argument("--json", type=Path, help="write all takings here")
    return parser.parse_args(argv)


if __name__ == "__main__":
    raise SystemExit(main())
