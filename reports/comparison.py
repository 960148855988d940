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
from reports.measures import acknowledged, during, latency_ms, longest_silence_s
from reports.recovery import by_kind, recoveries

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


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    values: tuple[str, str]
    change: Change
    delta: str = ""
    """Of the second run, with its sign; empty where there is nothing to subtract."""

    @property
    def is_different(self) -> bool:
        return self.values[0] != self.values[1]


_NONE: Final = Figure("-")
_ANOMALIES: Final = "anomalies: "


def compare_runs(one: Path, other: Path) -> list[Row]:
    """Every figure that either of them has: what the second run changed, and whether for better."""
    left, right = (_figures(load_figures(directory)) for directory in (one, other))
    return [
        _row(name, _of(left, name), _of(right, name)) for name in _merged(list(left), list(right))
    ]


def _of(figures: Mapping[str, Figure], name: str) -> Figure:
    # A type of anomaly that a run does not name was found no time.
    is_count = name.startswith(_ANOMALIES)
    return figures.get(name, _count(0, Wanted.LESS) if is_count else _NONE)


def _row(name: str, left: Figure, right: Figure) -> Row:
    values = (left.text, right.text)
    if left.text == right.text:
        return Row(name, values, Change.SAME)
    if left.number is None or right.number is None:
        return Row(name, values, Change.NEITHER)
    delta = right.number - left.number
    change = Change.NEITHER
    if left.wanted is not Wanted.NEITHER:
        change = Change.BETTER if delta * left.wanted.value > 0 else Change.WORSE
    return Row(name, values, change, _delta(left, delta) if left.is_measured else "")


def _delta(of: Figure, delta: float) -> str:
    """The difference with its sign and, but for shares, what part of the first figure it is."""
    share = f" ({100 * delta / of.number:+.0f} %)" if of.number and of.unit != " %" else ""
    return f"{delta:+,.{of.digits}f}{of.unit}{share}"


def _merged(left: Sequence[str], right: Sequence[str]) -> list[str]:
    """All of both; what only the right one has stands behind its neighbour there."""
    names = list(left)
    for at, name in enumerate(right):
        if name not in names:
            names.insert(names.index(right[at - 1]) + 1 if at else 0, name)
    return names


def _figures(material: Material) -> dict[str, Figure]:
    results = material.results
    found = {"run": Figure(f"{material.directory.parent.name}/{material.directory.name}")}
    rank = _RANKS[results.validity]
    found["verdict"] = Figure(results.validity.value, rank, Wanted.MORE, is_measured=False)
    if results.validity is Validity.UNKNOWN:
        found["why it is unknown"] = Figure("; ".join(sentences.reasons(results)))
    for type_, count in sorted(results.counts().items()):
        found[f"{_ANOMALIES}{type_}"] = _count(count, Wanted.LESS)
    found |= _measured(material)
    found |= {
        f"plan: {name}": Figure(said)
        for name, value in material.plan.items()
        if (said := as_words(value))
    }
    return found


def as_words(value: Any) -> str:
    """A value of a plan as one would type it; empty if there is none."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:g}"
        case Mapping():
            return ", ".join(f"{name}={as_words(each)}" for name, each in value.items())
        case list() | tuple():
            return ", ".join(map(as_words, value))
        case _:
            return str(value)


def _measured(material: Material) -> dict[str, Figure]:
    calls = material.calls
    if calls is None or not len(calls):
        return {}
    acked = acknowledged(calls)
    sure = (calls.type == OK) | (calls.type == FAIL)
    found = {
        "operations": _count(len(calls)),
        "availability: ended ok": _share(np.mean(calls.type == OK)),
        "availability: outcome known": _share(np.mean(sure)),
        "acknowledged": _count(int(np.sum(acked))),
        "acknowledged during a fault": _count(int(np.sum(acked & during(calls, material.bands)))),
    }
    silence = longest_silence_s(calls)
    if silence is not None:
        found["recovery: longest time without an acknowledgement"] = _time(silence, " s", 2)
    waits = by_kind(material.bands, recoveries(calls, material.bands))
    for kind, (median_s, longest_s, count) in waits.items():
        found[f"recovery: {kind}, faults"] = _count(count)
        found[f"recovery: {kind}, median"] = _time(median_s, " s", 2)
        found[f"recovery: {kind}, longest"] = _time(longest_s, " s", 2)
    found |= _served(material)
    if material.leading is not None:
        found["changes of leader"] = _count(material.leading.elections)
    for name, (_, p50, p99, most) in latency_ms(calls).items():
        found[f"latency: {name}, median"] = _time(p50, " ms", 1)
        found[f"latency: {name}, 99 %"] = _time(p99, " ms", 1)
        found[f"latency: {name}, longest"] = _time(most, " ms", 0)
    return found


def _served(material: Material) -> dict[str, Figure]:
    waits = [
        wait
        for each in material.results.figures.get("served_again", [])
        for wait in each["clients"].values()
    ]
    times = [wait for wait in waits if wait is not None]
    found = {}
    if times:
        found["recovery: a client is served again, median"] = _time(median(times), " s", 2)
        found["recovery: a client is served again, longest"] = _time(max(times), " s", 2)
    if waits:
        found["recovery: clients never served again"] = _count(waits.count(None), Wanted.LESS)
    return found


def _count(count: int, wanted: Wanted = Wanted.NEITHER) -> Figure:
    return Figure(f"{count:,}", count, wanted)


def _time(value: float, unit: str, digits: int) -> Figure:
    return Figure(f"{value:,.{digits}f}{unit}", value, Wanted.LESS, unit, digits)


def _share(share: Any) -> Figure:
    percent = 100 * float(share)
    return Figure(f"{percent:.2f} %", percent, Wanted.MORE, " %", 2)
