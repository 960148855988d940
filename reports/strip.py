"""The strip of real time around an anomaly: calls as bars, faults and leaders behind them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harness.history.op import TYPES
from reports.calls import Calls, Ints
from reports.faults import Band
from reports.lanes import lanes_of, width_of
from reports.leading import Reign
from reports.wording import cut, outcome

LEFT, WIDTH = 64.0, 1060.0
_TOP, _LANE = 46.0, 24.0
_WIDEST_NS, _NARROWEST_NS = 2_500_000_000, 50_000_000
_LANES_MAX = 12
_LINE = 13.0
_STEPS_NS = (10**6, 10**7, 5 * 10**7, 10**8, 5 * 10**8,
             *(each * 10**9 for each in (1, 2, 5, 10, 30, 60, 300, 600, 3600)))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bar:
    """A call. Times are kept beside the place, so that a script can draw it at another scale."""

    begin_ns: int
    end_ns: int
    x: float
    width: float
    y: float
    type: str
    label: str
    index: int
    is_guilty: bool
    has_room: bool
    """Whether its label fits inside."""
    is_left: bool
    """Whether a label beside it stands on its left, because there is more room."""


@dataclass(frozen=True, slots=True)
class Mark:
    begin_ns: int
    end_ns: int
    x: float
    width: float
    label: str
    label_x: float = 0.0
    label_lane: int = 0
    has_room: bool = True
    """Whether its label fits inside."""


@dataclass(frozen=True, slots=True)
class Tick:
    x: float
    label: str


@dataclass(frozen=True, slots=True)
class Strip:
    from_ns: int
    to_ns: int
    at_ns: int
    at_x: float
    height: float
    labels_y: float
    """Where the first line of the faults' labels is."""
    label_lanes: int
    ticks: tuple[Tick, ...]
    bands: tuple[Mark, ...]
    reigns: tuple[Mark, ...]
    lanes: tuple[tuple[str, float], ...]
    bars: tuple[Bar, ...]
    left_out: int
    """How many calls of that time are not shown."""


@dataclass(frozen=True, slots=True)
class Around:
    """What a strip is about."""

    at_ns: int
    guilty: Sequence[int]
    """The anomaly's calls."""
    near: Sequence[int]
    """Calls on the same partition."""
    key: Any = None
    offset: Any = None
    """Of the record in question, if there is one."""
    change_ns: int | None = None
    """The change of leader behind it, which is always in the picture."""


