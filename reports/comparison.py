"""Two runs side by side: anomalies, availability, how long until acknowledged again, latency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np

from checkers.verdict import Validity
from harness.history.schema import FAIL, OK
from reports import sentences
from reports.material import Material, load_figures
from reports.measures import (
    acknowledged,
    latency_ms,
    longest_silence_s,
    writes_under_faults,
)
from reports.recovery import by_kind, recoveries
from reports.wording import as_words

_RANKS = {Validity.VALID: 2.0, Validity.UNKNOWN: 1.0, Validity.INVALID: 0.0}


class Change(Enum):
    """What the second run is, measured by the first."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "same"
    NEITHER = "neither"
    """They differ, or one of them has no such figure; neither is better for it."""


class Wanted(Enum):
    """Which of two figures is the better one."""

    MORE = 1
    LESS = -1
    NEITHER = 0


@dataclass(frozen=True, slots=True)
class Figure:
    text: str
    number: float | None = None
    wanted: Wanted = Wanted.NEITHER
    unit: str = ""
    digits: int = 0
    is_measured: bool = True
    """Whether the difference of two such numbers says anything; ranks only have an order."""


class Section(Enum):
    """What a figure is about; its value is the heading."""

    RUN = ""
    ANOMALIES = "anomalies"
    LOAD = "load"
    AVAILABILITY = "availability"
    RECOVERY = "recovery"
    LATENCY = "latency"
    PLAN = "plan"


Key = tuple[Section, str]


@dataclass(frozen=True, slots=True)
class Row:
    section: Section
    label: str
    values: tuple[str, str]
    change: Change
    delta: str = ""
    """Of the second run, with its sign; empty where there is nothing to subtract."""

    @property
    def name(self) -> str:
        """`latency: send, median`."""
        heading = self.section.value
        return f"{heading}: {self.label}" if heading else self.label

    @property
    def is_different(self) -> bool:
        return self.values[0] != self.values[1]


_NONE: Final = Figure("-")


def compare_runs(one: Path, other: Path) -> list[Row]:
    """Every figure that either of them has: what the second run changed, and whether for better."""
    left, right = (_figures(load_figures(directory)) for directory in (one, other))
    return [_row(key, _of(left, key), _of(right, key)) for key in _merged(list(left), list(right))]


def _of(figures: Mapping[Key, Figure], key: Key) -> Figure:
    # A type of anomaly that a run does not name was never found.
    is_count = key[0] is Section.ANOMALIES
    return figures.get(key, _count(0, Wanted.LESS) if is_count else _NONE)


def _row(key: Key, left: Figure, right: Figure) -> Row:
    values = (left.text, right.text)
    if left.text == right.text:
        return Row(*key, values, Change.SAME)
    if left.number is None or right.number is None:
        return Row(*key, values, Change.NEITHER)
    delta = right.number - left.number
    change = Change.NEITHER
    if left.wanted is not Wanted.NEITHER:
        change = Change.BETTER if delta * left.wanted.value > 0 else Change.WORSE
    return Row(*key, values, change, _delta(left, delta) if left.is_measured else "")


def _delta(of: Figure, delta: float) -> str:
    """The difference with its sign and, but for shares, what part of the first figure it is."""
    share = f" ({100 * delta / of.number:+.0f} %)" if of.number and of.unit != " %" else ""
    return f"{delta:+,.{of.digits}f}{of.unit}{share}"


def _merged(left: Sequence[Key], right: Sequence[Key]) -> list[Key]:
    """All of both by section; what only the right one has stands behind its neighbour there."""
    keys = list(left)
    for at, key in enumerate(right):
        if key not in keys:
            keys.insert(keys.index(right[at - 1]) + 1 if at else 0, key)
    sections = list(Section)
    return sorted(keys, key=lambda key: sections.index(key[0]))


def _figures(material: Material) -> dict[Key, Figure]:
    results = material.results
    run, verdict = (Section.RUN, "run"), (Section.RUN, "verdict")
    found = {run: Figure(f"{material.directory.parent.name}/{material.directory.name}")}
    rank = _RANKS[results.validity]
    found[verdict] = Figure(results.validity.value, rank, Wanted.MORE, is_measured=False)
    if results.validity is Validity.UNKNOWN:
        why = Figure("; ".join(sentences.reasons(results)))
        found[Section.RUN, "why it is unknown"] = why
    for type_, count in sorted(results.counts().items()):
        found[Section.ANOMALIES, type_] = _count(count, Wanted.LESS)
    found |= _measured(material)
    found |= {
        (Section.PLAN, name): Figure(said)
        for name, value in material.plan.items()
        if (said := as_words(value))
    }
    return found


def _measured(material: Material) -> dict[Key, Figure]:
    calls = material.calls
    if calls is None or not len(calls):
        return {}
    acked = acknowledged(calls)
    sure = (calls.type == OK) | (calls.type == FAIL)
    found = {
        (Section.LOAD, "operations"): _count(len(calls)),
        (Section.LOAD, "writes"): _count(int(np.sum(acked))),
        (Section.LOAD, "writes during a fault"): _count(
            writes_under_faults(calls, material.bands, material.results.figures.get("survived"))
        ),
        (Section.AVAILABILITY, "ended ok"): _share(np.mean(calls.type == OK)),
        (Section.AVAILABILITY, "outcome known"): _share(np.mean(sure)),
    }
    if material.leading is not None:
        found[Section.LOAD, "changes of leader"] = _count(material.leading.elections)
    silence = longest_silence_s(calls)
    if silence is not None:
        found[Section.RECOVERY, "longest time without an acknowledgement"] = _time(silence, " s", 2)
    waits = by_kind(material.bands, recoveries(calls, material.bands))
    for kind, (median_s, longest_s, count) in waits.items():
        found[Section.RECOVERY, f"{kind}, faults"] = _count(count)
        found[Section.RECOVERY, f"{kind}, median"] = _time(median_s, " s", 2)
        found[Section.RECOVERY, f"{kind}, longest"] = _time(longest_s, " s", 2)
    found |= _served(material)
    for name, (_, p50, p99, most) in latency_ms(calls).items():
        found[Section.LATENCY, f"{name}, median"] = _time(p50, " ms", 1)
        found[Section.LATENCY, f"{name}, 99 %"] = _time(p99, " ms", 1)
        found[Section.LATENCY, f"{name}, longest"] = _time(most, " ms", 0)
    return found


def _served(material: Material) -> dict[tuple[Section, str], Figure]:
    waits = [
        wait
        for each in material.results.figures.get("served_again", [])
        for wait in each["clients"].values()
    ]
    times = [wait for wait in waits if wait is not None]
    found = {}
    if times:
        median_s = median(times)
        found[Section.RECOVERY, "a client is served again, median"] = _time(median_s, " s", 2)
        found[Section.RECOVERY, "a client is served again, longest"] = _time(max(times), " s", 2)
    if waits:
        never = _count(waits.count(None), Wanted.LESS)
        found[Section.RECOVERY, "clients never served again"] = never
    return found


def _count(count: int, wanted: Wanted = Wanted.NEITHER) -> Figure:
    return Figure(f"{count:,}", count, wanted)


def _time(value: float, unit: str, digits: int) -> Figure:
    return Figure(f"{value:,.{digits}f}{unit}", value, Wanted.LESS, unit, digits)


def _share(share: Any) -> Figure:
    percent = 100 * float(share)
    return Figure(f"{percent:.2f} %", percent, Wanted.MORE, " %", 2)
