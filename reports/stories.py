"""Causes in words: one sentence for each, the same on the terminal and on the page."""

from __future__ import annotations

from collections.abc import Sequence

from checkers.verdict import Anomaly
from harness.store.results import CauseFigures
from reports.causes import Cause, Loss
from reports.faults import Band

_STEPS_MAX = 4
"""A longer cycle is told by its length; its steps are listed on the page and in results.json."""
_STRUCK = {"kill": "was killed", "pause": "was paused", "power": "lost power"}


def story(cause: Cause) -> str:
    """What happened, when, and which checkers found it."""
    is_plain = len(cause.findings) == 1 and cause.change is None
    if not cause.lost or cause.records is None or is_plain:
        return _of_findings(cause)
    found_by = f"found by {_and(cause.types)}"
    change, fault = cause.change, cause.fault
    gone = f"{_lost(cause)} {'are' if cause.lost > 1 else 'is'} gone"
    if change is None:
        during = "" if fault is None else f"{fault.label} was in force from {_s(fault.begin_ns)}: "
        return f"{during}{gone}, {found_by}"
    old, until = change.before.node, ""
    if fault is not None and fault.begin_ns <= change.time_ns:
        until = f" until {_struck(fault, old)} at {_s(fault.begin_ns)}"
    lacked = "with an empty log" if cause.lost_from == 0 else "with a shorter log"
    elected = f"{change.after.node} was elected at {_s(change.time_ns)} {lacked}"
    more = "".join(f"; {_lost_later(each)}" for each in cause.more)
    return f"{old} led {change.key}{until}; {elected}: {gone}, {found_by}{more}"


def as_figures(cause: Cause) -> CauseFigures:
    """As results.json keeps it."""
    return {
        "sentence": story(cause),
        "types": list(cause.types),
        "findings": max(cause.count, len(cause.findings)),
        "partition": None if cause.records is None else cause.records.key,
        "lost": cause.lost,
        "lost_is_all": cause.is_all,
        "elected_ms": None if cause.change is None else cause.change.time_ns / 1e6,
        "fault": None if cause.fault is None else cause.fault.name,
    }


def said(anomaly: Anomaly) -> str:
    """The checker's sentence; of a long cycle only its length and where it begins."""
    cycle = anomaly.witness.get("cycle")
    if not isinstance(cycle, list) or len(cycle) - 1 <= _STEPS_MAX:
        return anomaly.because
    return (
        f"{len(cycle) - 1} transactions form a cycle: op {cycle[0]} is before op {cycle[1]}, and "
        f"so on to op {cycle[-2]}, which is before op {cycle[0]}"
    )


def _of_findings(cause: Cause) -> str:
    first = cause.findings[0].anomaly
    told, others = f"{first.type}: {said(first)}", max(cause.count, len(cause.findings)) - 1
    if not others:
        return told
    if cause.records is None:
        return f"{told} ({others:,} more of this kind)"
    return f"{told} ({others:,} more about the same records: {_and(cause.types)})"


def _lost(cause: Cause) -> str:
    """`391 acknowledged records of queue1-3 at offsets 4 to 394`."""
    assert cause.records is not None
    counted = f"{'' if cause.is_all else 'at least '}{_records(cause.lost)} of {cause.records.key}"
    if cause.lost == 1:
        return counted if cause.lost_from < 0 else f"{counted} at offset {cause.lost_from}"
    for low, high in (
        (cause.lost_from, cause.lost_to),
        (cause.records.low, cause.records.high),
    ):
        if cause.is_all and low >= 0 and high - low + 1 == cause.lost:
            return f"{counted} at offsets {low} to {high}"
    if cause.lost_to >= 0:
        return f"{counted} between offsets {cause.lost_from} and {cause.lost_to}"
    if cause.lost_from >= 0:
        return f"{counted}, among them offset {cause.lost_from},"
    return counted


def _lost_later(loss: Loss) -> str:
    least = "" if loss.is_all else "at least "
    gone = f"{least}{loss.count:,} more {'are' if loss.count > 1 else 'is'} gone"
    return f"{gone} since {loss.change.after.node} was elected at {_s(loss.change.time_ns)}"


def _records(count: int) -> str:
    return f"{count:,} acknowledged record{'s' if count > 1 else ''}"


def _struck(fault: Band, leader: str) -> str:
    if not fault.strikes(leader):
        return f"{fault.label} struck"
    if fault.sides:
        return "it was cut off"
    if fault.links:
        return f"it was cut off from {_and(fault.cut_from(leader))}"
    return f"it {_STRUCK.get(fault.kind, f'was struck by {fault.label}')}"


def _s(time_ns: int) -> str:
    return f"{time_ns / 1e9:,.1f} s"


def _and(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
