"""Whether a run wrote anything while its faults were in force.

A fault during which nothing was acknowledged shows that nothing was lost before or after it, and
nothing about the time in between, which is what the fault was for. That is no doubt where the fault
left no majority of the nodes alone: such a cluster may refuse everything, and what counts is what
it remembers. Nor is it one where the faults struck clients, which write nothing while they are
killed or paused, or where the faults were too short for the load.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from harness.cluster.capabilities import Node
from harness.doubts import Doubt, DoubtKind
from harness.history.op import Op
from harness.run.survived import count_within, strokes_of
from reports.faults import bands

_DUE_MIN = 20
"""Writes that would have been acknowledged in the time of the faults, at the rate of the rest."""


def idle_under_faults(
    nemesis: Iterable[Op],
    written_ns: npt.NDArray[np.int64],
    nodes: Sequence[Node],
    end_ns: int,
) -> list[Doubt]:
    """`written_ns` are the times at which writes were acknowledged, `end_ns` ends the history."""
    rows = list(nemesis)
    strokes = strokes_of(rows, end_ns)
    if not strokes or not len(written_ns) or count_within(written_ns, list(strokes.values())):
        return []
    idle_rightly = {
        band.name
        for band in bands(rows, nodes, end_ns)
        if band.clients or 2 * sum(band.strikes(node) for node in nodes) >= len(nodes)
    }
    serving = [each for name, each in strokes.items() if name not in idle_rightly]
    force_s = _covered_s([(each.hold_ns, each.end_ns) for each in serving])
    span = (int(written_ns.min()), int(written_ns.max()))
    all_s = _covered_s([(each.hold_ns, each.end_ns) for each in strokes.values()], *span)
    calm_s = (span[1] - span[0]) / 1e9 - all_s
    due = len(written_ns) * force_s / calm_s if calm_s > 0 else 0.0
    if due < _DUE_MIN:
        return []
    kinds = ", ".join(sorted({each.kind for each in serving}))
    detail = f"in {force_s:.1f} s, in which {due:,.0f} would be usual"
    return [Doubt(DoubtKind.NO_WRITES_IN_FAULTS, kinds, detail)]


def _covered_s(spans: Iterable[tuple[int, int]], from_ns: int = 0, to_ns: int = 2**63) -> float:
    """Length of the union of some spans, within another one."""
    covered_ns, reached_ns = 0, from_ns
    for begin_ns, end_ns in sorted(spans):
        begin_ns, end_ns = max(begin_ns, reached_ns), min(end_ns, to_ns)
        covered_ns += max(0, end_ns - begin_ns)
        reached_ns = max(reached_ns, end_ns)
    return covered_ns / 1e9
