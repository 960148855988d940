"""What is loaded of a stored run, before anything is chosen from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from harness.history.errors import HistoryError
from harness.history.history import CHUNKS, PARQUET
from harness.history.op import NEMESIS, Op
from harness.store.inside import refuse_strangers, text_inside
from harness.store.results import RunResults
from harness.store.store import RUNNING
from harness.store.stored_run import read_plan, read_results
from reports import faults
from reports.calls import Calls
from reports.clocks import as_set
from reports.faults import Band
from reports.group_rows import group_rows, replacements
from reports.leading import Leading, load_leading
from reports.lean_history import load_history
from reports.measures import Reading, rates, reading
from reports.ownership import Group, groups_of
from reports.plots import Measured, over_time
from reports.traced import Trace
from reports.wording import as_words, cut


@dataclass(frozen=True, slots=True)
class Material:
    directory: Path
    results: RunResults
    plan: Mapping[str, Any]
    nodes: tuple[str, ...]
    calls: Calls | None = None
    nemesis: list[Op] = field(default_factory=list)
    """Its own rows of the history."""
    bands: list[Band] = field(default_factory=list)
    trace: Trace | None = None
    leading: Leading | None = None
    read: Reading | None = None
    plots: str = ""
    groups: Sequence[Group] = ()
    """Consumer groups, with what their members owned."""


def load(directory: Path) -> Material:
    """All of it, with what takes longest: who read what when, and the plots."""
    found = load_figures(directory)
    if found.calls is None or not len(found.calls):
        return found
    read = reading(found.calls)
    clocks = as_set(found.nemesis, found.calls.end_of_all_ns)
    drawn = Measured(found.calls, rates(found.calls, read), found.leading, clocks)
    plots = over_time(drawn, found.bands)
    return replace(found, read=read, plots=plots, groups=_groups(found.calls, found.plan))


def _groups(calls: Calls, plan: Mapping[str, Any]) -> list[Group]:
    told = plan.get("concurrency")
    clients = told if type(told) is int and told > 0 else 0
    rows = list(group_rows(calls))
    replaced = replacements(calls, clients) if rows else {}
    return groups_of(rows, clients, calls.end_of_all_ns, replaced)


def load_figures(directory: Path) -> Material:
    results = read_results(directory)
    plan = read_plan(directory)
    nodes = tuple(f"n{number + 1}" for number in range(plan.get("nodes", 0)))
    refuse_strangers(directory, PARQUET, CHUNKS)
    try:
        history = load_history(directory)
    except HistoryError:
        return Material(directory, results, plan, nodes)
    # What decoding took is not needed again, and is as much as the history itself.
    pa.default_memory_pool().release_unused()
    calls = Calls(history)
    nemesis = _of_nemesis(calls)
    bands = faults.bands(nemesis, nodes, calls.end_of_all_ns)
    trace = Trace.load(directory)
    leading = load_leading(directory, calls.end_of_all_ns) if trace is None else trace.leading
    return Material(directory, results, plan, nodes, calls, nemesis, bands, trace, leading)


def _of_nemesis(calls: Calls) -> list[Op]:
    where = np.flatnonzero(calls.rows.process == NEMESIS)
    return [calls.history.op(index) for index in calls.rows.index[where].tolist()]


def table(values: Mapping[str, Any], prefix: str = "") -> tuple[tuple[str, str], ...]:
    rows: list[tuple[str, str]] = []
    for name, value in values.items():
        if isinstance(value, dict):
            rows += table(value, f"{prefix}{name} ")
        elif said := as_words(value):
            rows.append((f"{prefix}{name}", cut(said, 300)))
    return tuple(rows)


def configuration(directory: Path) -> dict[str, str]:
    return {
        path.parent.name: cut(text_inside(directory, f"{path.parent.name}/{path.name}"), 6000)
        for path in sorted(directory.glob("n*/server.properties"))[:9]
    }


def schedule(directory: Path) -> str:
    return cut(text_inside(directory, "schedule.json"), 20_000)


def files(directory: Path) -> tuple[str, ...]:
    """Where everything is that the page left out; pages themselves are no part of it."""
    found = [path.relative_to(directory) for path in directory.rglob("*") if path.is_file()]
    shown = (path for path in found if path.parts[0] not in ("hosts", "report.html", RUNNING))
    return tuple(sorted(path.as_posix() for path in shown)[:80])
