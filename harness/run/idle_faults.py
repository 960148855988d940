"""Whether a run wrote anything while its faults were in force.

If no write was acknowledged during a fault, the run shows nothing about writes under that fault,
which is what the fault was for. This is a doubt, with three exceptions:

* The faults of that moment together left no majority of the nodes alone. Such a cluster may refuse
  every write. A partition strikes the nodes outside the largest group of nodes that still reach
  each other, and not every node that one of its links names.
* Clients were struck. They write nothing while they are killed, paused or cut off.
* The faults were too short for the load.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from harness.cluster.capabilities import Node
from harness.doubts import Doubt, DoubtKind
from harness.history.op import Op
from harness.run.survived import count_within, strokes_of
from harness.schedule.faults import CLIENTS
from nemesis.topology import leaves_a_majority
from reports.faults import Band, bands

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
    found = bands(rows, nodes, end_ns)
    # The proof of a cut link is a measurement that takes seconds on a busy machine, while the link
    # is already cut. Other faults are proven when they act.
    force = {
        each.name: (each.begin_ns if each.links else strokes[each.name].hold_ns, each.end_ns)
        for each in found
        if each.name in strokes
    }
    serving = _serving(found, force, nodes)
    force_s = sum(end_ns - begin_ns for begin_ns, end_ns, _ in serving) / 1e9
    span = (int(written_ns.min()), int(written_ns.max()))
    calm_s = (span[1] - span[0]) / 1e9 - _covered_s(force.values(), *span)
    due = len(written_ns) * force_s / calm_s if calm_s > 0 else 0.0
    if due < _DUE_MIN:
        return []
    kinds = ", ".join(sorted({strokes[name].kind for *_, names in serving for name in names}))
    detail = f"in {force_s:.1f} s, in which {due:,.0f} would be usual"
    return [Doubt(DoubtKind.NO_WRITES_IN_FAULTS, kinds, detail)]


def _serving(
    found: Sequence[Band], force: dict[str, tuple[int, int]], nodes: Sequence[Node]
) -> list[tuple[int, int, list[str]]]:
    """Spans with faults in force that left the clients and a majority alone, and their names."""
    edges = sorted(
        {edge for span in force.values() for edge in span}
        | {edge for each in found for edge in (each.begin_ns, each.end_ns)}
    )
    serving = []
    for begin_ns, end_ns in pairwise(edges):
        names = [name for name, span in force.items() if span[0] <= begin_ns and end_ns <= span[1]]
        present = [each for each in found if each.begin_ns <= begin_ns and end_ns <= each.end_ns]
        if names and _leaves_enough_alone(present, nodes):
            serving.append((begin_ns, end_ns, names))
    return serving


def _leaves_enough_alone(present: Sequence[Band], nodes: Sequence[Node]) -> bool:
    if any(each.clients for each in present):
        return False
    links = {link for each in present for link in each.links}
    unreachable = {node for link in links if CLIENTS in link for node in link - {CLIENTS}}
    struck = {node for each in present for node in each.nodes} | unreachable
    return leaves_a_majority(nodes, links, struck)


def _covered_s(spans: Iterable[tuple[int, int]], from_ns: int = 0, to_ns: int = 2**63) -> float:
    """Length of the union of some spans, within another one."""
    covered_ns, reached_ns = 0, from_ns
    for begin_ns, end_ns in sorted(spans):
        begin_ns, end_ns = max(begin_ns, reached_ns), min(end_ns, to_ns)
        covered_ns += max(0, end_ns - begin_ns)
        reached_ns = max(reached_ns, end_ns)
    return covered_ns / 1e9
