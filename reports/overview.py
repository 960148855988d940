"""The whole run on one time axis: faults, leaders, the members of consumer groups, and causes.

Leaders are shown for the partitions of the causes; without causes, for those that changed leaders.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reports.causes import Cause
from reports.lanes import lanes_of, width_of
from reports.leading import Leading
from reports.material import Material
from reports.member_lanes import GroupLanes, group_lanes, names_of
from reports.strip import LEFT, WIDTH, Scale, Tick
from reports.wording import cut

_TOP, _LANE = 24.0, 20.0
_KEYS_MAX = 8
_NAME_MAX = 24
_NEAR = 10.0
"""Causes that are closer than that share a mark."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A fault or a reign, with its label beside its begin."""

    x: float
    width: float
    y: float
    label: str
    label_x: float
    title: str


@dataclass(frozen=True, slots=True)
class Moment:
    """Where causes lie: the change of leader behind them, or their first operation."""

    x: float
    label: str
    label_x: float
    label_y: float


@dataclass(frozen=True, slots=True)
class Overview:
    height: float
    ticks: tuple[Tick, ...]
    faults: tuple[Piece, ...]
    rows: tuple[tuple[str, float], ...]
    """Names at the left, with their heights."""
    reigns: tuple[Piece, ...]
    moments: tuple[Moment, ...]
    left: float = LEFT
    """Where time begins; names stand before it."""
    groups: tuple[GroupLanes, ...] = ()
    groups_y: float = 0.0


def overview(material: Material, found: Sequence[Cause]) -> Overview | None:
    """`found` in the order of the page. None if there is no time to be shown."""
    if material.calls is None or not material.calls.end_of_all_ns:
        return None
    leading = material.leading or Leading()
    keys = list(dict.fromkeys(each.records.key for each in found if each.records is not None))
    keys = keys or [key for key in sorted(leading.reigns) if leading.changes(key)]
    keys = [each for each in keys if leading.of_key(each)][:_KEYS_MAX]
    names = [cut(key, _NAME_MAX) for key in keys]
    left = max([LEFT, *(width_of(name) + 6 for name in (*names, *names_of(material.groups)))])
    scale = Scale(0, material.calls.end_of_all_ns, left)
    faults, y = _faults(material, scale)
    rows = [("faults", _TOP)] if faults else []
    reigns: list[Piece] = []
    for key, name in zip(keys, names, strict=True):
        rows.append((name, y))
        reigns += _reigns(leading, key, scale, y)
        y += _LANE
    groups, below = group_lanes(material.groups, scale, y + 4)
    groups_y, y = y, below if groups else y
    moments = _moments(found, scale, y)
    height = max([y, *(each.label_y + 6 for each in moments)])
    return Overview(
        height, scale.ticks(), faults, tuple(rows), tuple(reigns), moments, left, groups, groups_y
    )


def _faults(material: Material, scale: Scale) -> tuple[tuple[Piece, ...], float]:
    marks = [scale.mark(each.begin_ns, each.end_ns, each.label) for each in material.bands]
    places = [_label_x(scale, mark.x + 4, mark.label) for mark in marks]
    lanes = lanes_of([
        (min(mark.x, at), max(mark.x + mark.width, at + width_of(mark.label)))
        for mark, at in zip(marks, places, strict=True)
    ])  # fmt: skip
    pieces = tuple(
        Piece(mark.x, mark.width, _TOP + _LANE * lane, mark.label, at,
              f"{mark.label}, {mark.begin_ns / 1e9:.1f} s to {mark.end_ns / 1e9:.1f} s"
              + (f": {band.proof}" if band.proof else ""))
        for mark, at, lane, band in zip(marks, places, lanes, material.bands, strict=True)
    )  # fmt: skip
    return pieces, _TOP + _LANE * (max(lanes, default=-1) + 1) + 4


def _reigns(leading: Leading, key: str, scale: Scale, y: float) -> list[Piece]:
    pieces = []
    for each in leading.of_key(key):
        mark = scale.mark(max(0, each.begin_ns), max(0, each.end_ns), each.node)
        said = f"{each.node} leads {key} in epoch {each.epoch}"
        label = each.node if width_of(each.node) + 6 < mark.width else ""
        title = f"{said}, {each.begin_ns / 1e9:.1f} s to {each.end_ns / 1e9:.1f} s"
        pieces.append(Piece(mark.x, mark.width, y, label, mark.x + 4, title))
    return pieces


def _moments(found: Sequence[Cause], scale: Scale, y: float) -> tuple[Moment, ...]:
    at = sorted((scale.x(time_ns), number) for time_ns, number in _times(found))
    together: list[tuple[float, list[int]]] = []
    for x, number in at:
        if together and x - together[-1][0] < _NEAR:
            together[-1][1].append(number)
        else:
            together.append((x, [number]))
    xs = [x for x, _ in together]
    labels = [f"↑ {', '.join(map(str, sorted(set(numbers))))}" for _, numbers in together]
    places = [_label_x(scale, x - 4, label) for x, label in zip(xs, labels, strict=True)]
    lanes = lanes_of([
        (place, place + width_of(label)) for place, label in zip(places, labels, strict=True)
    ])  # fmt: skip
    return tuple(
        Moment(x, label, place, y + 12 + 14 * lane)
        for x, label, place, lane in zip(xs, labels, places, lanes, strict=True)
    )


def _times(found: Sequence[Cause]) -> Iterator[tuple[int, int]]:
    """When each cause did its harm, with its number."""
    for number, cause in enumerate(found, 1):
        for loss in cause.more:
            yield loss.change.time_ns, number
        times = [each.at_ns for each in cause.findings if each.at_ns is not None]
        if cause.change is not None:
            yield cause.change.time_ns, number
        elif times:
            yield min(times), number


def _label_x(scale: Scale, x: float, label: str) -> float:
    """Beside its begin, unless it would stick out."""
    return round(max(scale.left, min(x, WIDTH - width_of(label))), 1)
