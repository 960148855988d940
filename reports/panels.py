"""Proofs as small pictures: a partition by offset, and a cycle as a ring."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.history.op import TYPES
from reports.calls import RECORD, Calls
from reports.wording import short

_AROUND = 3
_OPS_MAX = 300
_CORNERS_OF_A_SMALL_RING = 8
"""A ring of more corners has smaller ones, and no labels on its edges."""


@dataclass(frozen=True, slots=True)
class Column:
    offset: int
    is_guilty: bool
    sent: str
    """Outcome of the send that was acknowledged at this offset; empty if there was none."""
    values: tuple[tuple[str, bool], ...]
    """Each value that was sent or read there, and whether it was read."""
    read: int
    """How many polls returned it."""


@dataclass(frozen=True, slots=True)
class Offsets:
    key: str
    columns: tuple[Column, ...]


def offsets_panel(calls: Calls, witness: Mapping[str, Any]) -> Offsets | None:
    """The offsets around the one in question; None where there is none."""
    at = witness.get("offset", next(iter(_listed(witness.get("offsets"))), None))
    key = witness.get("key")
    if not isinstance(at, int) or key not in calls.history.keys:
        return None
    number = list[Any](calls.history.keys).index(key)
    elements = calls.elements
    low, high = max(0, at - _AROUND), at + _AROUND
    near = np.flatnonzero(
        (elements.key == number) & (elements.offset >= low) & (elements.offset <= high)
    )
    guilty = {at, *_listed(witness.get("offsets"))}
    values = _values(calls, near, key, low, high)
    columns = []
    for offset in range(low, high + 1):
        own = near[elements.offset[near] == offset]
        is_record = elements.kind[own] == RECORD
        sends = own[~is_record]
        types = {TYPES[int(calls.rows.type[row])] for row in elements.row[sends].tolist()}
        columns.append(
            Column(
                offset=offset,
                is_guilty=offset in guilty,
                sent=next((name for name in ("ok", "info", "fail") if name in types), ""),
                values=tuple(values.get(offset, {}).items()),
                read=int(np.sum(is_record)),
            )
        )
    return Offsets(str(key), tuple(columns))


def _listed(value: Any) -> list[int]:
    return [each for each in value if isinstance(each, int)] if isinstance(value, list) else []


def _values(calls: Calls, near: Any, key: Any, low: int, high: int) -> dict[int, dict[str, bool]]:
    """By offset, each value that anybody put or saw there; more than one is an anomaly itself."""
    found: dict[int, dict[str, bool]] = {}
    for row in sorted(set(calls.elements.row[near].tolist()))[:_OPS_MAX]:
        op = calls.history.op(int(calls.rows.index[row]))
        for micro in op.value if isinstance(op.value, list) else ():
            match micro:
                case ["send" | "put", where, [int() as offset, value]] if where == key:
                    placed = [[offset, value]]
                case ["poll", Mapping() as read]:
                    placed = read.get(key, [])
                case _:
                    placed = []
            for offset, value in placed:
                if low <= offset <= high:
                    own = found.setdefault(offset, {})
                    own[short(value)] = own.get(short(value), False) or micro[0] == "poll"
    return found


@dataclass(frozen=True, slots=True)
class Corner:
    name: str
    index: int
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Edge:
    kind: str
    label: str
    """Its kind; empty where there is no room for it."""
    reason: str
    number: int
    ops: tuple[int, int]
    x1: float
    y1: float
    x2: float
    y2: float
    label_x: float
    label_y: float


@dataclass(frozen=True, slots=True)
class Ring:
    size: float
    """Width and height."""
    corner: float
    """Radius of the circle at a corner."""
    corners: tuple[Corner, ...]
    edges: tuple[Edge, ...]


def ring(witness: Mapping[str, Any]) -> Ring | None:
    """A cycle of transactions: corners in its order, each edge with its reason."""
    nodes, steps = witness.get("cycle"), witness.get("steps")
    if not isinstance(nodes, list) or not isinstance(steps, list) or len(nodes) != len(steps) + 1:
        return None
    distinct = list(dict.fromkeys(nodes))
    is_small = len(distinct) <= _CORNERS_OF_A_SMALL_RING
    corner = 22.0 if is_small else 15.0
    radius = 108.0 if is_small else len(distinct) * (2 * corner + 14) / (2 * math.pi)
    middle = radius + 2 * corner
    corners: dict[int, Corner] = {}
    for number, index in enumerate(distinct):
        angle = 2 * math.pi * number / len(distinct) - math.pi / 2
        x, y = middle + radius * math.cos(angle), middle + radius * math.sin(angle)
        name = f"T{number + 1}" if is_small else str(number + 1)
        corners[index] = Corner(name, index, round(x, 1), round(y, 1))
    edges = tuple(
        _edge(number, step, corners[one], corners[other], corner, has_label=is_small)
        for number, (step, one, other) in enumerate(zip(steps, nodes, nodes[1:], strict=False), 1)
    )
    return Ring(round(2 * middle, 1), corner, tuple(corners.values()), edges)


def _edge(
    number: int, step: Any, one: Corner, other: Corner, corner: float, *, has_label: bool
) -> Edge:
    dx, dy = other.x - one.x, other.y - one.y
    length = math.hypot(dx, dy) or 1.0
    ux, uy = dx / length, dy / length
    # Beside the line, so that two edges between the same corners do not lie on each other.
    sx, sy = (-uy * 7, ux * 7) if has_label else (0.0, 0.0)
    step = step if isinstance(step, Mapping) else {}
    kind = str(step.get("type", "?"))
    return Edge(
        kind=kind,
        label=kind if has_label else "",
        reason=str(step.get("because", "")),
        number=number,
        ops=(one.index, other.index),
        x1=round(one.x + ux * corner + sx, 1),
        y1=round(one.y + uy * corner + sy, 1),
        x2=round(other.x - ux * (corner + 4) + sx, 1),
        y2=round(other.y - uy * (corner + 4) + sy, 1),
        label_x=round((one.x + other.x) / 2 + sx * 3, 1),
        label_y=round((one.y + other.y) / 2 + sy * 3 + 4, 1),
    )
