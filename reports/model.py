"""Everything a page may show of a stored run, as values; reports/html.py only lays it out.

The page holds at most so much, whatever the run holds: a few anomalies of each kind in full, the
operations around them, and counts of the rest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from checkers.contract import Promise
from checkers.verdict import AT_S, Anomaly, Verdict
from harness.history.op import TYPES
from harness.store.stored_run import read_began, read_environment
from reports import faults, logs, sentences
from reports.calls import Calls
from reports.leading import Reign
from reports.material import Material, configuration, files, schedule, table
from reports.panels import Offsets, Ring, offsets_panel, ring
from reports.quality import Quality, quality
from reports.spacetime import SpaceTime, spacetime
from reports.strip import Strip, strip
from reports.wording import cut, outcome, seconds

_PROOFS_MAX = 12
_FIRST = "lost-write"
"""What was lost is what anybody asks for first."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a run gets onto its page."""

    of_a_kind: int = 8
    in_full: int = 24
    bars: int = 240
    around: int = 200
    calls: int = 2000


@dataclass(frozen=True, slots=True)
class Call:
    """One operation as a row of a table."""

    index: int
    time: str
    time_ns: int
    took: str
    process: str
    f: str
    type: str
    text: str
    error: str
    is_guilty: bool = False


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
class Check:
    name: str
    verdict: str
    why: str
    looked_at: int | None


@dataclass(frozen=True, slots=True)
class Page:
    run: str
    title: str
    verdict: str
    sentence: str
    lead: str
    meta: str
    command: str
    kinds: tuple[Kind, ...]
    quality: Quality | None
    checks: tuple[Check, ...]
    plots: str
    calls: tuple[Call, ...]
    calls_left: int
    logs: Mapping[str, tuple[list[logs.Line], int]]
    logs_at: str
    plan: tuple[tuple[str, str], ...]
    environment: tuple[tuple[str, str], ...]
    configuration: Mapping[str, str]
    schedule: str
    files: tuple[str, ...]


def page(material: Material, limits: Limits) -> Page:
    results, plan, calls = material.results, material.plan, material.calls
    found = _found(material)
    kinds = _kinds(material, found, limits)
    guilty = {index for anomaly, _ in found for index in anomaly.ops}
    moments = sorted(at for _, at in found if at is not None)
    first = moments[0] if moments else None
    shown, left = ((), 0) if calls is None else _around(calls, guilty, moments, limits)
    return Page(
        run=results.run,
        title=f"{plan.get('workload', '?')} × {plan.get('nemesis', '?')}",  # noqa: RUF001
        verdict=results.validity.value,
        sentence=sentences.verdict(results),
        lead=_lead(material, first),
        meta=_meta(material),
        command=results.command,
        kinds=kinds,
        quality=None if calls is None or material.read is None else quality(
            results, calls, material.bands, material.read, material.trace, material.leading),
        checks=tuple(map(_check, results.verdicts)),
        plots=material.plots,
        calls=shown,
        calls_left=left,
        logs={} if first is None else logs.lines_around(material.directory, first),
        logs_at="" if first is None else seconds(first),
        plan=table(plan),
        environment=table(read_environment(material.directory)),
        configuration=configuration(material.directory),
        schedule=schedule(material.directory),
        files=files(material.directory),
    )  # fmt: skip


_Found = tuple[Anomaly, int | None]
"""With the time of its first operation, in ns."""


def _found(material: Material) -> list[_Found]:
    return [(anomaly, _when(material, anomaly)) for anomaly in material.results.anomalies]


def _when(material: Material, anomaly: Anomaly) -> int | None:
    calls = material.calls
    if calls is None:
        return None
    rows = [row for index in anomaly.ops if (row := calls.row_of(index)) is not None]
    if rows:
        return min(int(calls.rows.time_ns[row]) for row in rows)
    at_s = anomaly.witness.get(AT_S)
    began = read_began(material.directory)
    if not isinstance(at_s, int | float) or began is None:
        return None
    return max(0, int(at_s * 1e9) - began.stage_ns)


def _kinds(material: Material, found: Sequence[_Found], limits: Limits) -> tuple[Kind, ...]:
    counted = material.results.counts()
    kinds, left = [], limits.in_full
    for type_ in sorted(counted, key=lambda each: (each != _FIRST, each)):
        own = [(anomaly, at) for anomaly, at in found if anomaly.type == type_]
        # The smallest proof first: it is the quickest to believe.
        own.sort(key=lambda each: (len(each[0].ops) or 99, each[1] or 0))
        chosen = own[: min(limits.of_a_kind, max(left, 1))]
        left -= len(chosen)
        kinds.append(
            Kind(
                type=type_,
                count=counted[type_],
                contract=own[0][0].contract if own else "",
                is_allowed=False,
                is_unsaid=False,
                shown=tuple(
                    _shown(material, type_, number, anomaly, at, limits)
                    for number, (anomaly, at) in enumerate(chosen, 1)
                ),
            )
        )
    return tuple(kinds) + _allowed(material)


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


