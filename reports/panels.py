"""Proofs as small pictures: a partition by offset, and a cycle as a ring."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.history.op import TYPES
from reports.calls import RECORD, Calls
from reports.wording import short

_AROUND = 3
_OPS_MAX = 300


@dataclass(frozen=True, slots=True)
class Column:
    offset: int
    is_guilty: bool
    sent: str
    """How the send ended that was told this offset; nothing if there was none."""
    values: tuple[tuple[str, bool], ...]
    """What anybody put or saw there, and whether anybody read it."""
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
    corners: tuple[Corner, ...]
    edges: tuple[Edge, ...]


def ring(witness: Mapping[str, Any], because: str) -> Ring | None:
    """A cycle of transactions: corners in its order, each edge with its reason."""
    nodes, steps = witness.get("cycle"), witness.get("steps")
    if not isinstance(nodes, list) or not isinstance(steps, list) or len(nodes) != len(steps) + 1:
        return None
    corners: dict[int, Corner] = {}
    distinct = list(dict.fromkeys(nodes))
    for number, index in enumerate(distinct):
        angle = 2 * math.pi * number / len(distinct) - math.pi / 2
        x, y = (round(v, 1) for v in (200 + 118 * math.cos(angle), 150 + 108 * math.sin(angle)))
        corners[index] = Corner(f"T{number + 1}", index, x, y)
    reasons = _reasons(because, len(steps))
    edges = tuple(
        _edge(number, step, corners[one], corners[other], reason)
        for number, (step, one, other, reason) in enumerate(
            zip(steps, nodes, nodes[1:], reasons, strict=False), 1
        )
    )
    return Ring(tuple(corners.values()), edges)


def _reasons(because: str, count: int) -> Sequence[str]:
    """The checker's sentence, step by step."""
    told = because.partition(": ")[2].removesuffix(": a contradiction")
    reasons = [each.strip().removeprefix("however ") for each in told.split("; ")]
    return reasons if len(reasons) == count else [""] * count


def _edge(number: int, step: Any, one: Corner, other: Corner, reason: str) -> Edge:
    dx, dy = other.x - one.x, other.y - one.y
    length = math.hypot(dx, dy) or 1.0
    ux, uy = dx / length, dy / length
    # Beside the line, so that two edges between the same corners do not lie on each other.
    sx, sy = -uy * 7, ux * 7
    return Edge(
        kind=str(step.get("type", "?")) if isinstance(step, Mapping) else "?",
        reason=reason,
        number=number,
        ops=(one.index, other.index),
        x1=round(one.x + ux * 26 + sx, 1),
        y1=round(one.y + uy * 26 + sy, 1),
        x2=round(other.x - ux * 30 + sx, 1),
        y2=round(other.y - uy * 30 + sy, 1),
        label_x=round((one.x + other.x) / 2 + sx * 3, 1),
        label_y=round((one.y + other.y) / 2 + sy * 3 + 4, 1),
    )
