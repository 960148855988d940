"""How far each node's wall clock was off, as the nemesis set it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.history.op import Op

_KINDS = ("clock_jump", "clock_skew", "clock_strobe")
_FLICKERS_MAX = 500
Points = list[tuple[int, float]]
"""When, and how many seconds ahead; between two of them the clock gains evenly."""


@dataclass(slots=True)
class _Clock:
    points: Points = field(default_factory=lambda: [(0, 0.0)])
    offset_s: float = 0.0
    rate: float = 1.0
    since_ns: int = 0

    def at(self, time_ns: int) -> float:
        return self.offset_s + (self.rate - 1) * (time_ns - self.since_ns) / 1e9

    def set(self, time_ns: int, offset_s: float, rate: float) -> None:
        self.points += [(time_ns, self.at(time_ns)), (time_ns, offset_s)]
        self.offset_s, self.rate, self.since_ns = offset_s, rate, time_ns

    def strike(self, time_ns: int, fault: Mapping[str, Any]) -> None:
        if fault["kind"] == "clock_skew":
            self.set(time_ns, self.at(time_ns), float(fault["rate"]))
        else:
            self.set(time_ns, self.at(time_ns) + float(fault["by_ms"]) / 1000, self.rate)

    def flicker(self, until_ns: int, fault: Mapping[str, Any]) -> None:
        """To and fro, since it was struck."""
        by_s, period_ns = float(fault["by_ms"]) / 1000, int(float(fault["period_ms"]) * 1e6)
        for _ in range(_FLICKERS_MAX):
            time_ns = self.since_ns + period_ns
            if period_ns <= 0 or time_ns >= until_ns:
                return
            by_s = -by_s
            self.set(time_ns, self.at(time_ns) + by_s, self.rate)


def as_set(rows: Iterable[Op], end_ns: int) -> dict[str, Points]:
    """By node, of those whose clock was ever struck. `rows` are the nemesis's own, in order."""
    clocks: dict[str, _Clock] = {}
    chosen: dict[str, Mapping[str, Any]] = {}
    in_force: dict[str, Mapping[str, Any]] = {}
    for op in rows:
        value = op.value if isinstance(op.value, Mapping) else {}
        fault = chosen.get(str(value.get("fault")))
        if value.get("kind") in _KINDS:
            chosen[str(value["name"])] = value
        elif fault is not None and "proof" in value:
            in_force[str(value["fault"])] = fault
            clocks.setdefault(str(fault["node"]), _Clock()).strike(op.time_ns, fault)
        elif fault is not None and str(value["fault"]) in in_force:
            if value.get("healed"):
                del in_force[str(value["fault"])]
                _heal(clocks, in_force, op.time_ns)
            elif fault["kind"] == "clock_strobe" and "failed" not in value:
                clocks[str(fault["node"])].flicker(op.time_ns, fault)
    for clock in clocks.values():
        clock.points.append((end_ns, clock.at(end_ns)))
    return {node: clock.points for node, clock in sorted(clocks.items())}


def _heal(
    clocks: Mapping[str, _Clock], in_force: Mapping[str, Mapping[str, Any]], time_ns: int
) -> None:
    """Clocks are healed all together, and those of other faults struck again."""
    for clock in clocks.values():
        if clock.rate != 1.0 or clock.offset_s != 0.0:
            clock.set(time_ns, 0.0, 1.0)
    for fault in in_force.values():
        if fault["kind"] != "clock_strobe":
            clocks[str(fault["node"])].strike(time_ns, fault)
