"""Two runs side by side: anomalies, availability, how long until acknowledged again, latency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.history.schema import FAIL, OK
from reports import sentences
from reports.material import Material, load_figures
from reports.measures import acknowledged, during, latency_ms, longest_silence_s
from reports.recovery import by_kind, recoveries


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    values: tuple[str, str]
    is_different: bool


def compare_runs(one: Path, other: Path) -> list[Row]:
    """Every figure that either of them has; nothing is said of which is better."""
    left, right = (_figures(load_figures(directory)) for directory in (one, other))
    names = _merged(list(left), list(right))
    return [
        Row(name, (left.get(name, "-"), right.get(name, "-")), left.get(name) != right.get(name))
        for name in names
    ]


def _merged(left: Sequence[str], right: Sequence[str]) -> list[str]:
    """All of both; what only the right one has stands behind its neighbour there."""
    names = list(left)
    for at, name in enumerate(right):
        if name not in names:
            names.insert(names.index(right[at - 1]) + 1 if at else 0, name)
    return names


def _figures(material: Material) -> dict[str, str]:
    results = material.results
    found = {"run": f"{material.directory.parent.name}/{material.directory.name}"}
    found["verdict"] = sentences.verdict(results)
    found |= {f"anomalies: {type_}": f"{n:,}" for type_, n in results.counts().items()}
    found |= _measured(material)
    found |= {
        f"plan: {name}": str(value)
        for name, value in material.plan.items()
        if value not in (None, {})
    }
    return found


def _measured(material: Material) -> dict[str, str]:
    calls = material.calls
    if calls is None or not len(calls):
        return {}
    found: dict[str, str] = {}
    acked = acknowledged(calls)
    sure = (calls.type == OK) | (calls.type == FAIL)
    found["operations"] = f"{len(calls):,}"
    found["availability: ended ok"] = _share(np.mean(calls.type == OK))
    found["availability: outcome known"] = _share(np.mean(sure))
    found["acknowledged"] = f"{int(np.sum(acked)):,}"
    found["acknowledged during a fault"] = f"{int(np.sum(acked & during(calls, material.bands))):,}"
    silence = longest_silence_s(calls)
    if silence is not None:
        found["recovery: longest time without an acknowledgement"] = f"{silence:.2f} s"
    waits = by_kind(material.bands, recoveries(calls, material.bands))
    found |= {f"recovery: {kind}": said for kind, said in waits.items()}
    if material.leading is not None:
        found["changes of leader"] = f"{material.leading.elections:,}"
    for name, (_, p50, p99, most) in latency_ms(calls).items():
        found[f"latency: {name}, median"] = f"{p50:.1f} ms"
        found[f"latency: {name}, 99 %"] = f"{p99:.1f} ms"
        found[f"latency: {name}, longest"] = f"{most:.0f} ms"
    return found


def _share(share: object) -> str:
    return f"{100 * float(str(share)):.2f} %"
