"""How many operations a second the harness itself can record, and how many with real clients.

.venv/bin/python bench/harness.py [--operations N] [--seconds N] [--clients N] [--real N]
                                  [--partitioned N]

The ceiling: worker processes whose client answers at once, so that nothing is measured but the
harness: drawing operations, stamps, pipes, counts, the history on disk. Memory of the recording
process is looked at all along and must stay flat. With real clients: three local brokers, clients
that go as fast as they can. Partitioned: what `harness test --on netns --nemesis partition` does by
default, five hosts and bursts of records; needs root. There the memory of the client workers must
stay flat as well; 150 seconds are enough to tell.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from harness.client.base import ClientSettings
from harness.cluster.local import LocalPlace
from harness.history.recorder import Recorder
from harness.run.plan import Plan
from harness.run.run import execute
from harness.run.tally import Tally
from harness.run.watching import Silent, Snapshot
from harness.run.worker_clients import WorkerClients
from harness.store.store import Store

BAR_PER_S = 20_000
AIM_PER_S = 50_000
ACKNOWLEDGED_BAR_PER_S = 5_000
"""Records a second that real clients have acknowledged while hosts are cut off."""
FLAT_MB = 32.0
_MB = 1 << 20
_WORKER = "harness.run.worker"
"""Module that a client worker runs, an argument of its command."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    operations: int
    seconds: float
    memory_mb: list[tuple[int, float]]
    """Operations so far, and what the recording process held then."""
    history_mb: float

    @property
    def per_s(self) -> float:
        return self.operations / self.seconds

    @property
    def growth_mb(self) -> float:
        """From a fifth of the way, when everything has been allocated once, to the end."""
        later = [each for done, each in self.memory_mb if done >= self.operations / 5]
        return later[-1] - later[0]


async def instant(directory: Path, clients: int, operations: int, seconds: float) -> Ceiling:
    """Ends with the first of the two limits."""
    plan = Plan(client="instant", concurrency=clients, rate=0, seed=1, burst=1)
    tally = Tally(Recorder(directory / "history"), time.monotonic_ns())
    workers = WorkerClients(
        LocalPlace(directory), plan, ClientSettings(bootstrap="nobody:9092"), tally, directory
    )
    me, memory = psutil.Process(), []

    async def watch() -> None:
        while True:
            await asyncio.sleep(0.5)
            tally.flush()
            memory.append((tally.counts.completed, me.memory_info().rss / _MB))
            if tally.counts.completed >= operations:
                workers.stop()

    try:
        await workers.open()
        begun = time.perf_counter()
        watching = asyncio.create_task(watch())
        await workers.load(seconds)
        taken = time.perf_counter() - begun
        watching.cancel()
    finally:
        await workers.close()
        tally.close()
    size = sum(each.stat().st_size for each in (directory / "history").rglob("*") if each.is_file())
    return Ceiling(tally.counts.completed, taken, memory, size / _MB)


def real(directory: Path, client: str, seconds: float) -> dict[str, int]:
    plan = Plan(on="local", nodes=3, concurrency=6, rate=0, time_limit_s=seconds, client=client)
    outcome = execute(plan, Store(directory), Silent())
    print(f"  {client}: {outcome.sentence()}")
    return {name: outcome.figures[name] for name in ("ok", "fail", "info")}


