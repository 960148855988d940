"""Causes in words: one sentence for each, the same on the terminal and on the page."""

from __future__ import annotations

from collections.abc import Sequence

from reports.causes import Cause
from reports.faults import Band

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
    return f"{old} led {change.key}{until}; {elected}: {gone}, {found_by}"


def _of_findings(cause: Cause) -> str:
    first, count = cause.findings[0].anomaly, len(cause.findings)
    if count == 1:
        return f"{first.type}: {first.because}"
    what = "the same records" if cause.records is not None else "the same kind"
    return f"{first.type}: {first.because} ({count - 1} more about {what}: {_and(cause.types)})"


def _lost(cause: Cause) -> str:
    """`391 acknowledged records of queue1-3 at offsets 4 to 394`."""
    assert cause.records is not None
    low, high = cause.records.low, cause.records.high
    said = f"{'' if cause.is_all else 'at least '}{cause.lost:,} acknowledged record"
    said += f"{'s' if cause.lost > 1 else ''} of {cause.records.key}"
    if cause.lost > 1 and cause.is_all and high - low + 1 == cause.lost:
        return f"{said} at offsets {low} to {high}"
    if cause.lost_from < 0:
        return said
    return f"{said} {'at' if cause.lost == 1 else 'from'} offset {cause.lost_from}"


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
