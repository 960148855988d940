"""Where does each system break? Connections and offered load are doubled until one does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bench.measure import CLIENT_BOUND_SHARE, LoadError, cpu_s, rss_bytes, worker
from bench.rounds import Plan, topic
from bench.rows import PARTITIONS
from bench.systems import System

CONNECTIONS = (1, 10, 100, 1_000, 2_000, 4_000, 8_000, 16_000)
RATES = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000)
# A step is passed while this much of what was offered is done and nobody waits longer.
DONE_SHARE = 0.95
LATENCY_LIMIT_US = 1_000_000
STEP_SECONDS = 3.0


@dataclass(frozen=True)
class Step:
    system: str
    what: str
    size: int
    messages_per_s: float
    p99_us: float
    server_share: float
    client_share: float
    rss_mib: float
    broke: str

    def __str__(self) -> str:
        state = f"BROKE: {self.broke}" if self.broke else "ok"
        return (
            f"{self.what} {self.size:>7,}: {self.messages_per_s:>9,.0f} msg/s, "
            f"p99 {self.p99_us / 1000:>8,.1f} ms, server CPU {self.server_share:>4.0%}, "
            f"client CPU {self.client_share:>4.0%}, RSS {self.rss_mib:,.0f} MiB, {state}"
        )


def ramp(system: System, plan: Plan) -> list[Step]:
    """Prints each step as it ends; the last of a kind is where the system broke."""
    steps: list[Step] = []
    print(f"\nramp: {system.name}")
    for what, sizes in (("connections", CONNECTIONS), ("offered msg/s", RATES)):
        for size in sizes:
            step = _step(system, plan, what, size)
            steps.append(step)
            print(f"  {step}", flush=True)
            if step.broke:
                break
        else:
            print(f"  {what}: not broken at {sizes[-1]:,}")
    return steps


def _step(system: System, plan: Plan, what: str, size: int) -> Step:
    load: dict[str, Any] = {"partitions": PARTITIONS, "seconds": STEP_SECONDS}
    if what == "connections":
        load |= {"load": "crowd", "connections": size}
    else:
        load |= {"load": "open loop", "rate": size}
    try:
        with topic(system, PARTITIONS) as name:
            load |= {"bootstrap": system.bootstrap, "topic": name}
            with worker(load, plan.client_cpus) as client:
                before_s = cpu_s(system.pids)
                client.go()
                result = client.result()
                used_s = cpu_s(system.pids) - before_s
    except LoadError as error:
        rss_mib = rss_bytes(system.pids) / 2**20
        return Step(system.name, what, size, 0, 0, 0, 0, rss_mib, str(error)[-200:])
    done = result["messages"] / result["seconds"]
    client_share = result["client_cpu_s"] / result["seconds"]
    broke = ""
    if result["p99_us"] > LATENCY_LIMIT_US:
        broke = "p99 above a second"
    elif what != "connections" and done < DONE_SHARE * size:
        broke = f"only {done / size:.0%} of the offered load was done"
    if broke and client_share >= CLIENT_BOUND_SHARE:
        broke += ", with the client as the limit"
    return Step(
        system=system.name,
        what=what,
        size=size,
        messages_per_s=done,
        p99_us=result["p99_us"],
        server_share=used_s / result["seconds"],
        client_share=client_share,
        rss_mib=rss_bytes(system.pids) / 2**20,
        broke=broke,
    )
