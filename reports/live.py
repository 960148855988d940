"""The page of a run that is still under way, or that never came to an end: what it has so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from harness.history.errors import HistoryError
from harness.history.history import CHUNKS, PARQUET, History
from harness.history.op import NEMESIS, TYPES
from harness.history.schema import OK
from harness.store.inside import refuse_strangers, text_inside
from reports import faults
from reports.calls import Calls
from reports.faults import Band
from reports.html import environment
from reports.leading import Leading, load_leading
from reports.measures import latency_ms
from reports.strip import Mark
from reports.wording import cut, readable

_LAST = 20
_RECENT_S = 10
_WIDTH, _HEIGHT = 1060.0, 90.0
_NS = 1_000_000_000
_ROWS_MAX = 64


@dataclass(frozen=True, slots=True)
class Pulse:
    """Operations a second that went well, as a line; faults behind it."""

    points: str
    bands: tuple[Mark, ...]
    most: int


@dataclass(frozen=True, slots=True)
class Live:
    """What there is so far."""

    elapsed_s: float = 0.0
    counted: Mapping[str, int] = field(default_factory=dict)
    figures: tuple[tuple[str, str], ...] = ()
    latency: Mapping[str, tuple[int, float, float, float]] = field(default_factory=dict)
    now: tuple[str, ...] = ()
    """Faults in force."""
    faults: tuple[tuple[str, str, str], ...] = ()
    """The last ones, the newest first: when, what, and what became of it."""
    leaders: tuple[tuple[str, str, str], ...] = ()
    """By key: the leader, empty if there is none, and how many replicas are in sync."""
    pulse: Pulse | None = None


def live_page(
    directory: Path, state: str, plan: Mapping[str, Any], detail: str = "", *, is_live: bool
) -> str:
    """A live page loads itself again every other second, by the browser's own means."""
    title = f"{plan['workload']} × {plan['nemesis']}" if _is_known(plan) else directory.parent.name  # noqa: RUF001
    return environment().get_template("live.html.j2").render(
        title=title,
        meta=_meta(directory, plan),
        state=state,
        is_live=is_live,
        detail=detail,
        plan=plan,
        command=cut(text_inside(directory, "command.txt").strip(), 2000),
        live=_so_far(directory, plan),
    )  # fmt: skip


def _is_known(plan: Mapping[str, Any]) -> bool:
    return "workload" in plan and "nemesis" in plan


def _meta(directory: Path, plan: Mapping[str, Any]) -> str:
    time = readable(directory.name)
    parts = [f"{time} UTC" if time else directory.name]
    for name, form in (("nodes", "{} nodes"), ("on", "on {}"), ("system", "{} broker")):
        parts += [form.format(plan[name])] if name in plan else []
    return " · ".join([*parts, *([f"seed {plan['seed']}"] if "seed" in plan else [])])


def _so_far(directory: Path, plan: Mapping[str, Any]) -> Live:
    refuse_strangers(directory, PARQUET, CHUNKS)
    try:
        calls = Calls(History.load(directory))
    except HistoryError:
        return Live()
    if not len(calls):
        return Live()
    end_ns = calls.end_of_all_ns
    rows = calls.rows.index[calls.rows.process == NEMESIS].tolist()
    nodes = [f"n{number + 1}" for number in range(plan.get("nodes", 0))]
    bands = faults.bands([calls.history.op(index) for index in rows], nodes, end_ns)
    leading = load_leading(directory, end_ns) or Leading()
    ended = calls.ended >= 0
    return Live(
        elapsed_s=end_ns / 1e9,
        counted={
            name: int(np.sum(ended & (calls.type == code)))
            for code, name in enumerate(TYPES)
            if name != "invoke"
        },
        figures=tuple(_figures(calls, leading)),
        latency=latency_ms(calls),
        now=tuple(each.label for each in bands if each.end_ns >= end_ns),
        faults=tuple(_fault(each, end_ns) for each in reversed(bands[-_LAST:])),
        leaders=tuple(_leaders(leading, end_ns)),
        pulse=_pulse(calls, bands),
    )


def _figures(calls: Calls, leading: Leading) -> list[tuple[str, str]]:
    """Of the last seconds: what matters now."""
    recent = (calls.ended >= 0) & (calls.end_ns > calls.end_of_all_ns - _RECENT_S * _NS)
    seconds = min(_RECENT_S, max(calls.end_of_all_ns / _NS, 1.0))
    took_ms = (calls.end_ns[recent] - calls.begin_ns[recent]) / 1e6
    found = [("operations a second", f"{np.sum(recent) / seconds:,.0f}")]
    if len(took_ms):
        found.append(("99 % within", f"{np.quantile(took_ms, 0.99):,.0f} ms"))
    if leading.reigns:
        found.append(("changes of leader", f"{leading.elections:,}"))
    return found


def _fault(band: Band, end_ns: int) -> tuple[str, str, str]:
    begun = f"{band.begin_ns / 1e9:.1f} s"
    if band.end_ns >= end_ns:
        state = "in force" if band.has_taken_hold else "about to take hold"
        return begun, band.label, f"{state}, for {(end_ns - band.begin_ns) / 1e9:.1f} s"
    if not band.has_taken_hold:
        return begun, band.label, "did not take hold"
    return begun, band.label, f"healed after {(band.end_ns - band.begin_ns) / 1e9:.1f} s"


def _leaders(leading: Leading, end_ns: int) -> list[tuple[str, str, str]]:
    missing = {each.key: each for each in leading.missing}
    found = []
    for key, reigns in sorted(leading.reigns.items())[:_ROWS_MAX]:
        leads = reigns[-1].node if reigns and reigns[-1].end_ns >= end_ns else ""
        sync = missing.get(key)
        found.append((key, leads, "" if sync is None else f"{sync.of - sync.count} of {sync.of}"))
    return found


def _pulse(calls: Calls, bands: Sequence[Band]) -> Pulse:
    count = max(1, min(240, -(-calls.end_of_all_ns // _NS)))
    width_ns = max(_NS, -(-calls.end_of_all_ns // count))
    ok = (calls.ended >= 0) & (calls.type == OK)
    per_s = np.bincount(calls.end_ns[ok] // width_ns, minlength=count) * _NS / width_ns
    most = max(1.0, float(per_s.max()))
    step = _WIDTH / len(per_s)
    points = " ".join(
        f"{(at + 0.5) * step:.1f},{_HEIGHT - 4 - value / most * (_HEIGHT - 10):.1f}"
        for at, value in enumerate(per_s.tolist())
    )
    scale = _WIDTH / (len(per_s) * width_ns)
    marks = tuple(
        Mark(each.begin_ns, each.end_ns, round(each.begin_ns * scale, 1),
             max(1.0, round((each.end_ns - each.begin_ns) * scale, 1)), each.label)
        for each in bands
    )  # fmt: skip
    return Pulse(points, marks, round(most))