@dataclass(slots=True)
class MemoryUnderLoad(Silent):
    """Samples the memory of this process, which records, and of its client workers together, about
    once a second of the load."""

    load_s: float
    memory_mb: list[float] = field(default_factory=list)
    workers_mb: list[float] = field(default_factory=list)

    def tick(self, now: Snapshot) -> None:
        # Reading back ticks as well, against a time limit of its own.
        if now.of_s == self.load_s:
            self.memory_mb.append(psutil.Process().memory_info().rss / _MB)
            self.workers_mb.append(_workers_mb())

    @property
    def growth_mb(self) -> float:
        later = self.memory_mb[len(self.memory_mb) // 5 :]
        return later[-1] - later[0]

    @property
    def workers_at_quarters_mb(self) -> list[float]:
        last = len(self.workers_mb) - 1
        return [self.workers_mb[last * quarter // 4] for quarter in (1, 2, 3, 4)]

    @property
    def workers_growth_mb(self) -> float:
        """Over the second half: before it, logs are too short to fill what a client reads ahead."""
        _, half, _, end = self.workers_at_quarters_mb
        return end - half


def _workers_mb() -> float:
    """RSS of all client workers. One that ends meanwhile has none."""
    total = 0
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if _WORKER in child.cmdline():
                total += child.memory_info().rss
    return total / _MB


def partitioned(directory: Path, seconds: float) -> bool:
    """Prints how many records a second were acknowledged, and says whether they are enough."""
    watcher = MemoryUnderLoad(load_s=seconds)
    plan = Plan(on="netns", nemesis="partition", time_limit_s=seconds, seed=7)
    outcome = execute(plan, Store(directory), watcher)
    per_s = outcome.figures["acknowledged"] / seconds
    is_kept = per_s >= ACKNOWLEDGED_BAR_PER_S
    is_flat = watcher.growth_mb <= FLAT_MB
    print(f"partitioned: {plan.command()}: {outcome.sentence()}")
    print(
        f"  {per_s:,.0f} records/s acknowledged over {seconds:g} s "
        f"(bar {ACKNOWLEDGED_BAR_PER_S:,}: {'kept' if is_kept else 'MISSED'}); memory "
        f"{watcher.memory_mb[-1]:.0f} MB, {watcher.growth_mb:+.1f} MB over the last four fifths "
        f"({'flat' if is_flat else 'GROWS'}); load average {os.getloadavg()[0]:.1f}"
    )
    quarters = ", ".join(f"{each:.0f}" for each in watcher.workers_at_quarters_mb)
    are_flat = watcher.workers_growth_mb <= FLAT_MB
    print(
        f"  {plan.concurrency} client workers together: {quarters} MB after each quarter, "
        f"{watcher.workers_growth_mb:+.1f} MB over the second half "
        f"({'flat' if are_flat else 'GROWS'})"
    )
    return is_kept and is_flat and are_flat


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--operations", type=int, default=5_000_000)
    parser.add_argument("--seconds", type=float, default=600.0, help="at the most")
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--real", type=float, default=20.0, help="seconds with real clients, or 0")
    parser.add_argument(
        "--partitioned", type=float, default=0.0, help="seconds on netns hosts under partitions"
    )
    chosen = parser.parse_args()
    print(f"python {platform.python_version()}, {psutil.cpu_count()} cores")
    with tempfile.TemporaryDirectory(prefix="log-trial-bench-") as made:
        directory = Path(made)
        ceiling = asyncio.run(instant(directory, chosen.clients, chosen.operations, chosen.seconds))
        bar = "kept" if ceiling.per_s >= BAR_PER_S else "MISSED"
        flat = "flat" if ceiling.growth_mb <= FLAT_MB else "GROWS"
        print(
            f"instant client, {chosen.clients} workers: {ceiling.operations:,} operations in "
            f"{ceiling.seconds:.1f} s: {ceiling.per_s:,.0f} op/s "
            f"(bar {BAR_PER_S:,}: {bar}; aim {AIM_PER_S:,})"
        )
        print(
            f"memory: {ceiling.memory_mb[-1][1]:.0f} MB at the end, "
            f"{ceiling.growth_mb:+.1f} MB over the last four fifths ({flat}); "
            f"history {ceiling.history_mb:.0f} MB"
        )
        for client in ("confluent", "aiokafka") if chosen.real else ():
            counts = real(directory / "store", client, chosen.real)
            print(f"  {sum(counts.values()) / chosen.real:,.0f} op/s, {counts}")
        is_enough = not chosen.partitioned or partitioned(directory / "store", chosen.partitioned)
    return 0 if bar == "kept" and flat == "flat" and is_enough else 1


if __name__ == "__main__":
    sys.exit(main())
