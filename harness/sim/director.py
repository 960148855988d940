"""Carries out a schedule's faults at their times, and ends them at theirs.

It acts as the world does, between the events of all processes. A fault that could not take hold (a
node that is down cannot be killed) leaves a row that says so.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Sequence
from typing import assert_never

from harness.schedule.faults import (
    CLIENTS,
    ClockJump,
    ClockSkew,
    Cut,
    DiskError,
    DiskFull,
    DiskReadOnly,
    DiskSlow,
    Fault,
    Kill,
    Links,
    Pause,
    PowerLoss,
    ShapeLinks,
    SlowLinks,
    Stop,
    kind_of,
)
from harness.schedule.schedule import ScheduleError
from harness.sim.links import Slowness
from harness.sim.nodes import SimCluster

_NS_PER_MS = 1_000_000

_OF_MACHINES = (
    Kill,
    PowerLoss,
    Stop,
    Pause,
    Cut,
    SlowLinks,
    ShapeLinks,
    ClockJump,
    ClockSkew,
    DiskFull,
    DiskSlow,
    DiskError,
    DiskReadOnly,
)

Undo = Callable[[], None]


def check_playable(faults: Iterable[Fault]) -> None:
    """ScheduleError for a fault that takes somebody who asks the brokers, as a nemesis does."""
    for fault in faults:
        if not isinstance(fault, _OF_MACHINES):
            raise ScheduleError(
                f"fault {fault.name!r}: a {kind_of(fault)} is for a run with a nemesis; "
                "play it with harness test --on sim --schedule"
            )
        if any(CLIENTS in link for link in getattr(fault, "links", ())):
            raise ScheduleError(
                f"fault {fault.name!r}: each client has a host of its own here; name those"
            )


class Director:
    def __init__(self, cluster: SimCluster) -> None:
        self._cluster = cluster
        self._simulation = cluster.simulation
        self.carried_out: dict[str, int] = {}
        """How many faults of each kind took hold."""
        self.took_hold: dict[str, None] = {}
        """The names of those that did."""

    def plan(self, faults: Sequence[Fault]) -> None:
        check_playable(faults)
        for fault in faults:
            at_ns = int(fault.at_ms * _NS_PER_MS)
            self._simulation.loop.call_kernel(at_ns, self._begin, fault)

    def _begin(self, fault: Fault) -> None:
        loop, trace = self._simulation.loop, self._simulation.trace
        kind = kind_of(fault)
        node = getattr(fault, "node", "")
        row = loop.cause = trace.emit("fault", node, detail=f"{fault.name}: {kind}")
        undo = self._do(fault)
        if undo is None:
            trace.emit("fault", node, detail=f"{fault.name}: missed, {node} is down")
            return
        self.took_hold[fault.name] = None
        self.carried_out[kind] = self.carried_out.get(kind, 0) + 1
        if fault.for_ms is not None:
            until_ns = loop.now_ns + int(fault.for_ms * _NS_PER_MS)
            loop.call_kernel(until_ns, self._end, (fault, row, undo))

    def _end(self, ended: tuple[Fault, int, Undo]) -> None:
        fault, row, undo = ended
        self._simulation.loop.cause = self._simulation.trace.emit(
            "heal", getattr(fault, "node", ""), detail=f"{fault.name}: {kind_of(fault)}", cause=row
        )
        undo()

    def _do(self, fault: Fault) -> Undo | None:
        match fault:
            case Kill() | PowerLoss() | Stop() | Pause():
                return self._to_process(fault)
            case Cut() | SlowLinks() | ShapeLinks():
                return self._to_links(fault)
            case ClockJump(node=name, by_ms=by_ms):
                clock = self._cluster[name].clock
                clock.jump(by_ms)
                return lambda: clock.jump(-by_ms)
            case ClockSkew(node=name, rate=rate):
                return self._cluster[name].clock.skew(rate)
            case DiskFull() | DiskSlow() | DiskError() | DiskReadOnly():
                return self._to_disk(fault)
            case _:
                raise AssertionError(f"nobody knows how to do {fault!r}")

    def _to_process(self, fault: Kill | PowerLoss | Stop | Pause) -> Undo | None:
        node = self._cluster[fault.node]
        match fault:
            case Kill():
                if not node.kill():
                    return None
                return node.end_outage
            case PowerLoss(torn=torn):
                if not node.power_loss(torn=torn):
                    return None
                return node.end_outage
            case Stop():
                if not node.begin_stop():
                    return None
                return node.end_outage
            case Pause():
                if not node.pause():
                    return None
                life = node.life
                return lambda: node.resume(life)
            case _:
                assert_never(fault)

    def _to_links(self, fault: Cut | SlowLinks | ShapeLinks) -> Undo:
        links = [self._simulation.network.link(*pair) for pair in _distinct(fault.links)]
        if isinstance(fault, Cut):
            for link in links:
                link.cut()

            def heal() -> None:
                for link in links:
                    link.heal()

            return heal
        by = _slowness(fault)
        for link in links:
            link.slow_down(by)

        def speed_up() -> None:
            for link in links:
                link.speed_up(by)

        return speed_up

    def _to_disk(self, fault: DiskFull | DiskSlow | DiskError | DiskReadOnly) -> Undo:
        disks = self._cluster[fault.node].disk_faults
        match fault:
            case DiskFull(spare_bytes=spare_bytes):
                return disks.fill(spare_bytes)
            case DiskSlow(extra_ms=extra_ms, operation=operation, path=path):
                return disks.slow(extra_ms / 1000, operation, path)
            case DiskError(error=name, operation=operation, path=path):
                return disks.fail(operation, path, getattr(errno, name))
            case DiskReadOnly():
                return disks.make_read_only()
            case _:
                assert_never(fault)


def _slowness(fault: SlowLinks | ShapeLinks) -> Slowness:
    if isinstance(fault, SlowLinks):
        return Slowness(
            extra_ns=int(fault.extra_ms * _NS_PER_MS),
            factor=fault.factor,
            bytes_per_s=fault.bytes_per_s,
        )
    return Slowness(
        extra_ns=int(fault.delay_ms * _NS_PER_MS),
        jitter_ns=int(fault.jitter_ms * _NS_PER_MS),
        late_share=1 - (1 - fault.loss) * (1 - fault.corrupt),
        overtaking_share=fault.reorder,
        bytes_per_s=fault.bytes_per_s,
    )


def _distinct(links: Links) -> Links:
    return tuple(dict.fromkeys(links))
