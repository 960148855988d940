"""The page of a run that is still under way, or that never came to an end: what it has so far."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from harness.history.errors import HistoryError
from harness.history.history import History
from harness.history.op import NEMESIS, TYPES
from reports import faults
from reports.calls import Calls
from reports.html import environment
from reports.measures import latency_ms

_LAST = 20


def live_page(directory: Path, verdict: str, plan: Mapping[str, Any]) -> str:
    """It asks for itself again every other second, by the browser's own means."""
    try:
        calls: Calls | None = Calls(History.load(directory))
    except HistoryError:
        calls = None
    counted: dict[str, int] = {}
    bands: list[faults.Band] = []
    if calls is not None and len(calls):
        ended = calls.ended >= 0
        counted = {
            name: int(np.sum(ended & (calls.type == code)))
            for code, name in enumerate(TYPES)
            if name != "invoke"
        }
        rows = calls.rows.index[calls.rows.process == NEMESIS].tolist()
        nodes = [f"n{number + 1}" for number in range(int(plan.get("nodes", 0)))]
        told = [calls.history.op(index) for index in rows]
        bands = faults.bands(told, nodes, calls.end_of_all_ns)
    return environment().get_template("live.html.j2").render(
        name=f"{directory.parent.name}/{directory.name}",
        verdict=verdict,
        plan=plan,
        elapsed_s=0.0 if calls is None else calls.end_of_all_ns / 1e9,
        counted=counted,
        latency={} if calls is None or not len(calls) else latency_ms(calls),
        bands=bands[-_LAST:],
        now=[] if calls is None else [
            each.label for each in bands if each.end_ns >= calls.end_of_all_ns],
    )  # fmt: skip
