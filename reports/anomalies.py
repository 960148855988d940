"""Anomalies as a page shows them: by cause in one sentence each, and by kind with their proofs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from checkers.contract import Promise
from reports import faults
from reports.call_rows import Call, call_row
from reports.calls import Calls
from reports.causes import Cause, Placed
from reports.leading import Leading
from reports.limits import Limits
from reports.material import Material
from reports.panels import Offsets, Ring, offsets_panel, ring
from reports.spacetime import SpaceTime, spacetime
from reports.stories import said, story
from reports.strip import Around, Strip, strip
from reports.wording import cut, seconds

_PROOFS_MAX = 12
_OF_A_CAUSE = 2
"""Findings of one type and one cause are alike: so many are shown in full, and the rest counted."""
_FIRST = "lost-write"
"""What was lost is what anybody asks for first."""


@dataclass(frozen=True, slots=True)
class Shown:
    """An anomaly in full."""

    anchor: str
    number: int
    because: str
    at: str
    during: str
    ops: tuple[Call, ...]
    ops_left: int
    offsets: Offsets | None
    ring: Ring | None
    strip: Strip | None
    spacetime: SpaceTime | None
    """Around the change of leader behind it, or else around the anomaly itself."""
    spacetime_at: tuple[str, str] | None
    """Where on the page the same picture stands, if an earlier anomaly has it: name and anchor."""
    elected_at: str
    witness: str


@dataclass(frozen=True, slots=True)
class Kind:
    """All anomalies of one type."""

    type: str
    count: int
    contract: str
    is_allowed: bool
    is_unsaid: bool
    """Whether nobody can say if it is forbidden."""
    shown: tuple[Shown, ...]

    @property
    def left_out(self) -> int:
        return self.count - len(self.shown)


@dataclass(frozen=True, slots=True)
class Group:
    """Anomalies of one cause."""

    number: int
    story: str
    fault: str
    """The fault behind it, with its time; empty if none is known."""
    proofs: tuple[tuple[str, str], ...]
    """The first of each type that is shown in full: what to call it, and its anchor."""


Chosen = Mapping[str, Sequence[Placed]]
"""By type, the findings that are shown in full."""


def choose(found: Sequence[Cause], counts: Mapping[str, int], limits: Limits) -> Chosen:
    """Of each type some of every cause, and of those the smallest proofs first."""
    chosen: dict[str, list[Placed]] = {}
    left = limits.in_full
    for type_ in sorted(counts, key=lambda each: (each != _FIRST, each)):
        ranked: list[tuple[int, int, Placed]] = []
        of_causes = sum(type_ in cause.types for cause in found)
        for cause in found:
            own = [each for each in cause.findings if each.anomaly.type == type_]
            # The smallest proof first: it is the quickest to believe.
            own.sort(key=lambda each: (len(each.anomaly.ops) or 99, each.at_ns or 0))
            own = _different_first(own)[:_OF_A_CAUSE] if cause.records is not None else own
            ranked += [(rank, len(ranked), each) for rank, each in enumerate(own)]
        ranked.sort(key=lambda each: each[:2])
        chosen[type_] = [each for *_, each in ranked[: min(limits.of_a_kind, max(left, of_causes))]]
        left -= len(chosen[type_])
    return chosen


def _different_first(findings: Sequence[Placed]) -> list[Placed]:
    """In their order, but those whose operations another one has shown come last."""
    shown: set[tuple[int, ...]] = set()
    first: list[Placed] = []
    rest: list[Placed] = []
    for each in findings:
        (rest if each.anomaly.ops in shown else first).append(each)
        shown.add(each.anomaly.ops)
    return first + rest


def groups(found: Sequence[Cause], chosen: Chosen) -> tuple[Group, ...]:
    numbers = {
        id(each.anomaly): number
        for own in chosen.values()
        for number, each in enumerate(own, 1)
    }  # fmt: skip
    return tuple(
        Group(
            number=number,
            story=story(cause),
            fault=_fault(cause),
            proofs=tuple(_first_of_each_type(cause, numbers)),
        )
        for number, cause in enumerate(found, 1)
    )


def _first_of_each_type(cause: Cause, numbers: Mapping[int, int]) -> Iterator[tuple[str, str]]:
    for type_ in cause.types:
        own = (id(each.anomaly) for each in cause.findings if each.anomaly.type == type_)
        first = min((numbers[each] for each in own if each in numbers), default=None)
        if first is not None:
            yield _name(type_, first), _anchor(type_, first)


def _fault(cause: Cause) -> str:
    band = cause.fault
    if band is None:
        return ""
    return f"{band.label}, {band.begin_ns / 1e9:.1f} s to {band.end_ns / 1e9:.1f} s"


def kinds(material: Material, chosen: Chosen, limits: Limits) -> tuple[Kind, ...]:
    counted = material.results.counts()
    drawn: Drawn = {}
    return tuple(
        Kind(
            type=type_,
            count=counted[type_],
            contract=own[0].anomaly.contract if own else "",
            is_allowed=False,
            is_unsaid=False,
            shown=tuple(
                _shown(material, number, each, limits, drawn) for number, each in enumerate(own, 1)
            ),
        )
        for type_, own in chosen.items()
    ) + _allowed(material)


def _name(type_: str, number: int) -> str:
    return f"{type_} #{number}"


def _anchor(type_: str, number: int) -> str:
    return f"{re.sub(r'[^A-Za-z0-9-]', '-', type_)}-{number}"


def _allowed(material: Material) -> tuple[Kind, ...]:
    """What was seen and the contract allows, or cannot say: named and counted, not shown."""
    kinds = []
    for verdict in material.results.verdicts:
        first = {each.type: each for each in reversed((*verdict.allowed, *verdict.unsaid))}
        for type_, anomaly in sorted(first.items()):
            is_allowed = anomaly.promise is Promise.ALLOWED
            kinds.append(
                Kind(
                    type=type_,
                    count=verdict.count_of(type_),
                    contract=anomaly.contract,
                    is_allowed=is_allowed,
                    is_unsaid=not is_allowed,
                    shown=(),
                )
            )
    return tuple(kinds)


Drawn = dict[int, tuple[str, str]]
"""By moment, which anomaly has the picture of its messages: name and anchor."""


def _shown(material: Material, number: int, placed: Placed, limits: Limits, drawn: Drawn) -> Shown:
    anomaly, at_ns = placed.anomaly, placed.at_ns
    calls, witness = material.calls, anomaly.witness
    guilty: list[int] = []
    picture = messages = None
    change_ns = None if placed.change is None else placed.change.time_ns
    if calls is not None and at_ns is not None:
        guilty = [call for op in anomaly.ops if (call := calls.call_of(op)) is not None]
        near = _same_key(calls, witness, at_ns)
        reigns = (material.leading or Leading()).of_key(str(witness.get("key")))
        around = Around(at_ns, guilty, near, witness.get("key"), witness.get("offset"), change_ns)
        picture = strip(calls, around, material.bands, reigns, limits.bars)
    moment_ns = at_ns if change_ns is None else change_ns
    elsewhere = None if moment_ns is None else drawn.get(moment_ns)
    is_worth_it = change_ns is not None or number <= _OF_A_CAUSE
    if material.trace and moment_ns is not None and elsewhere is None and is_worth_it:
        messages = spacetime(material.trace, material.nodes, material.bands, moment_ns)
        if messages is not None:
            drawn[moment_ns] = _name(anomaly.type, number), _anchor(anomaly.type, number)
    return Shown(
        anchor=_anchor(anomaly.type, number),
        number=number,
        because=said(anomaly),
        at="" if at_ns is None else seconds(at_ns),
        during="" if at_ns is None else faults.into(material.bands, at_ns),
        ops=() if calls is None else tuple(
            call_row(calls, call, True, witness) for call in dict.fromkeys(guilty[:_PROOFS_MAX])),
        ops_left=max(0, len(guilty) - _PROOFS_MAX),
        offsets=None if calls is None else offsets_panel(calls, witness),
        ring=ring(witness),
        strip=picture,
        spacetime=messages,
        spacetime_at=elsewhere,
        elected_at="" if change_ns is None else seconds(change_ns),
        witness=cut(json.dumps({"type": anomaly.type, "ops": anomaly.ops, **witness},
                               ensure_ascii=False), 2000),
    )  # fmt: skip


def _same_key(calls: Calls, witness: Mapping[str, Any], at_ns: int) -> list[int]:
    """Calls on the same partition, the nearest in time first."""
    keys = list[Any](calls.history.keys)
    if witness.get("key") not in keys:
        return []
    elements = calls.elements
    rows = np.unique(elements.row[elements.key == keys.index(witness["key"])])
    found = calls.of_row[rows]
    found = found[found >= 0]
    order = np.argsort(np.abs(calls.end_ns[found] - at_ns), kind="stable")
    return [int(call) for call in found[order][:400]]
