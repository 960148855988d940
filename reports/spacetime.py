"""A simulated run around a moment: nodes as lanes, messages as arrows, faults as bands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from reports.faults import Band
from reports.lanes import width_of
from reports.strip import WIDTH, Mark, Scale, Tick
from reports.traced import Fate, Message, Trace
from reports.wording import seconds

_TOP, _LANE = 40.0, 44.0
_FIRST_NS = 2_500_000
_MESSAGES_MAX = 80
_EVENTS_MAX = 40
_LINE = 12.0
_LOST_SHARE = 0.45
"""How far towards its receiver a message is drawn that does not arrive."""
COLOURS = {
    "election": ("Vote", "PreVote", "BeginQuorumEpoch", "EndQuorumEpoch", "DescribeQuorum"),
    "replication": ("Fetch", "OffsetsForLeaderEpoch", "ListOffsets"),
    "control": ("AlterPartition", "ElectLeaders", "BrokerRegistration", "UnregisterBroker"),
    "heartbeat": ("BrokerHeartbeat", "Heartbeat"),
}
"""Kinds of messages between nodes that have a colour of their own; all others are `other`."""


@dataclass(frozen=True, slots=True)
class Arrow:
    x1: float
    y1: float
    x2: float
    y2: float
    is_lost: bool
    is_reply: bool
    colour: str
    """Name of the class of its kind: elections, replication, ..."""
    label: str
    """The kind of message; empty where there is no room for it."""
    label_x: float
    label_y: float
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
    labels_y: float
    lanes: tuple[tuple[str, float], ...]
    ticks: tuple[Tick, ...]
    bands: tuple[Mark, ...]
    arrows: tuple[Arrow, ...]
    has_lost: bool
    """Whether some messages do not arrive."""
    kinds: tuple[tuple[str, str], ...]
    """Of the messages that are shown: the kind's colour, and its messages with their counts."""
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
    marks = scale.bands(bands)
    return SpaceTime(
        from_ns=from_ns,
        to_ns=to_ns,
        at_x=scale.x(at_ns),
        height=_TOP + _LANE * len(hosts) + 13 * max((each.label_lane for each in marks), default=0),
        lanes=tuple(lane_y.items()),
        ticks=scale.ticks(),
        labels_y=_TOP + _LANE * len(hosts) - 4,
        bands=marks,
        arrows=tuple(_labelled([_arrow(each, scale, lane_y) for each in messages])),
        has_lost=any(each.fate is not Fate.ARRIVED for each in messages),
        kinds=_kinds(messages),
        points=tuple(
            Point(scale.x(each.time_ns), lane_y[each.node],
                  f"{each.node} {each.what} at {seconds(each.time_ns)}")
            for each in trace.events(from_ns, to_ns)[:_EVENTS_MAX]
            if each.node in lane_y
        ),
    )  # fmt: skip


def colour_of(api: str) -> str:
    return next((colour for colour, apis in COLOURS.items() if api in apis), "other")


def _arrow(message: Message, scale: Scale, lane_y: dict[str, float]) -> Arrow:
    y1, y2 = lane_y[message.sender], lane_y[message.receiver]
    x1 = scale.x(message.sent_ns)
    if message.fate is Fate.ARRIVED:
        ended = min(message.ended_ns, scale.to_ns)
        share = (ended - message.sent_ns) / max(1, message.ended_ns - message.sent_ns)
        x2 = scale.x(ended)
    else:
        share, x2 = _LOST_SHARE, min(x1 + 6, WIDTH)
    end_y = round(y1 + (y2 - y1) * share, 1)
    return Arrow(
        x1=x1,
        y1=y1,
        x2=x2,
        y2=end_y,
        is_lost=message.fate is not Fate.ARRIVED,
        is_reply=message.is_reply,
        colour=colour_of(message.api),
        label=_kind(message),
        label_x=round(min((x1 + x2) / 2 + 4, WIDTH - width_of(_kind(message))), 1),
        label_y=round((y1 + end_y) / 2 + 4, 1),
        told=_fields(message),
    )


def _kind(message: Message) -> str:
    return f"{message.api} reply" if message.is_reply else message.api


def _fields(message: Message) -> str:
    said = [f"{_kind(message)} {message.sender} → {message.receiver}"]
    said.append(f"sent {seconds(message.sent_ns)}")
    match message.fate:
        case Fate.ARRIVED:
            said.append(f"arrives at {seconds(message.ended_ns)}")
        case Fate.LOST:
            said.append(f"lost: {message.why}" if message.why else "lost")
        case Fate.HELD:
            said.append(f"held back by {message.why or 'a cut'}")
    if message.correlation_id is not None:
        said.append(f"correlation id {message.correlation_id}")
    if message.connection:
        said.append(f"connection {message.connection}")
    return ", ".join(said)


def _labelled(arrows: Sequence[Arrow]) -> Iterator[Arrow]:
    """Each with its label as far as there is room: requests before replies, which look alike."""
    taken: list[tuple[float, float, float]] = []
    has_room = set[int]()
    for arrow in sorted(arrows, key=lambda each: (each.is_reply, each.label_x)):
        end = arrow.label_x + width_of(arrow.label)
        is_free = all(
            abs(arrow.label_y - y) >= _LINE or end < begin or arrow.label_x > until
            for begin, until, y in taken
        )
        if is_free:
            taken.append((arrow.label_x, end, arrow.label_y))
            has_room.add(id(arrow))
    for arrow in arrows:
        yield arrow if id(arrow) in has_room else replace(arrow, label="")


def _kinds(messages: Sequence[Message]) -> tuple[tuple[str, str], ...]:
    counted = Counter(each.api for each in messages)
    return tuple((colour_of(api), f"{api} ({count})") for api, count in counted.most_common())