def _shown(
    material: Material,
    type_: str,
    number: int,
    anomaly: Anomaly,
    at_ns: int | None,
    limits: Limits,
) -> Shown:
    calls, witness = material.calls, anomaly.witness
    guilty: list[int] = []
    picture = None
    if calls is not None and at_ns is not None:
        guilty = [call for op in anomaly.ops if (call := calls.call_of(op)) is not None]
        near = _same_key(calls, witness, at_ns)
        reigns = _reigns(material, str(witness.get("key")))
        picture = strip(calls, guilty, at_ns, near, material.bands, reigns, limits.bars)
    return Shown(
        anchor=f"{re.sub(r'[^A-Za-z0-9-]', '-', type_)}-{number}",
        number=number,
        because=anomaly.because,
        at="" if at_ns is None else seconds(at_ns),
        during="" if at_ns is None else faults.into(material.bands, at_ns),
        ops=() if calls is None else tuple(
            _call(calls, call, True, witness) for call in dict.fromkeys(guilty[:_PROOFS_MAX])),
        ops_left=max(0, len(guilty) - _PROOFS_MAX),
        offsets=None if calls is None else offsets_panel(calls, witness),
        ring=ring(witness, anomaly.because),
        strip=picture,
        spacetime=None if material.trace is None or at_ns is None or number > 2 else spacetime(
            material.trace, material.nodes, material.bands, at_ns),
        witness=cut(json.dumps({"type": type_, "ops": anomaly.ops, **witness},
                               ensure_ascii=False), 2000),
    )  # fmt: skip


def _reigns(material: Material, key: str) -> Sequence[Reign]:
    """Who led the key's partition; a register's key is `partition/name`."""
    known = {} if material.leading is None else material.leading.reigns
    return known.get(key) or known.get(key.partition("/")[0], ())


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


def _around(
    calls: Calls, guilty: set[int], moments: Sequence[int], limits: Limits
) -> tuple[tuple[Call, ...], int]:
    """The calls that are guilty or near a guilty one; of a run without any, the last ones."""
    own = {call for index in guilty if (call := calls.call_of(index)) is not None}
    shown = set(sorted(own)[: limits.calls])
    for at_ns in moments or [calls.end_of_all_ns]:
        middle = int(np.searchsorted(calls.begin_ns, at_ns))
        first, last = max(0, middle - limits.around), min(len(calls), middle + limits.around)
        for call in range(first, last):
            if len(shown) >= limits.calls:
                break
            shown.add(call)
    rows = tuple(_call(calls, call, call in own) for call in sorted(shown))
    return rows, len(calls) - len(rows)


def _call(
    calls: Calls, call: int, is_guilty: bool, witness: Mapping[str, Any] | None = None
) -> Call:
    op = calls.told(call)
    begin_ns, end_ns = int(calls.begin_ns[call]), int(calls.end_ns[call])
    witness = witness or {}
    return Call(
        index=int(op.index),
        time=seconds(end_ns if witness else begin_ns),
        time_ns=begin_ns,
        took=f"{(end_ns - begin_ns) / 1e6:,.1f} ms" if calls.ended[call] >= 0 else "no end",
        process=f"p{op.process}",
        f=op.f,
        type=TYPES[int(calls.type[call])],
        text=outcome(op, witness.get("key"), witness.get("offset")),
        error=cut(op.error or ""),
        is_guilty=is_guilty,
    )


def _lead(material: Material, first: int | None) -> str:
    """The verdict in figures: how much, of how much, and when first."""
    done = 0 if material.calls is None else len(material.calls)
    counted = material.results.counts()
    if not counted:
        struck = sum(each.has_taken_hold for each in material.bands)
        strokes = "stroke" if struck == 1 else "strokes"
        return f"{done:,} operations, and {struck} {strokes} of the nemesis that took hold."
    total, kinds = sum(counted.values()), len(counted)
    said = f"{total:,} anomal{'y' if total == 1 else 'ies'} of {kinds} kind{'s'[: kinds > 1]}"
    said += f" in {done:,} operations."
    if first is not None:
        into = faults.into(material.bands, first)
        said += f" The first at {seconds(first)}{', ' + into if into else ''}."
    return said


def _meta(material: Material) -> str:
    plan = material.plan
    match = re.match(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)", material.results.run)
    parts = [f"{'-'.join(match.groups()[:3])} {':'.join(match.groups()[3:])} UTC"] if match else []
    if plan:
        parts += [f"{plan.get('time_limit_s', 0):g} s", f"{plan.get('nodes')} nodes"]
        parts += [
            f"on {plan.get('on')}",
            f"{plan.get('system')} broker",
            f"seed {plan.get('seed')}",
        ]
    git = read_environment(material.directory).get("git")
    if isinstance(git, dict):
        parts.append(f"git {str(git.get('head'))[:7]}{' and changes' * bool(git.get('is_dirty'))}")
    return " · ".join(parts)


def _check(verdict: Verdict) -> Check:
    looked_at = verdict.stats.get("looked-at")
    return Check(verdict.checker, verdict.validity.value, verdict.why, looked_at)
