"""A simulated run around a moment: nodes as lanes, messages as arrows, faults as bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reports.faults import Band
from reports.strip import Mark, Scale, Tick
from reports.traced import Message, Trace
from reports.wording import seconds

_TOP, _LANE = 40.0, 44.0
_FIRST_NS = 2_500_000
_MESSAGES_MAX = 80
_EVENTS_MAX = 40


@dataclass(frozen=True, slots=True)
class Arrow:
    x1: float
    y1: float
    x2: float
    y2: float
    is_lost: bool
    told: str


@dataclass(frozen=True, slots=True)
class Point:
    x: float
    y: float
    told: str


@dataclass(frozen=True, slots=True)
class SpaceTime:
    from_ns: int
    to_ns: int
    at_x: float
    height: float
    lanes: tuple[tuple[str, float], ...]
    ticks: tuple[Tick, ...]
    bands: tuple[Mark, ...]
    arrows: tuple[Arrow, ...]
    points: tuple[Point, ...]


def spacetime(
    trace: Trace, hosts: Sequence[str], bands: Sequence[Band], at_ns: int
) -> SpaceTime | None:
    """As much time as there is room for messages; None if none was under way."""
    half_ns = _FIRST_NS
    messages: list[Message] = []
    while True:
        messages = trace.messages(at_ns - half_ns, at_ns + half_ns, hosts)
        if len(messages) > 30 or half_ns >= 2_000_000_000:
            break
        half_ns *= 2
    if not messages:
        return None
    if len(messages) > _MESSAGES_MAX:
        middle = min(range(len(messages)), key=lambda n: abs(messages[n].sent_ns - at_ns))
        first = max(0, middle - _MESSAGES_MAX // 2)
        messages = messages[first : first + _MESSAGES_MAX]
    from_ns = min(at_ns, *(each.sent_ns for each in messages))
    to_ns = max(at_ns, *(each.sent_ns for each in messages)) + 1_000_000
    scale = Scale(from_ns, to_ns)
    lane_y = {host: _TOP + _LANE * number for number, host in enumerate(hosts)}
    return SpaceTime(
        from_ns=from_ns,
        to_ns=to_ns,
        at_x=scale.x(at_ns),
        height=_TOP + _LANE * len(hosts),
        lanes=tuple(lane_y.items()),
        ticks=scale.ticks(),
        bands=tuple(
            scale.mark(each.begin_ns, each.end_ns, each.label)
            for each in bands
            if each.end_ns >= from_ns and each.begin_ns <= to_ns
        ),
        arrows=tuple(_arrow(each, scale, lane_y) for each in messages),
        points=tuple(
            Point(scale.x(each.time_ns), lane_y[each.node],
                  f"{each.node} {each.what} at {seconds(each.time_ns)}")
            for each in trace.events(from_ns, to_ns)[:_EVENTS_MAX]
            if each.node in lane_y
        ),
    )  # fmt: skip


def _arrow(message: Message, scale: Scale, lane_y: dict[str, float]) -> Arrow:
    arrived = min(message.arrived_ns, scale.to_ns)
    share = (arrived - message.sent_ns) / max(1, message.arrived_ns - message.sent_ns)
    y1, y2 = lane_y[message.sender], lane_y[message.receiver]
    end = "lost" if message.is_lost else f"arrives at {seconds(message.arrived_ns)}"
    told = f"{message.api} {message.sender} → {message.receiver}, sent {seconds(message.sent_ns)}"
    return Arrow(
        scale.x(message.sent_ns),
        y1,
        scale.x(arrived),
        round(y1 + (y2 - y1) * share, 1),
        message.is_lost,
        f"{told}, {end}",
    )