def strip(
    calls: Calls, around: Around, bands: Sequence[Band], reigns: Iterable[Reign], most: int
) -> Strip:
    at_ns, guilty, change_ns = around.at_ns, around.guilty, around.change_ns
    from_ns, to_ns = _window(calls, at_ns, most)
    if change_ns is not None:
        margin_ns = max(_NARROWEST_NS, abs(change_ns - at_ns) // 3)
        from_ns = max(0, min(from_ns, change_ns - margin_ns))
        to_ns = max(to_ns, change_ns + margin_ns)
    scale = Scale(from_ns, to_ns)
    shown = _chosen(calls, guilty, around.near, from_ns, to_ns, most)
    processes = _lanes(calls, guilty, shown)
    lane_of = {process: number for number, process in enumerate(processes)}
    bars = tuple(
        _bar(calls, call, scale, lane_of[int(calls.process[call])], around)
        for call in shown
        if int(calls.process[call]) in lane_of
    )
    marks = scale.bands(bands)
    label_lanes = max((each.label_lane for each in marks), default=0) + 1
    labels_y = _TOP + _LANE * len(processes) + 13
    within = (calls.end_ns >= from_ns) & (calls.begin_ns <= to_ns)
    return Strip(
        from_ns=from_ns,
        to_ns=to_ns,
        at_ns=at_ns,
        at_x=scale.x(at_ns),
        height=labels_y + _LINE * label_lanes,
        labels_y=labels_y,
        label_lanes=label_lanes,
        ticks=scale.ticks(),
        bands=marks,
        reigns=tuple(
            scale.mark(each.begin_ns, each.end_ns, f"{each.node} leads, epoch {each.epoch}")
            for each in reigns
            if each.end_ns >= from_ns and each.begin_ns <= to_ns
        ),
        lanes=tuple((f"p{process}", _TOP + _LANE * number) for process, number in lane_of.items()),
        bars=bars,
        left_out=max(0, int(np.sum(within)) - len(bars)),
    )


@dataclass(frozen=True, slots=True)
class Scale:
    from_ns: int
    to_ns: int
    left: float = LEFT
    """Where time begins; names stand before it."""

    def x(self, time_ns: int) -> float:
        share = (time_ns - self.from_ns) / (self.to_ns - self.from_ns)
        return round(self.left + share * (WIDTH - self.left), 1)

    def mark(self, begin_ns: int, end_ns: int, label: str) -> Mark:
        begin, end = max(begin_ns, self.from_ns), min(end_ns, self.to_ns)
        x = self.x(begin)
        width = max(1.0, round(self.x(end) - x, 1))
        has_room = width > width_of(label) + 8
        return Mark(begin_ns, end_ns, x, width, label, x + 5, has_room=has_room)

    def bands(self, bands: Iterable[Band]) -> tuple[Mark, ...]:
        """Faults of this time, their labels in lines so that none lies on another."""
        marks = [
            self.mark(each.begin_ns, each.end_ns, each.label)
            for each in bands
            if each.end_ns >= self.from_ns and each.begin_ns <= self.to_ns
        ]
        places = [
            round(max(self.left, min(mark.x + 5, WIDTH - width_of(mark.label))), 1)
            for mark in marks
        ]
        lanes = lanes_of([
            (at, at + width_of(mark.label)) for mark, at in zip(marks, places, strict=True)
        ])  # fmt: skip
        return tuple(
            replace(mark, label_x=at, label_lane=lane)
            for mark, at, lane in zip(marks, places, lanes, strict=True)
        )

    def ticks(self) -> tuple[Tick, ...]:
        length = self.to_ns - self.from_ns
        step = next((each for each in _STEPS_NS if length / each <= 12), length)
        digits = 0 if step >= 10**9 else 1 if step >= 10**8 else 2 if step >= 10**7 else 3
        first = -(-self.from_ns // step) * step
        found = (
            Tick(self.x(at), f"{at / 1e9:.{digits}f} s") for at in range(first, self.to_ns, step)
        )
        # One that would stick out is not worth its place.
        return tuple(tick for tick in found if tick.x + width_of(tick.label) <= WIDTH)


def _window(calls: Calls, at_ns: int, most: int) -> tuple[int, int]:
    """As wide as there is room for all that went on, so that a gap means silence."""
    half_ns = _WIDEST_NS
    while half_ns > _NARROWEST_NS:
        is_in = (calls.end_ns >= at_ns - half_ns) & (calls.begin_ns <= at_ns + half_ns)
        if np.sum(is_in) <= most:
            break
        half_ns = half_ns * 4 // 5
    return max(0, at_ns - half_ns), at_ns + half_ns


def _chosen(
    calls: Calls, guilty: Sequence[int], near: Sequence[int], from_ns: int, to_ns: int, most: int
) -> list[int]:
    """The guilty always, then those of the same partition, then whatever was going on."""
    own = {call for call in guilty if _is_within(calls, call, from_ns, to_ns)}
    related = [call for call in near if _is_within(calls, call, from_ns, to_ns)]
    around: Ints = np.flatnonzero((calls.end_ns >= from_ns) & (calls.begin_ns <= to_ns))
    # All over the time that is shown: what is left out must not look like silence.
    thinned = around[:: max(1, -(-len(around) // most))]
    for call in (*related, *thinned.tolist(), *around.tolist()):
        if len(own) >= most:
            break
        own.add(call)
    return sorted(own)


def _is_within(calls: Calls, call: int, from_ns: int, to_ns: int) -> bool:
    return bool(calls.end_ns[call] >= from_ns and calls.begin_ns[call] <= to_ns)


def _lanes(calls: Calls, guilty: Sequence[int], shown: Sequence[int]) -> list[int]:
    own = {int(calls.process[call]) for call in guilty}
    counted: dict[int, int] = {}
    for call in shown:
        process = int(calls.process[call])
        counted[process] = counted.get(process, 0) + 1
    ranked = sorted(counted, key=lambda process: (process not in own, -counted[process], process))
    return sorted(ranked[:_LANES_MAX])


def _bar(calls: Calls, call: int, scale: Scale, lane: int, around: Around) -> Bar:
    op = calls.told(call)
    is_guilty = call in around.guilty
    begin_ns, end_ns = int(calls.begin_ns[call]), int(calls.end_ns[call])
    mark = scale.mark(begin_ns, end_ns, "")
    type_ = TYPES[int(calls.type[call])]
    said = outcome(op, around.key, around.offset) if is_guilty else outcome(op)
    error = f" {op.error}" if op.error else ""
    label = cut(f"{op.f} {said}{error}", 120)
    x, width = mark.x, max(2.0, mark.width)
    is_left = x + width + 5 + width_of(label) > WIDTH and x - LEFT > WIDTH - x - width
    return Bar(
        begin_ns=begin_ns,
        end_ns=end_ns,
        x=x,
        width=width,
        y=_TOP + _LANE * lane,
        type=type_,
        label=label,
        index=int(op.index),
        is_guilty=is_guilty,
        has_room=mark.width > width_of(label) + 8,
        is_left=is_left,
    )
